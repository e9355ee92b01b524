/*
 * The head of a turn: when it began, and what a person wrote that began it.
 */
import { html, useState } from '../lib/html.js'
import { absolute, clock, parse } from '../lib/time.js'
import { CodeBlock } from './code.js'
import { markdown } from './markdown.js'

const LONG = 900

/* A task of a script agent is a program and reads as one; others are prose. */
function Said({ run, text }) {
	const [open, setOpen] = useState(false)
	if (run.agent === 'script') return html`<${CodeBlock} text=${text} label="script" fold=${16} />`
	const long = text.length > LONG
	return html`<div class="said prose">
		${markdown(long && !open ? `${text.slice(0, LONG)}…` : text)}
		${
			long &&
			html`<button type="button" class="code-more" aria-expanded=${open} onClick=${() => setOpen(!open)}>
			${open ? 'Show less' : 'Show all'}
		</button>`
		}
	</div>`
}

/** @param {{run: any, n: number, turn?: any, first?: any}} p first: the first row of the turn */
export function TurnHead({ run, n, turn, first }) {
	const at = parse(turn?.created_at ?? first?.ts ?? (n === 1 ? run.created_at : null))
	// an answer stands with its question; it is not said again
	const text = n === 1 ? (run.task ?? turn?.message) : null
	return html`<header class="turn-head">
			<h2>${n === 1 ? 'Task' : `Turn ${n}`}</h2>
			${at !== null && html`<time datetime=${new Date(at).toISOString()} title=${absolute(at)}>${clock(at)}</time>`}
		</header>
		${text && html`<${Said} run=${run} text=${text} />`}`
}
