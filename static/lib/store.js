/*
 * What the screens know, in signals: who is signed in, what the site offers, the fleet (runs and boxes) and the
 * run in focus. All of it is a copy of rows on the server. Snapshots replace, events patch; every run carries the
 * feed number (`seq`) it is as of, so that an event that comes twice or after its snapshot changes nothing.
 * The functions that change state are pure; the signals are set in one place each.
 */
import { batch, computed, signal } from '../vendor/signals-core.js'

/** state: unknown (not asked yet), in, out. @type {import('../vendor/signals-core.js').Signal<{state: string, csrf: string, caller: any}>} */
export const session = signal({ state: 'unknown', csrf: '', caller: null })
/** /site.json, or null. */
export const site = signal(null)
/** at: when a snapshot last came, ms; 0 for never. @type {any} */
export const fleet = signal({ runs: new Map(), boxes: new Map(), feed: 0, at: 0 })
/** The run on the screen, or null. status: loading, ready, gone, error. @type {any} */
export const focus = signal(null)
/** Another version of these files is on the server. */
export const updateReady = signal(false)

export const signedOut = () => {
	if (session.peek().state !== 'out') session.value = { state: 'out', csrf: '', caller: null }
}

// --- states of a run ------------------------------------------------------------------------------

export const ACTIVE = ['queued', 'starting', 'running']
export const isActive = (run) => ACTIVE.includes(run.state)
export const boxIsGone = (box) => !box || box.state === 'gone' || box.state === 'failed'

/** The state as it is drawn: a key of STATES in ui.js. @param {{state: string, box?: any}} run */
export function stateKey(run) {
	switch (run.state) {
		case 'queued':
		case 'starting':
			return 'starting'
		case 'stopped':
			return boxIsGone(run.box) ? 'gone' : 'stopped'
		default:
			return run.state
	}
}

const newestFirst = (a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : a.session < b.session ? 1 : -1)
const askedFirst = (a, b) => ((a.question?.asked_at ?? a.created_at) < (b.question?.asked_at ?? b.created_at) ? -1 : 1)

export const runs = computed(() => [...fleet.value.runs.values()].sort(newestFirst))
/** Oldest question first: whoever waits longest is first. */
export const waiting = computed(() => runs.value.filter((r) => r.state === 'waiting').sort(askedFirst))
export const working = computed(() => runs.value.filter(isActive))
export const recent = computed(() => runs.value.filter((r) => r.state !== 'waiting' && !isActive(r)))

// --- the fleet ------------------------------------------------------------------------------------

/** A patch may say the box by its name alone; what it does not say stays as it is. */
function patchRun(run, patch) {
	const { seq, ts, box, class: _c, image: _i, ...rest } = patch
	const next = { ...run, ...rest, seq }
	if (box && typeof box === 'object') next.box = box
	else if (box && run.box?.name !== box) next.box = { name: box, class: patch.class, image: patch.image }
	if (rest.state && rest.state !== 'waiting') next.question = null
	return next
}

/** @param {any} f @param {any} snapshot as /fleet.json gives it @param {number} at ms */
export function fleetSnapshot(f, snapshot, at) {
	const feed = snapshot.feed ?? 0
	const next = { runs: new Map(), boxes: new Map(), feed: Math.max(feed, f.feed), at }
	for (const r of snapshot.runs) next.runs.set(r.session, { ...r, seq: feed })
	for (const b of snapshot.boxes) next.boxes.set(b.name, { ...b, seq: feed })
	// events may have told of something newer while the snapshot was on its way
	for (const r of f.runs.values()) if (r.seq > feed) next.runs.set(r.session, { ...next.runs.get(r.session), ...r })
	for (const b of f.boxes.values()) if (b.seq > feed) next.boxes.set(b.name, { ...next.boxes.get(b.name), ...b })
	return next
}

/** @param {any} f @param {string} type @param {any} data */
export function fleetApply(f, type, data) {
	const seq = data.seq ?? 0
	if (type === 'box') {
		const box = f.boxes.get(data.box)
		if (box && box.seq >= seq) return f
		const boxes = new Map(f.boxes)
		if (boxIsGone(data)) boxes.delete(data.box)
		else boxes.set(data.box, { ...box, name: data.box, state: data.state, reason: data.reason, seq, ...(data.class ? { class: data.class, image: data.image } : {}) })
		const runs = new Map(f.runs)
		for (const r of f.runs.values())
			if (r.box?.name === data.box) runs.set(r.session, { ...r, box: { ...r.box, state: data.state, reason: data.reason } })
		return { ...f, boxes, runs, feed: Math.max(f.feed, seq) }
	}
	const run = f.runs.get(data.session)
	if (type === 'activity') return run ? { ...f, runs: new Map(f.runs).set(run.session, { ...run, ...data }) } : f
	// a question of the same transaction may carry a lower or a higher number than its run: what it says is checked
	if (type === 'run' && run && run.seq >= seq) return f
	const runs = new Map(f.runs)
	if (type === 'run') runs.set(data.session, patchRun(run ?? { session: data.session, created_at: data.ts }, data))
	else if (type === 'question' && run && (run.state === 'waiting' || run.seq < seq))
		runs.set(run.session, { ...run, question: { id: data.question, text: data.text, asked_at: data.asked_at ?? data.ts } })
	else if (type === 'answered' && run?.question?.id === data.question)
		runs.set(run.session, { ...run, question: null, answered: { id: data.question, by: data.by } })
	else return f
	return { ...f, runs, feed: Math.max(f.feed, seq) }
}

// --- the run in focus -----------------------------------------------------------------------------

export const focusEmpty = (name, run = null) => ({
	session: name,
	status: 'loading',
	error: null,
	run,
	trace: [], // rows ascending by seq, without holes
	more: false, // whether there are older rows than the first one here
	questions: [],
	turns: [],
	logSeq: 0, // the last chunk that was told of
	logLines: 0, // lines that are known to be there
	patchStale: 0, // grows each time a tool has ended: what was made of the patch may be old
})

/** Joins two ascending lists of rows with `seq`; each number once. */
export function joinRows(a, b) {
	if (!b.length) return a
	if (!a.length || a[a.length - 1].seq < b[0].seq) return a.length ? a.concat(b) : b
	if (b[b.length - 1].seq < a[0].seq) return b.concat(a)
	const bySeq = new Map()
	for (const r of a) bySeq.set(r.seq, r)
	for (const r of b) bySeq.set(r.seq, r)
	return [...bySeq.values()].sort((x, y) => x.seq - y.seq)
}

/**
 * @param {any} f @param {any} watch as /watch.json gives it
 * @param {boolean} [reset] take its tail of the trace even if that leaves older rows behind; otherwise rows that
 * do not touch ours are left to the stream, which brings what lies between
 */
export function focusSnapshot(f, watch, reset = false) {
	const { trace, questions, turns, feed, ...run } = watch
	run.seq = feed
	const newer = f.run && f.run.seq > feed
	const touches = !trace.length || !f.trace.length || trace[0].seq <= f.trace[f.trace.length - 1].seq + 1
	const rows = touches ? joinRows(f.trace, trace) : reset ? trace : f.trace
	return {
		...f,
		status: 'ready',
		error: null,
		run: newer ? { ...run, ...f.run } : run,
		trace: rows,
		more: rows.length > 0 && rows[0].seq > 1,
		questions: questions ?? f.questions,
		turns: turns ?? f.turns,
		logLines: Math.max(f.logLines, run.log_lines ?? 0),
	}
}

/** New rows, ascending; those that are here already are left out. @param {any} f @param {any[]} rows */
export function focusTrace(f, rows) {
	const last = f.trace.length ? f.trace[f.trace.length - 1].seq : 0
	const fresh = rows.filter((r) => r.seq > last)
	if (!fresh.length) return f
	const ended = fresh.filter((r) => r.kind === 'result').length
	return { ...f, trace: f.trace.concat(fresh), patchStale: f.patchStale + ended }
}

/** @param {any} f @param {string} type @param {any} data */
export function focusApply(f, type, data) {
	switch (type) {
		case 'trace':
			return focusTrace(f, [data])
		case 'log':
			return {
				...f,
				logSeq: Math.max(f.logSeq, data.seq),
				logLines: Math.max(f.logLines, data.first_line + data.nlines),
			}
		case 'run':
			if (data.session !== f.session || (f.run && f.run.seq >= data.seq)) return f
			return { ...f, run: patchRun(f.run ?? { session: f.session }, data) }
		case 'activity':
			if (data.session !== f.session || !f.run) return f
			return { ...f, run: { ...f.run, ...data }, logLines: Math.max(f.logLines, data.log_lines ?? 0) }
		case 'box':
			if (f.run?.box?.name !== data.box) return f
			return { ...f, run: { ...f.run, box: { ...f.run.box, state: data.state, reason: data.reason } } }
		case 'question': {
			if (data.session !== f.session || !f.run) return f
			const q = { id: data.question, text: data.text, asked_at: data.asked_at ?? data.ts, answer: null }
			const known = f.questions.some((x) => x.id === q.id)
			if (known && f.questions.find((x) => x.id === q.id).answer !== null) return f
			return { ...f, run: { ...f.run, question: q }, questions: known ? f.questions : [...f.questions, q] }
		}
		case 'answered': {
			if (data.session !== f.session || !f.run) return f
			const open = f.run.question?.id === data.question
			return {
				...f,
				run: open ? { ...f.run, question: null } : f.run,
				questions: f.questions.map((q) =>
					q.id === data.question
						? { ...q, answer: data.answer ?? q.answer, answered_by: data.by, answered_at: data.answered_at ?? data.ts }
						: q,
				),
			}
		}
		default:
			return f
	}
}

// --- the signals are set here ---------------------------------------------------------------------

/** Events in the order they came: [{type, data}]. @param {{type: string, data: any}[]} events */
export function apply(events) {
	batch(() => {
		let fl = fleet.peek()
		let fo = focus.peek()
		// rows of the trace come in hundreds after a pause: they are appended together
		let rows = []
		for (const { type, data } of events) {
			if (type === 'trace') {
				rows.push(data)
				continue
			}
			if (type === 'fleet') {
				fl = fleetSnapshot(fl, data, Date.now())
				continue
			}
			if (type !== 'log') fl = fleetApply(fl, type, data)
			if (fo) fo = focusApply(fo, type, data)
		}
		if (fo && rows.length) fo = focusTrace(fo, rows)
		fleet.value = fl
		focus.value = fo
	})
}

/** The answer of /fleet.json. */
export const applyFleet = (snapshot) => {
	fleet.value = fleetSnapshot(fleet.peek(), snapshot, Date.now())
}

/** The answer of /watch.json, if that run is still the one on the screen. */
export const applyWatch = (watch, reset = false) => {
	if (focus.peek()?.session === watch.session) focus.value = focusSnapshot(focus.peek(), watch, reset)
}

/** RUN as an action answers it: newer than what we have, though it carries no number. @param {any} run */
export function applyRun(run) {
	batch(() => {
		const fl = fleet.peek()
		const old = fl.runs.get(run.session)
		fleet.value = { ...fl, runs: new Map(fl.runs).set(run.session, { ...old, ...run, seq: old?.seq ?? 0 }) }
		const fo = focus.peek()
		if (fo?.session === run.session) focus.value = { ...fo, run: { ...fo.run, ...run, seq: fo.run?.seq ?? 0 } }
	})
}
