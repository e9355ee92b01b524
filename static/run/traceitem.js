/*
 * What each kind of item of a trace looks like.
 */
import { html, useState } from '../lib/html.js'
import { href } from '../lib/router.js'
import { absolute, clock, parse } from '../lib/time.js'
import { ansiLine, CodeBlock } from './code.js'
import { markdown } from './markdown.js'
import { took, ToolRow } from './tool.js'
import { answeredBy } from './question.js'
import { lineCount } from './result.js'
import { terminalLines } from './traceitems.js'
import { visible } from './visible.js'

/* Lines of a terminal block that are shown; the rest is in the log. */
const HEAD = 12
const TAIL = 30

const When = ({ ts }) => {
	const at = parse(ts)
	return at === null ? null : html`<time datetime=${ts} title=${absolute(at)}>${clock(at)}</time>`
}

/** A line across: something that happened to the run, not something that was said. */
const Rule = ({ ts, tone = '', children }) =>
	html`<div class=${`rule ${tone}`}><span class="rule-text">${children} <${When} ts=${ts} /></span></div>`

function Say({ row }) {
	return html`<div class="say prose">${markdown(row.text)}</div>`
}

function Thinking({ row }) {
	return html`<details class="thinking">
		<summary>Thinking</summary>
		<div class="prose">${markdown(row.text)}</div>
	</details>`
}

function Terminal({ it, run }) {
	const t = terminalLines(it.rows, HEAD, TAIL)
	const lines = (list) =>
		list.map(
			(l) => html`<span class=${l.err ? 'line err' : 'line'}>${ansiLine(l.text.slice(0, 2000))}${'\n'}</span>`,
		)
	const to = t.from === null ? null : `L${t.from + 1}${t.to > t.from ? `-${t.to + 1}` : ''}`
	return html`<figure class="code terminal">
		<figcaption class="code-head">
			<span class="code-name">Output</span>
			${to && html`<a href=${href.run(run.session, 'log', to)} data-replace>${t.to > t.from ? `lines ${t.from + 1}–${t.to + 1}` : `line ${t.from + 1}`}</a>`}
		</figcaption>
		<pre tabindex="0" role="group" aria-label="Output"><code>${lines(t.head)}${
			t.hidden > 0 &&
			html`<a class="line hidden-lines" href=${href.run(run.session, 'log', to ?? '')} data-replace>${`⋯ ${lineCount(t.hidden, 'more line')} in the log`}</a>`
		}${lines(t.tail)}</code></pre>
	</figure>`
}

const API_ERRORS = {
	401: 'The model’s host refused the key of this site (401).',
	403: 'The model’s host refused this request (403).',
	429: 'The model’s host says that there were too many requests (429).',
	500: 'The model’s host failed (500).',
	529: 'The model’s host is overloaded (529).',
}

function ErrorCard({ row }) {
	const d = row.data ?? {}
	const words = API_ERRORS[d.status]
	return html`<div class="error-card">
		<p class="error-title">✕ ${words ?? 'Error'}</p>
		${row.text && html`<${CodeBlock} text=${row.text} label="error" ansi fold=${12} />`}
	</div>`
}

function Retry({ it }) {
	const [open, setOpen] = useState(false)
	const last = it.rows[it.rows.length - 1]
	const d = last.data ?? {}
	const wait = typeof d.retry_ms === 'number' ? `, next after ${took(d.retry_ms)}` : ''
	const max = d.max ? ` of ${d.max}` : ''
	return html`<div class="retry">
		<button type="button" class="retry-row" aria-expanded=${open} onClick=${() => setOpen(!open)}>
			<span aria-hidden="true">↻</span>
			<span>${(API_ERRORS[d.status] ?? 'The model did not answer.').replace(/\.$/, '')} — tried again, ${d.attempt ?? it.rows.length}${max}${wait}</span>
			<${When} ts=${last.ts} />
		</button>
		${open && html`<ul>${it.rows.map((r) => html`<li><${When} ts=${r.ts} /> ${visible(r.text)}</li>`)}</ul>`}
	</div>`
}

/* A question with its answer is one thing. While it is open it stands below, where it is answered, and not here too. */
function Asked({ it, question, run }) {
	const answer = question?.answer ?? it.answer?.text ?? null
	const answered = answer !== null || question?.answered_at
	if (!answered && run.state === 'waiting') return null
	return html`<div class="asked">
		<p class="asked-head"><span class="asked-mark" aria-hidden="true">?</span><strong>The agent asked</strong><${When} ts=${it.row.ts} /></p>
		<div class="asked-text">${visible(it.row.text)}</div>
		${
			answer === null
				? html`<p class="answer-none">${answered ? 'Answered.' : 'It was not answered.'}</p>`
				: html`<div class="asked-answer">
					<p class="asked-head"><strong>Answered</strong><span>${answeredBy(question?.answered_by)}</span><${When} ts=${question?.answered_at ?? it.answer?.ts} /></p>
					<div class="asked-text">${visible(answer)}</div>
				</div>`
		}
	</div>`
}

function Raw({ row }) {
	return html`<details class="raw">
		<summary>${visible(row.text.split('\n', 1)[0].slice(0, 200) || row.kind)}</summary>
		<${CodeBlock} text=${JSON.stringify(row.data?.event ?? row.data ?? row.text, null, 2)} label="event" />
	</details>`
}

const END = { timed_out: 'timed out' }

function ResultRule({ row }) {
	const d = row.data ?? {}
	const bad = d.is_error || (typeof d.exit_code === 'number' && d.exit_code !== 0)
	return html`<${Rule} ts=${row.ts} tone=${bad ? 'bad' : ''}>
		${END[d.kind] ?? visible(row.text.split('\n', 1)[0] || 'ended')}${typeof d.ms === 'number' && ` · ${took(d.ms)}`}
	<//>`
}

/** @param {{it: import('./traceitems.js').Item, live: boolean, question: any, run: any}} p */
export function ItemView({ it, live, question, run }) {
	switch (it.type) {
		case 'say':
			return html`<${Say} row=${it.row} />`
		case 'thinking':
			return html`<${Thinking} row=${it.row} />`
		case 'terminal':
			return html`<${Terminal} it=${it} run=${run} />`
		case 'tool':
			// a whole program and not a call: the line before it says already that it began
			return it.row.data?.tool ? html`<${ToolRow} it=${it} live=${live} />` : null
		case 'error':
			return html`<${ErrorCard} row=${it.row} />`
		case 'retry':
			return html`<${Retry} it=${it} />`
		case 'question':
			return html`<${Asked} it=${it} question=${question} run=${run} />`
		case 'answer':
			return html`<div class="asked"><div class="asked-answer">
				<p class="asked-head"><strong>Answer</strong><${When} ts=${it.row.ts} /></p>
				<div class="asked-text">${visible(it.row.text)}</div>
			</div></div>`
		case 'system':
			return html`<${Rule} ts=${it.row.ts}>${visible(it.row.text)}<//>`
		case 'result':
			return html`<${ResultRule} row=${it.row} />`
		default:
			return html`<${Raw} row=${it.row} />`
	}
}
