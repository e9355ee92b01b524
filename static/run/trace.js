/*
 * The trace tab: what happened in a run, by turn. It follows the end while one is there; older rows come as one
 * asks for them; what was drawn and has not changed is not drawn again.
 */
import { Component, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { focus, isActive, joinRows } from '../lib/store.js'
import { plural } from '../lib/text.js'
import { ResultCard } from './result.js'
import { groupTrace, sameItem } from './traceitems.js'
import { ItemView } from './traceitem.js'
import { TurnHead } from './turnhead.js'

/* Items on the page, and more each time one asks; rows of one request. */
const STEP = 300
const PAGE = 300
/* Of these, the last ones are drawn first, then a few more above them with each frame, so that no frame is long. */
const FIRST = 4
const MORE = 6

/* An item draws itself again only when it has other rows, or its turn has ended. */
class Memo extends Component {
	shouldComponentUpdate(next) {
		return (
			!sameItem(this.props.it, next.it) ||
			this.props.live !== next.live ||
			this.props.question !== next.question ||
			(next.it.type === 'question' && this.props.run.state !== next.run.state)
		)
	}
	render({ it, live, question, run }) {
		return html`<${ItemView} it=${it} live=${live} question=${question} run=${run} />`
	}
}

/** Rows before the first one that is here. Throws ApiError. */
async function loadOlder() {
	const f = focus.peek()
	const answer = await get('/trace.json', { session: f.session, before: f.trace[0]?.seq, limit: PAGE })
	const here = focus.peek()
	if (here?.session !== f.session) return
	focus.value = { ...here, trace: joinRows(answer.rows, here.trace), more: answer.more }
}

function Earlier({ more, hidden, onShow, box }) {
	const [state, setState] = useState({ busy: false, error: null })
	const press = async () => {
		if (state.busy) return
		const bottom = box.current.scrollHeight - box.current.scrollTop
		const keep = () => requestAnimationFrame(() => (box.current.scrollTop = box.current.scrollHeight - bottom))
		if (hidden) {
			onShow(STEP)
			return keep()
		}
		setState({ busy: true, error: null })
		try {
			await loadOlder()
			onShow(PAGE)
			keep()
			setState({ busy: false, error: null })
		} catch (error) {
			setState({ busy: false, error })
		}
	}
	if (!more && !hidden) return null
	return html`<div class="earlier">
		<button type="button" class="btn quiet" aria-busy=${state.busy} onClick=${press}>
			${state.busy ? 'Loading earlier…' : hidden ? `Show ${plural(hidden, 'earlier step')}` : 'Show earlier'}
		</button>
		${state.error && html`<p class="pane-error" role="alert">Earlier steps could not be loaded: ${state.error.message}</p>`}
	</div>`
}

/* The groups without their first `left` items. */
function windowOf(groups, left) {
	const out = []
	for (const g of groups) {
		if (left < g.items.length || left <= 0) out.push({ ...g, items: left > 0 ? g.items.slice(left) : g.items, cut: left > 0 })
		left -= g.items.length
	}
	return out
}

/* How many of the first items are left out: those that nobody has asked for, and those that come with the next frames. */
function useSlices(total, room) {
	const hidden = Math.max(0, total - room)
	const [coming, setComing] = useState(() => Math.max(0, total - FIRST))
	useEffect(() => {
		if (coming > hidden) setComing(coming - MORE)
	})
	return { hidden, left: Math.max(hidden, coming), all: () => setComing(0) }
}

/* Keeps the end in view while one is there; says how many rows came since one left. */
function useFollow(count) {
	const box = useRef(null)
	const [away, setAway] = useState(false)
	const seen = useRef(count)
	const following = useRef(true)
	const top = useRef(0)
	const toEnd = () => {
		following.current = true
		if (box.current) box.current.scrollTop = box.current.scrollHeight
		setAway(false)
	}
	const onScroll = () => {
		const e = box.current
		const end = e.scrollHeight - e.scrollTop - e.clientHeight < 48
		// what grows below is not the reader's leaving: only going up is
		const left = e.scrollTop < top.current - 1 || !following.current
		top.current = e.scrollTop
		if (!end && !left) return
		following.current = end
		setAway(!end)
		if (end) seen.current = count
	}
	useLayoutEffect(() => {
		if (following.current) seen.current = count
	})
	// what has grown is followed when the page has been laid out, not by laying it out for that
	useEffect(() => {
		const sizes = new ResizeObserver(
			() => following.current && box.current && (box.current.scrollTop = box.current.scrollHeight),
		)
		sizes.observe(box.current)
		if (box.current.firstElementChild) sizes.observe(box.current.firstElementChild)
		return () => sizes.disconnect()
	}, [])
	return { box, away, unseen: away ? Math.max(0, count - seen.current) : 0, onScroll, toEnd }
}

/** @param {{f: any}} p the run in focus */
export function TraceTab({ f }) {
	const { run, trace, turns, questions } = f
	const [room, setRoom] = useState(STEP)
	const groups = useMemo(() => groupTrace(trace, run.agent === 'script'), [trace, run.agent])
	const { hidden, left, all } = useSlices(
		groups.reduce((n, g) => n + g.items.length, 0),
		room,
	)
	const shown = windowOf(groups, left)
	const last = trace.length ? trace[trace.length - 1].seq : 0
	const { box, away, unseen, onScroll, toEnd } = useFollow(last)
	const turnOf = (n) => turns.find((t) => t.turn === n)
	const whole = !f.more && !left
	const more = (n) => {
		setRoom(room + n)
		all()
	}
	return html`<div class="trace">
		<div class="pane-scroll" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label="Trace">
			<div class="column">
				${left === hidden && html`<${Earlier} more=${f.more} hidden=${hidden} onShow=${more} box=${box} />`}
				${whole && (!shown.length || shown[0].turn !== 1) && html`<${TurnHead} run=${run} n=${1} turn=${turnOf(1)} />`}
				${shown.map(
					(g) =>
						html`<section class="turn" key=${g.turn} aria-label=${`Turn ${g.turn}`}>
							${!g.cut && html`<${TurnHead} run=${run} n=${g.turn} turn=${turnOf(g.turn)} first=${g.first} />`}
							${g.items.map(
								(it) =>
									html`<${Memo} key=${it.key} it=${it} run=${run} live=${g.turn === run.turn && isActive(run)}
										question=${it.type === 'question' ? questionOf(questions, it, run) : null} />`,
							)}
						</section>`,
				)}
				<${Tail} run=${run} empty=${!trace.length} turn=${turnOf(run.turn)} />
			</div>
		</div>
		${away && html`<button type="button" class="jump" onClick=${toEnd}>↓ ${unseen ? `${unseen} new` : 'Jump to latest'}</button>`}
	</div>`
}

/* Rows know a question by the box's own name for it; a turn asks one at the most. One that an event told of says no
 * turn, and its text may be cut. */
function questionOf(questions, it, run) {
	const mine = (q) => (q.turn ? q.turn === it.row.turn : it.row.text.startsWith(q.text))
	return questions.find(mine) ?? (run.question && mine(run.question) ? run.question : null)
}

const WAITS = {
	queued: 'Queued: it starts as soon as there is room for its box.',
	starting: 'Starting: the box boots and the tree is put in place.',
	running: 'Working',
	waiting: 'The agent has stopped and cannot continue until you answer.',
}

/* What stands at the end: that it goes on, or how it ended. */
function Tail({ run, empty, turn }) {
	if (WAITS[run.state])
		return html`<p class=${`tail ${run.state}`}>
			<span class="tail-mark" aria-hidden="true"></span>${empty && run.state === 'running' ? 'Working: nothing written yet.' : WAITS[run.state]}
		</p>`
	return html`<${ResultCard} run=${run} turn=${turn} />`
}
