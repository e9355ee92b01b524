/*
 * One process of a sandbox: the code, what it wrote, how it ended, and the signed record of that. Its output is fetched
 * when it is opened.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { plural, visible } from '../lib/text.js'
import { bytes, duration } from '../lib/time.js'
import { ButtonLink, Foreign, Icon, InlineError, Skeleton, TimeAgo } from '../lib/ui.js'
import { CodeBlock } from '../run/code.js'

/** How it stands, in words. @param {any} p @returns {[string, string, string]} icon, tone, word */
export function ending(p) {
	if (p.state === 'queued') return ['ring', 'run', 'Waiting']
	if (p.state === 'running') return ['dot', 'run', p.background ? 'Running in the background' : 'Running']
	if (p.timed_out) return ['cross', 'danger', 'Timed out']
	if (p.oom) return ['cross', 'danger', 'Out of memory']
	if (p.signal) return ['cross', 'danger', `Signal ${p.signal}`]
	if (p.exit_code === 0) return ['check', 'ok', 'Exit 0']
	if (p.exit_code !== null) return ['cross', 'danger', `Exit ${p.exit_code}`]
	return ['cross', 'danger', p.reason ? visible(p.reason.replace(/_/g, ' ')) : 'No result']
}

/** The line it is known by: the first that says something. */
const headline = (code) => (code ?? '').split('\n').find((l) => l.trim()) ?? ''

const Checks = ({ checks }) => html`<div class="checks"><span class="stamp ${checks.failed ? 'tone-danger' : 'tone-ok'}"><${Icon} name=${checks.failed ? 'cross' : 'check'} size=${14} />
	<span><${Foreign} text=${checks.framework ?? 'Tests'} />: ${checks.passed ?? 0} passed, ${checks.failed ?? 0} failed${checks.skipped ? `, ${checks.skipped} skipped` : ''}</span></span>
	${checks.failures?.length > 0 && html`<ul>${checks.failures.slice(0, 20).map((f, i) => html`<li key=${i}><code><${Foreign} text=${f.name ?? ''} /></code>${f.message && html` <${Foreign} text=${f.message} />`}</li>`)}</ul>`}</div>`

/** What it wrote, asked for again while it runs. */
function Output({ process: p }) {
	const [state, setState] = useState({ data: null, error: null })
	const load = () =>
		get('/exec.json', { exec: p.process_id }).then(
			(data) => setState({ data, error: null }),
			(error) => setState((was) => ({ ...was, error })),
		)
	const running = p.state === 'queued' || p.state === 'running'
	useEffect(() => {
		void load()
		if (!running) return
		const timer = setInterval(() => !document.hidden && load(), 2000)
		return () => clearInterval(timer)
	}, [p.process_id, p.state])
	const { data, error } = state
	if (!data) return error ? html`<${InlineError} error=${error} title="Its output could not be loaded" retry=${load} />` : html`<${Skeleton} rows=${1} label="Loading its output" />`
	return html`
		${data.stdout && html`<${CodeBlock} text=${data.stdout} label="stdout" ansi />`}
		${data.stderr && html`<${CodeBlock} text=${data.stderr} label="stderr" ansi />`}
		${!data.stdout && !data.stderr && html`<p class="fine">${running ? 'It has written nothing yet.' : 'It wrote nothing.'}</p>`}`
}

function Open({ process: p }) {
	const exec = encodeURIComponent(p.process_id)
	return html`<div class="process-body">
		<${CodeBlock} text=${p.code ?? ''} label=${p.code_bytes > (p.code ?? '').length + 64 ? `code, the first part of ${bytes(p.code_bytes)}` : 'code'} fold=${24} />
		${p.files.length > 0 && html`<p class="fine">With ${p.files.map((f, i) => html`${i > 0 && ', '}<code><${Foreign} text=${f} /></code>`)}</p>`}
		${p.checks && html`<${Checks} checks=${p.checks} />`}
		<${Output} process=${p} />
		<div class="process-acts">
			<${ButtonLink} small icon="download" href=${`/log.txt?exec=${exec}`} download="">Output</${ButtonLink}>
			${
				p.receipt
					? html`<${ButtonLink} small icon="shield" href=${`/receipt.json?exec=${exec}`} download=${`receipt-${p.process_id}.json`}>Receipt</${ButtonLink}>`
					: html`<span class="fine">Its receipt is signed when it has ended.</span>`
			}
		</div>
	</div>`
}

/** @param {{process: any, first: boolean}} p first: open from the start */
export function Process({ process: p, first }) {
	const [open, setOpen] = useState(first)
	const [icon, tone, word] = ending(p)
	const line = headline(p.code)
	return html`<li class="process" data-process=${p.process_id}>
		<details open=${open} onToggle=${(e) => setOpen(e.currentTarget.open)}>
			<summary><${Icon} name="right" size=${16} class="process-mark" />
				<span class=${`stamp tone-${tone}`}><${Icon} name=${icon} size=${14} /><span>${word}</span></span>
				<code class="process-line"><${Foreign} text=${line.slice(0, 200)} /></code>
				<span class="process-when num">${p.duration_ms !== null && html`<span>${duration(p.duration_ms)}</span>`}<${TimeAgo} at=${p.started_at ?? p.created_at} /></span></summary>
			${open && html`<${Open} process=${p} />`}
		</details></li>`
}
