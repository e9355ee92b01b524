/*
 * Times as people read them. Everything takes and gives plain values and reads no clock of its own, but for
 * `now`, the signal that ticks for all ages on the screen: one timer for the page, and none while it is hidden.
 */
import { signal } from '../vendor/signals-core.js'

export const now = signal(Date.now())
/** How far the server's clock is ahead of ours, in ms; events.js sets it by each hello. */
export const skew = { ms: 0 }

const tick = () => {
	now.value = Date.now()
}
if (typeof document !== 'undefined') {
	setInterval(() => document.visibilityState === 'visible' && tick(), 1000)
	document.addEventListener('visibilitychange', tick)
}

/** @param {string|null|undefined} text RFC 3339 @returns {number|null} ms since the epoch, by our clock */
export function parse(text) {
	const ms = text ? Date.parse(text) : NaN
	return Number.isNaN(ms) ? null : ms - skew.ms
}

/**
 * "now", "40 s ago", "3 min ago", "2 h ago", "4 d ago", then the date.
 * @param {number} ms @param {number} at
 */
export function ago(ms, at) {
	const s = Math.floor((at - ms) / 1000)
	if (s < 5) return 'now'
	if (s < 60) return `${s} s ago`
	if (s < 3600) return `${Math.floor(s / 60)} min ago`
	if (s < 86400) return `${Math.floor(s / 3600)} h ago`
	if (s < 86400 * 7) return `${Math.floor(s / 86400)} d ago`
	return day(new Date(ms))
}

/** "0:07", "12:41", "3:04:09": a length of time. @param {number|null} ms */
export function duration(ms) {
	if (ms === null || ms === undefined || Number.isNaN(ms)) return '—'
	const s = Math.max(0, Math.floor(ms / 1000))
	const h = Math.floor(s / 3600)
	return h ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`
}

// by hand: making formats of Intl took longer than all the rest of what begins a page
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec']
const two = (n) => String(n).padStart(2, '0')
const day = (d) => `${d.getDate()} ${MONTHS[d.getMonth()]} ${d.getFullYear()}`
const hours = (d) => `${two(d.getHours())}:${two(d.getMinutes())}`
function zone(d) {
	const m = -d.getTimezoneOffset()
	if (m === 0) return 'UTC'
	const past = Math.abs(m) % 60
	return `UTC${m < 0 ? '−' : '+'}${Math.floor(Math.abs(m) / 60)}${past ? `:${two(past)}` : ''}`
}
/** "30 Nov 2026, 14:02:09 UTC+1": the moment itself, in the reader's zone. @param {number} ms */
export function absolute(ms) {
	const d = new Date(ms)
	return `${day(d)}, ${hours(d)}:${two(d.getSeconds())} ${zone(d)}`
}

/** "14:02". @param {number} ms */
export const clock = (ms) => hours(new Date(ms))

/** 950, "12.4k", "1.8M"; "—" for what nobody reported. @param {number|null|undefined} n */
export function count(n) {
	if (n === null || n === undefined) return '—'
	if (n < 1000) return String(n)
	if (n < 1e6) return `${trim(n / 1000)}k`
	return `${trim(n / 1e6)}M`
}
const trim = (x) => (x < 100 ? x.toFixed(1).replace(/\.0$/, '') : String(Math.round(x)))

/** "$0.41", "<$0.01"; "—" where it is not known. @param {number|null|undefined} usd */
export function money(usd) {
	if (usd === null || usd === undefined) return '—'
	if (usd > 0 && usd < 0.01) return '<$0.01'
	return `$${usd.toFixed(2)}`
}

/** "812 B", "4.2 KB", "1.2 MB". @param {number|null|undefined} n */
export function bytes(n) {
	if (n === null || n === undefined) return '—'
	if (n < 1000) return `${n} B`
	const units = ['KB', 'MB', 'GB', 'TB']
	let i = -1
	do {
		n /= 1000
		i++
	} while (n >= 999.5 && i < units.length - 1)
	return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`
}

/** Memory and disks, which come in powers of two: "512 MiB", "4 GiB". @param {number|null|undefined} n */
export function binary(n) {
	if (n === null || n === undefined) return '—'
	const mib = n / 1048576
	return mib >= 1024 && mib % 1024 === 0 ? `${mib / 1024} GiB` : `${Math.round(mib)} MiB`
}
