/*
 * Several tabs of one browser. A browser opens six connections to a site that speaks HTTP/1.1, and a stream holds one
 * for as long as it lives: seven tabs that each hold theirs would leave none for anything else. So one tab leads, by a
 * lock that the browser hands on when the tab goes: it keeps its stream although it is hidden, and passes on what it
 * hears of the fleet. Another tab has a stream while somebody looks at it, and lives on what is passed on while not.
 * Where a browser has no locks (a site without TLS that is not this machine's) every tab leads, for itself.
 */
const SHARED = ['fleet', 'run', 'question', 'answered', 'box', 'activity']

let leader = !globalThis.navigator?.locks
let channel = null

/** Whether this tab keeps its stream while nobody looks at it. */
export const leads = () => leader

/** Passes an event of the stream on. @param {string} type @param {any} data */
export function share(type, data) {
	if (leader && channel && SHARED.includes(type)) channel.postMessage({ type, data })
}

/**
 * Called once. @param {(type: string, data: any) => void} onShared what another tab has heard
 * @param {() => void} onLead this tab leads from now on
 */
export function tabsStart(onShared, onLead) {
	if (leader) return
	channel = new BroadcastChannel('events')
	channel.onmessage = (e) => SHARED.includes(e.data?.type) && onShared(e.data.type, e.data.data)
	// held until the tab goes
	const held = () => {
		leader = true
		onLead()
		return new Promise(() => {})
	}
	navigator.locks.request('stream', held).catch(() => (leader = true))
}
