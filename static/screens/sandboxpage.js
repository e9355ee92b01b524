/*
 * One sandbox: how it is sealed and how long it lasts, what was run in it, and what lies in it. It can be looked at
 * after its end too: what its runs wrote and their receipts stay. Nothing tells a page that something was run, so it
 * asks; asking is no use of the sandbox, and does not keep it alive.
 */
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { connection } from '../lib/events.js'
import { href } from '../lib/router.js'
import { fleet } from '../lib/store.js'
import { isolationWords, reasonWords } from '../lib/strings.js'
import { plural, visible } from '../lib/text.js'
import { absolute, binary, duration, parse } from '../lib/time.js'
import { Button, ButtonLink, CopyButton, EmptyState, Foreign, Icon, InlineError, Notice, Skeleton, TimeAgo, useTitle } from '../lib/ui.js'
import { BoxStamp, SandboxDialog, SandboxFacts, sandboxTitle } from './sandbox.js'
import { SandboxFiles } from './sandboxfiles.js'
import { Process } from './sandboxruns.js'

const BUSY_MS = 2000
const IDLE_MS = 10_000
const MOST = 200

const isEnded = (s) => s.state === 'gone' || s.state === 'failed'
const isBusy = (d) => ['creating', 'destroying'].includes(d.sandbox.state) || d.processes.some((p) => p.state === 'queued' || p.state === 'running')

/** What is known of it: {data, error, load}. Asked for again while it lives, and at once when its box has changed. */
function useSandbox(name, limit) {
	const [state, setState] = useState({ data: null, error: null })
	const alive = useRef(true)
	const load = () =>
		get('/processes.json', { sandbox_id: name, limit }).then(
			(data) => alive.current && setState({ data, error: null }),
			(error) => alive.current && setState((was) => ({ ...was, error })),
		)
	const box = fleet.value.boxes.get(name)?.state
	useEffect(() => () => (alive.current = false), [])
	useEffect(() => void load(), [name, limit, box])
	const { data } = state
	const pause = !data ? 0 : isBusy(data) ? BUSY_MS : isEnded(data.sandbox) ? 0 : IDLE_MS
	useEffect(() => {
		if (!pause) return
		const timer = setInterval(() => !document.hidden && connection.peek().state === 'live' && load(), pause)
		return () => clearInterval(timer)
	}, [name, limit, pause])
	return { ...state, load }
}

function Facts({ sandbox }) {
	const s = sandbox
	return html`<dl class="box-facts sandbox-facts">
		<div><dt>Machine</dt><dd><${BoxStamp} state=${s.state} /></dd></div>
		<div><dt>Isolation</dt><dd>${isolationWords(s.isolation)}</dd></div>
		<${SandboxFacts} sandbox=${s} />
		<div><dt>Limits</dt><dd class="num">${binary(s.limits.memory_bytes)}, ${s.limits.cpus} CPU, ${binary(s.limits.disk_bytes)}</dd></div>
		<div><dt>Working folder</dt><dd><code>${visible(s.workdir)}</code></dd></div>
		<div><dt>Made</dt><dd class="num"><${TimeAgo} at=${s.created_at} /></dd></div>
	</dl>`
}

function Packages({ sandbox }) {
	const list = sandbox.installed.length ? sandbox.installed.map((p) => `${p.name} ${p.version}`) : sandbox.packages
	if (!list.length) return null
	return html`<section class="card part" aria-labelledby="s-packages"><h2 id="s-packages">Packages</h2>
		<p class="fine">${sandbox.installed.length ? 'Installed before the sandbox was sealed, with what they need.' : 'Asked for, not installed yet.'}</p>
		<ul class="tags">${list.map((p) => html`<li key=${p}><code><${Foreign} text=${p} /></code></li>`)}</ul></section>`
}

/** How the last try to get out of it went. */
function Seal({ sandbox }) {
	const tries = Object.entries(sandbox.seal?.probe ?? {}).filter(([k, v]) => k !== 'sealed' && typeof v === 'string')
	if (!tries.length) return null
	const at = parse(sandbox.seal.at)
	return html`<section class="card part" aria-labelledby="s-seal"><h2 id="s-seal">Seal</h2>
		<p class="fine">No network device, and each way out tried from the inside${at ? ` at ${absolute(at)}` : ''}.</p>
		${tries.length > 0 && html`<dl class="tries">${tries.map(([k, v]) => html`<div key=${k}><dt><${Foreign} text=${k.replace(/_/g, ' ')} /></dt><dd><${Foreign} text=${v} /></dd></div>`)}</dl>`}
	</section>`
}

function Runs({ data, onMore }) {
	const { processes, total, sandbox } = data
	return html`<section class="part" aria-labelledby="s-runs">
		<h2 id="s-runs">What ran in it <span class="group-count">${total}</span></h2>
		${
			processes.length
				? html`<ol class="processes">${processes.map((p, i) => html`<${Process} key=${p.process_id} process=${p} sandbox=${sandbox} first=${i === 0} />`)}</ol>`
				: html`<${EmptyState} icon="log" title="Nothing yet"><p>Code that is run in it shows up here with its output, its exit code and a signed receipt.</p></${EmptyState}>`
		}
		${total > processes.length && processes.length < MOST && html`<div class="earlier"><${Button} kind="quiet" action=${onMore}>Show earlier ones: ${total - processes.length} more</${Button}></div>`}
	</section>`
}

function Ended({ sandbox }) {
	const why = sandbox.detail || reasonWords(sandbox.reason)
	return html`<${Notice} icon="gone"><p><strong>The sandbox has ended${why && `: ${visible(why)}`}.</strong> What its runs wrote and their receipts are kept; its files are gone.</p></${Notice}>`
}

function Head({ sandbox, onTearDown }) {
	const life = parse(sandbox.gone_at) && parse(sandbox.created_at) ? parse(sandbox.gone_at) - parse(sandbox.created_at) : null
	return html`<header class="page-head sandbox-head">
		<a class="back" href=${href.machines()}><${Icon} name="left" size=${16} />Machines</a>
		<div class="box-head"><div class="box-what"><h1>${sandboxTitle(sandbox)}</h1>
			<span class="box-name">${sandbox.sandbox_id}<${CopyButton} text=${sandbox.sandbox_id} label="Copy the name of the sandbox" iconOnly />${life !== null && html`<span> · lived ${duration(life)}</span>`}</span></div>
			${!isEnded(sandbox) && sandbox.state !== 'destroying' && html`<div class="box-acts"><${Button} small kind="danger-plain" icon="gone" action=${onTearDown}>Tear down</${Button}></div>`}
		</div></header>`
}

/** @param {{sandbox: string}} p its name */
export function SandboxPage({ sandbox: name }) {
	const [limit, setLimit] = useState(20)
	const [tearing, setTearing] = useState(false)
	const { data, error, load } = useSandbox(name, limit)
	useTitle(data ? sandboxTitle(data.sandbox) : 'Sandbox')
	const main = (inside) => html`<main class="page sandbox" id="main" tabindex="-1">${inside}</main>`
	if (!data && error?.status === 404)
		return main(html`<h1 class="sr-only">No such sandbox</h1><${EmptyState} icon="gone" title="There is no such sandbox" action=${html`<${ButtonLink} kind="primary" href=${href.machines()}>All machines</${ButtonLink}>`}>
			<p>It does not exist, or it is not yours.</p></${EmptyState}>`)
	if (!data)
		return main(html`<h1 class="sr-only">Sandbox</h1>${error ? html`<${InlineError} error=${error} title="The sandbox could not be loaded" retry=${load} />` : html`<${Skeleton} rows=${4} label="Loading the sandbox" />`}`)
	const s = data.sandbox
	return main(html`<${Head} sandbox=${s} onTearDown=${() => setTearing(true)} />
		${isEnded(s) && html`<${Ended} sandbox=${s} />`}
		<${Facts} sandbox=${s} />
		<${Runs} data=${data} onMore=${() => setLimit(MOST)} />
		${!isEnded(s) && html`<${SandboxFiles} sandbox=${s} />`}
		<${Packages} sandbox=${s} /><${Seal} sandbox=${s} />
		${tearing && html`<${SandboxDialog} sandbox=${s} onClose=${() => setTearing(false)} />`}`)
}
