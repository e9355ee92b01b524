/*
 * The question that a run has stopped at, and the answer to it. It cannot be dismissed: only answered, folded, or
 * ended with its run. What is typed is kept until the server has it; who was second sees the answer that won and
 * keeps their text.
 */
import { html, useEffect, useId, useRef, useState } from '../lib/html.js'
import { newKey, post } from '../lib/api.js'
import { draftDrop, draftGet, draftSet } from '../lib/draft.js'
import { connection } from '../lib/events.js'
import { href } from '../lib/router.js'
import { applyRun, site } from '../lib/store.js'
import { sentence } from '../lib/text.js'
import { announce, Button, CopyButton, Icon, IconButton, TextArea, TimeAgo } from '../lib/ui.js'
import { visible } from './visible.js'

const ANSWER_BYTES = 61440
const MAX_FIELD_PX = 132

/** The name of the draft of an answer: what was written for one question is not put under another. */
const draftName = (run, question) => `answer:${run.session}:${question.id}`

/** Who answered, in words: "operator" and "session:12" are what the rows say. @param {string|null|undefined} who */
export function answeredBy(who) {
	if (!who) return ''
	if (who === 'operator') return 'with the operator’s token'
	return who.startsWith('session') ? 'in a browser' : `by ${who}`
}

function problem(text) {
	if (!text.trim()) return 'Write an answer first.'
	const max = site.peek()?.limits?.answer_bytes ?? ANSWER_BYTES
	const size = new TextEncoder().encode(JSON.stringify(text)).length
	if (size > max) return `That is ${(size - max).toLocaleString('en')} bytes too long.`
	return ''
}

/*
 * Sending: idle, sending, sent, failed {error}, taken {answer, by}. One key for one text: pressing again after
 * a lost answer does nothing twice.
 */
function useAnswer(run, question) {
	const [text, setTextState] = useState(() => draftGet(draftName(run, question)))
	const [state, setState] = useState({ name: 'idle' })
	const intent = useRef({ text: '', key: '' })
	const setText = (t) => {
		setTextState(t)
		draftSet(draftName(run, question), t)
		if (state.name === 'failed' || state.name === 'bad') setState({ name: 'idle' })
	}
	const send = async () => {
		const bad = problem(text)
		if (bad) return setState({ name: 'bad', error: { message: bad } })
		if (state.name === 'sending' || state.name === 'sent') return
		if (connection.peek().state === 'offline')
			return setState({
				name: 'failed',
				error: { message: 'You are offline: nothing was sent.', fix: 'Your text is kept.' },
			})
		if (intent.current.text !== text || intent.current.id !== question.id)
			intent.current = { text, key: newKey(), id: question.id }
		setState({ name: 'sending' })
		try {
			const answer = await post(
				'/resume.json',
				{ session: run.session, question: question.id, message: text },
				{ key: intent.current.key },
			)
			draftDrop(draftName(run, question))
			sentHere.add(question.id)
			setState({ name: 'sent' })
			announce('Answer sent')
			applyRun(answer)
		} catch (error) {
			if (error.status === 409 && error.context?.answer !== undefined)
				return setState({ name: 'taken', answer: error.context.answer, by: error.context.answered_by })
			setState({ name: 'failed', error })
		}
	}
	return { text, setText, state, send }
}

/* Questions that this page has answered: they go without a word to who answered them. */
const sentHere = new Set()

function Problem({ state, retry }) {
	if (state.name === 'bad') return html`<p class="q-error" role="alert">${state.error.message}</p>`
	if (state.name === 'failed')
		return html`<div class="q-error" role="alert">
			<p><strong>Not sent.</strong> ${sentence(state.error.message)} ${sentence(state.error.fix ?? '')} Your text is kept.</p>
			<${Button} small action=${retry} icon="refresh">Retry<//>
		</div>`
	return null
}

const Winner = ({ answer, by, text }) => html`<div class="q-taken" role="alert">
	<p><strong>Already answered</strong> ${answeredBy(by)}: the run goes on with that answer.</p>
	<blockquote tabindex="0">${visible(answer)}</blockquote>
	${text && html`<p class="q-kept">Your text was not sent and is kept. <${CopyButton} text=${text} label="Copy my text" /></p>`}
</div>`

/**
 * @param {{run: any, question: {id: number, text: string, asked_at: string}, compact?: boolean}} p
 *   compact: in a list; the whole question and what led to it are on the run's page
 */
export function QuestionCard({ run, question, compact = false }) {
	const [folded, setFolded] = useState(false)
	const { text, setText, state, send } = useAnswer(run, question)
	const id = useId()
	const busy = state.name === 'sending'
	return html`<section class=${`question${compact ? ' compact' : ''}${folded ? ' folded' : ''}`} aria-labelledby=${`${id}-h`} data-question=${question.id}>
		<header class="q-head">
			<${Icon} name="pause" size=${16} class="q-mark" />
			<h2 id=${`${id}-h`}>The agent is asking</h2>
			<span class="q-age"><${TimeAgo} at=${question.asked_at} /></span>
			${folded && html`<span class="q-line">${visible(question.text.split('\n', 1)[0].slice(0, 160))}</span>`}
			${
				compact
					? html`<a class="q-open" href=${href.run(run.session)}>Open run</a>`
					: html`<${IconButton} icon=${folded ? 'right' : 'down'} size=${18} class="q-fold" label=${folded ? 'Show the question' : 'Fold the question'}
						aria-expanded=${folded ? 'false' : 'true'} action=${() => setFolded(!folded)} />`
			}
		</header>
		${
			!folded &&
			html`<div class="q-text" tabindex="0" role="group" aria-label="Question">${visible(question.text)}</div>
			${
				state.name === 'taken'
					? html`<${Winner} answer=${state.answer} by=${state.by} text=${text} />`
					: state.name === 'sent'
						? html`<p class="q-sent" role="status"><${Icon} name="check" size=${16} /> Sent. The agent goes on with it.</p>`
						: html`<form class="q-form" onSubmit=${(e) => (e.preventDefault(), send())}>
							<label class="sr-only" for=${`${id}-a`}>Your answer</label>
							<${TextArea} id=${`${id}-a`} rows="1" value=${text} onInput=${setText} onSubmit=${send} maxHeight=${MAX_FIELD_PX}
								placeholder="Your answer" aria-invalid=${state.name === 'bad' ? 'true' : undefined} enterkeyhint="enter" data-answer />
							<${Button} kind="wait" type="submit" busy=${busy} busyText="Sending…">Send answer<//>
						</form>
						<${Problem} state=${state} retry=${send} />`
			}`
		}
	</section>`
}

/* After a question has gone: that the answer was sent, or who else gave one, and what was typed and not sent. */
function Settled({ run, question, done, onClose }) {
	const draft = draftGet(draftName(run, question))
	const mine = sentHere.has(question.id)
	useEffect(() => {
		if (draft && !mine) return
		const timer = setTimeout(onClose, mine ? 3000 : 8000)
		return () => clearTimeout(timer)
	}, [draft, mine])
	if (mine)
		return html`<p class="q-settled" role="status"><${Icon} name="check" size=${16} /><span>Answer sent. The agent goes on with it.</span></p>`
	if (!done) return null
	return html`<div class="q-settled" role="status">
		<${Icon} name="check" size=${16} />
		<div>
			<p><strong>Answered</strong> ${answeredBy(done.answered_by)}${done.answer ? html`: “${visible(done.answer.slice(0, 200))}”` : '.'}</p>
			${draft && html`<p class="q-kept">Your text was not sent and is kept. <${CopyButton} text=${draft} label="Copy my text" /></p>`}
		</div>
		<${IconButton} icon="close" size=${16} label="Close" action=${() => (draftDrop(draftName(run, question)), onClose())} />
	</div>`
}

/** The place of the question on a run's page, also for a while after it was answered. @param {{f: any}} p */
export function QuestionDock({ f }) {
	const { run, questions } = f
	const open = run.state === 'waiting' ? run.question : null
	const [last, setLast] = useState(null)
	useEffect(() => {
		if (open) setLast(open)
	}, [open?.id])
	useEffect(() => setLast(open), [run.session])
	if (open) return html`<div class="dock"><${QuestionCard} key=${open.id} run=${run} question=${open} /></div>`
	const done = last && questions.find((q) => q.id === last.id && (q.answered_by || q.answered_at))
	if (!last || (!done && !sentHere.has(last.id))) return null
	return html`<div class="dock"><${Settled} run=${run} question=${last} done=${done} onClose=${() => setLast(null)} /></div>`
}
