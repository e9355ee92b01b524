/*
 * The one stream of this page, and what keeps it true. There is one EventSource, on /events.sse: the fleet and, if
 * a run is on the screen, its trace and notices of its log. It is opened with the position of what is here
 * (F.S.L, see docs/streams.md), so that nothing is lost and nothing comes twice. It is given up and opened again
 * when the server is silent for 2.5 heartbeats, when the page becomes visible again, when the network comes back,
 * and after errors with growing pauses. Opening again is not trusted alone: the rows are fetched as well. A hidden tab
 * lets go of it where another of the same browser listens (tabs.js).
 */
import { batch, signal } from '../vendor/signals-core.js'
import { ApiError, get } from './api.js'
import { apply, applyFleet, applyWatch, fleet, focus, focusEmpty, session, signedOut, updateReady } from './store.js'
import { leads, share, tabsStart } from './tabs.js'
import { now, skew } from './time.js'
import { VERSION } from './version.js'

const BACKOFF_MS = [500, 1000, 2000, 4000, 8000, 15000]
const HELLO_MS = 10_000
const REST_MS = 60_000 // a hidden page on a phone lets go after this
const YIELD_MS = 5000 // and a hidden tab beside one that leads after this
const SLOW_POLL_MS = 4000
const TYPES = ['hello', 'hb', 'fleet', 'run', 'question', 'answered', 'box', 'activity', 'trace', 'log', 'gap']

/**
 * state: connecting (for the first time), live, retrying, offline, resting (hidden on a phone, or beside another tab).
 * since: when it came into that state; for all that is not live, when it was last live.
 */
export const connection = signal({ state: 'connecting', since: Date.now(), slow: false })
let lastHeard = 0
/** When the server was last heard, ms. */
export const heardAt = () => lastHeard

let source = null
let heartbeatMs = 15_000
let fails = 0
let silentOpens = 0
let retryTimer = 0
let helloTimer = 0
let pollTimer = 0
let started = false
let position = { feed: 0, trace: 0, log: 0 }
let queue = []
let flushTimer = 0

function setState(state) {
	const c = connection.peek()
	if (c.state === state) return
	const lost = c.state === 'live' || state === 'live' || state === 'connecting'
	connection.value = { ...c, state, since: lost ? Date.now() : c.since }
}

function close() {
	clearTimeout(helloTimer)
	clearTimeout(retryTimer)
	source?.close()
	source = null
}

/** Opens the stream from where we are. */
function open() {
	close()
	if (!started || session.peek().state === 'out') return
	const q = new URLSearchParams()
	const f = focus.peek()
	const focused = f && f.status === 'ready'
	if (focused) q.set('run', f.session)
	const rows = focused ? f.trace : []
	position.trace = rows.length ? rows[rows.length - 1].seq : 0
	position.log = focused ? f.logSeq : 0
	if (!position.feed) position.feed = fleet.peek().feed
	if (position.feed) q.set('after', `${position.feed}.${position.trace}.${position.log}`)
	const es = new EventSource(`/events.sse?${q}`)
	source = es
	let said = false
	helloTimer = setTimeout(() => {
		if (source === es && !said) {
			silentOpens++
			lost()
		}
	}, HELLO_MS)
	for (const type of TYPES)
		es.addEventListener(type, (e) => {
			if (source !== es) return
			said = true
			lastHeard = Date.now()
			receive(type, e)
		})
	es.onerror = () => source === es && lost()
}

function receive(type, e) {
	let data
	try {
		data = JSON.parse(e.data)
	} catch {
		return
	}
	if (e.lastEventId) {
		const [feed] = e.lastEventId.split('.').map(Number)
		if (feed >= position.feed) position.feed = feed
	}
	if (type === 'hello') return hello(data)
	if (type === 'hb') return
	if (type === 'gap') {
		position.feed = data.seq
		return void resync(true)
	}
	share(type, data)
	enqueue(type, data)
}

function enqueue(type, data) {
	queue.push({ type, data })
	if (!flushTimer) flushTimer = setTimeout(flush, 8)
}

function flush() {
	flushTimer = 0
	const events = queue
	queue = []
	apply(events)
}

function hello(data) {
	clearTimeout(helloTimer)
	clearTimeout(pollTimer)
	heartbeatMs = data.heartbeat_s * 1000
	skew.ms = Date.parse(data.server_time) - Date.now()
	// a second is the network, not the clock
	if (Math.abs(skew.ms) < 1000) skew.ms = 0
	fails = silentOpens = 0
	batch(() => {
		if (data.ui_version !== '0' && !VERSION.startsWith('@') && data.ui_version !== VERSION) updateReady.value = true
		if (connection.peek().slow) connection.value = { ...connection.peek(), slow: false }
		setState('live')
		now.value = Date.now()
	})
}

/** The stream is gone: finds out why and comes back later. */
async function lost() {
	close()
	// without a network there is nothing to try: the browser says when there is one
	if (!navigator.onLine) return setState('offline')
	setState('retrying')
	const pause = BACKOFF_MS[Math.min(fails++, BACKOFF_MS.length - 1)] * (0.75 + Math.random() / 2)
	retryTimer = setTimeout(open, pause)
	if (silentOpens >= 2) slowMode()
	try {
		await get('/session.json', {}, { quiet: true })
	} catch (e) {
		if (e instanceof ApiError && e.status === 401) {
			close()
			signedOut()
		}
	}
}

/** A proxy on the way keeps the stream to itself: ask, until one comes through. */
function slowMode() {
	if (!connection.peek().slow) connection.value = { ...connection.peek(), slow: true }
	clearTimeout(pollTimer)
	pollTimer = setTimeout(async () => {
		if (document.visibilityState === 'visible') await resync(false)
		if (connection.peek().slow) slowMode()
	}, SLOW_POLL_MS)
}

/**
 * Fetches the state itself: the fleet and the run in focus.
 * @param {boolean} reset also where that leaves a hole behind (older rows are there to be asked for)
 */
export async function resync(reset = false) {
	const name = focus.peek()?.session
	const [f, w] = await Promise.allSettled([get('/fleet.json'), name ? get('/watch.json', { session: name }) : null])
	batch(() => {
		if (f.status === 'fulfilled') applyFleet(f.value)
		if (w.status === 'fulfilled' && w.value) applyWatch(w.value, reset)
	})
	return f.status === 'fulfilled'
}

/** Puts a run on the screen (or none): fetches it, then follows it. @param {string|null} name */
export async function setFocus(name) {
	if (focus.peek()?.session === name) return
	if (!name) {
		focus.value = null
		return open()
	}
	focus.value = focusEmpty(name, fleet.peek().runs.get(name) ?? null)
	await loadFocus()
}

/** Fetches the run in focus; again after an error. */
export async function loadFocus() {
	const name = focus.peek()?.session
	if (!name) return
	try {
		const watch = await get('/watch.json', { session: name })
		if (focus.peek()?.session !== name) return
		applyWatch(watch, true)
		// what the run did between the two answers is told again
		position.feed = Math.min(position.feed || fleet.peek().feed || watch.feed, watch.feed)
		open()
	} catch (e) {
		if (focus.peek()?.session !== name) return
		focus.value = { ...focus.peek(), status: e.status === 404 || e.status === 422 ? 'gone' : 'error', error: e }
	}
}

/** Somebody looks again, or the network is back: true again at once. */
function wake() {
	if (!started || session.peek().state === 'out' || document.visibilityState !== 'visible') return
	now.value = Date.now()
	if (source && source.readyState === EventSource.OPEN && Date.now() - lastHeard < heartbeatMs) return
	fails = 0
	open()
	void resync(false)
}

let hiddenAt = 0
const touch = typeof matchMedia === 'undefined' ? null : matchMedia('(hover: none) and (pointer: coarse)')

function everySecond() {
	if (document.visibilityState !== 'visible') {
		const away = hiddenAt ? Date.now() - hiddenAt : 0
		if (source && ((touch.matches && away > REST_MS) || (!leads() && away > YIELD_MS))) {
			close()
			setState('resting')
		}
		return
	}
	if (source && lastHeard && connection.peek().state === 'live' && Date.now() - lastHeard > heartbeatMs * 2.5) {
		setState('retrying')
		open()
		void resync(false)
	}
}

/* The fleet, asked for while it is still being found out who is there. */
let early = null
const EARLY_MS = 1000

/** Asks for the fleet ahead of the stream, which then begins where that answer ends. */
export function fleetEarly() {
	early = get('/fleet.json', {}, { quiet: true }).then(applyFleet, () => {})
}

/** What the leading tab has heard: news for one that has let go, and nothing to one that listens itself. */
const heardElsewhere = (type, data) => {
	if (connection.peek().state === 'resting' && session.peek().state === 'in') enqueue(type, data)
}

/** The tab that led is gone: who rested listens now, though hidden. */
function lead() {
	if (connection.peek().state !== 'resting' || touch.matches) return
	open()
	void resync(false)
}

/** Called once somebody is signed in; again after signing in anew. */
export function eventsStart() {
	const again = started
	if (!started) {
		started = true
		tabsStart(heardElsewhere, lead)
		setInterval(everySecond, 1000)
		document.addEventListener('visibilitychange', () => {
			hiddenAt = document.visibilityState === 'visible' ? 0 : Date.now()
			wake()
		})
		addEventListener('pageshow', wake)
		addEventListener('online', wake)
		addEventListener('offline', () => {
			close()
			setState('offline')
		})
	}
	fails = 0
	void begin()
	if (['error', 'gone'].includes(focus.peek()?.status)) void loadFocus()
	else if (again && fleet.peek().at) void resync(false)
}

/* The first opening waits a moment for the fleet, so that it is not sent twice. */
async function begin() {
	const asked = early
	early = null
	if (asked) await Promise.race([asked, new Promise((done) => setTimeout(done, EARLY_MS))])
	// a run that came first has opened it
	if (!asked || !source) open()
}

/** Tries now. */
export const retryNow = () => {
	fails = 0
	open()
	void resync(false)
}
