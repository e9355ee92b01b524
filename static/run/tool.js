/*
 * One call of a tool: a row with what was called, how it ended and how long it took; opened, what went in and
 * what came out. One that failed is open. What is inside is made only when it is looked at.
 */
import { html, useState } from '../lib/html.js'
import { now, parse } from '../lib/time.js'
import { CodeBlock } from './code.js'
import { wordChanges } from './diffwords.js'
import { toolMs, toolOutcome } from './traceitems.js'
import { visible } from './visible.js'

/** "350 ms", "3.4 s", "2 min 5 s", "1 h 4 min". @param {number|null} ms */
export function took(ms) {
	if (ms === null || ms === undefined) return '—'
	if (ms < 1000) return `${Math.round(ms)} ms`
	const s = Math.round(ms / 1000)
	if (s < 60) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`
	return s < 3600
		? `${Math.floor(s / 60)} min ${s % 60} s`
		: `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`
}

/** "Bash: make test" is the tool and what it was called with. */
export function toolTitle(row) {
	const name = row.data?.tool ?? ''
	const text = row.text.split('\n', 1)[0]
	if (name && text.startsWith(`${name}:`)) return [name, text.slice(name.length + 1).trim()]
	return name && text !== name ? [name, text] : [text, '']
}

const marked = (text, ranges) => {
	const out = []
	let at = 0
	for (const [from, to] of ranges ?? []) {
		out.push(visible(text.slice(at, from)), html`<mark>${visible(text.slice(from, to))}</mark>`)
		at = to
	}
	out.push(visible(text.slice(at)))
	return out
}

/* An edit as what it takes out and what it puts in. */
function Edit({ path, before, after }) {
	const old = before.split('\n').slice(0, 200)
	const next = after.split('\n').slice(0, 200)
	const pair = old.length === 1 && next.length === 1 ? wordChanges(old[0], next[0]) : null
	return html`<div class="edit">
		<div class="code-head"><span class="code-name mono">${visible(path)}</span></div>
		<pre tabindex="0" role="group" aria-label=${`Change in ${path}`}>
<code>${old.map((l) => before && html`<span class="del"><span class="sr-only">removed: </span>- ${marked(l, pair?.[0])}</span>`)}${next.map(
		(l) => html`<span class="add"><span class="sr-only">added: </span>+ ${marked(l, pair?.[1])}</span>`,
	)}</code></pre>
	</div>`
}

const isText = (v) => typeof v === 'string'

function Input({ data }) {
	const input = data?.input
	if (!input || typeof input !== 'object')
		return isText(input) ? html`<${CodeBlock} text=${input} label="input" />` : null
	if (isText(input.command)) return html`<${CodeBlock} text=${input.command} label="command" />`
	if (isText(input.file_path) && isText(input.old_string) && isText(input.new_string))
		return html`<${Edit} path=${input.file_path} before=${input.old_string} after=${input.new_string} />`
	if (isText(input.file_path) && Array.isArray(input.edits))
		return input.edits
			.filter((e) => isText(e?.old_string) && isText(e?.new_string))
			.map((e) => html`<${Edit} path=${input.file_path} before=${e.old_string} after=${e.new_string} />`)
	if (isText(input.file_path) && isText(input.content))
		return html`<${CodeBlock} text=${input.content} label=${input.file_path} fold=${20} />`
	if (!Object.keys(input).length) return null
	return html`<${CodeBlock} text=${JSON.stringify(input, null, 2)} label="input" fold=${20} />`
}

function Output({ it }) {
	const data = it.result?.data ?? {}
	if (!it.result) return html`<p class="tool-note">No result yet.</p>`
	if (!it.result.text) return html`<p class="tool-note">It wrote nothing.</p>`
	return html`<${CodeBlock} text=${it.result.text} label="output" ansi fold=${24} />
		${data.truncated && html`<p class="tool-note">The beginning of a longer output.</p>`}`
}

/* While it runs its time ticks; it alone subscribes to the clock. */
const Ticking = ({ since }) => html`<span class="tool-time">${took(Math.max(0, now.value - since))}</span>`

function Outcome({ it, live }) {
	const outcome = toolOutcome(it)
	const code = it.result?.data?.exit_code
	if (outcome === 'running')
		return live
			? html`<span class="tool-end going">running</span><${Ticking} since=${parse(it.row.ts)} />`
			: html`<span class="tool-end">no result</span>`
	const word = outcome === 'failed' ? (code ? `exit ${code}` : 'failed') : code === 0 ? 'exit 0' : 'ok'
	return html`<span class=${`tool-end ${outcome}`}>${outcome === 'failed' ? '✕' : '✓'} ${word}</span>
		<span class="tool-time">${took(toolMs(it))}</span>`
}

/** @param {{it: import('./traceitems.js').Item, live: boolean}} p live: its turn is still going on */
export function ToolRow({ it, live }) {
	const [touched, setOpen] = useState(null)
	const outcome = toolOutcome(it)
	const open = touched ?? outcome === 'failed'
	const [name, what] = toolTitle(it.row)
	const body = `tool-${it.row.seq}`
	return html`<div class=${`tool ${outcome}${open ? ' open' : ''}`} data-depth=${it.depth || null}>
		<button type="button" class="tool-row" aria-expanded=${open} aria-controls=${open ? body : null} onClick=${() => setOpen(!open)}>
			<span class="tool-mark" aria-hidden="true"></span>
			<span class="tool-name">${visible(name)}</span>
			<span class="tool-what">${visible(what)}</span>
			<${Outcome} it=${it} live=${live} />
		</button>
		${open && html`<div class="tool-body" id=${body}><${Input} data=${it.row.data} /><${Output} it=${it} /></div>`}
	</div>`
}
