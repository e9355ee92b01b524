/*
 * The log tab: search, follow, wrapping, times and downloads around LogView. Searching is the server's work, over
 * the whole log; #L123 and #L123-130 name lines.
 */
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { connection } from '../lib/events.js'
import { navigate, route } from '../lib/router.js'
import { isActive } from '../lib/store.js'
import { plural } from '../lib/text.js'
import { absolute } from '../lib/time.js'
import { Button, CopyButton, EmptyState, Icon, IconButton, InlineError, Menu } from '../lib/ui.js'
import { plainLines } from './loglines.js'
import { LogView } from './logview.js'
import { visible } from './visible.js'

/* Hits of one request; as many are gone through before the next is asked for. */
const HITS = 200
const WAIT_MS = 250
/* Lines of one copy. */
const COPY_MAX = 5000

/** "L123" or "L123-130" as lines from 0; null for anything else. @param {string} hash */
export function linesOf(hash) {
	const m = /^L(\d{1,12})(?:-L?(\d{1,12}))?$/.exec(hash)
	if (!m || m[1] === '0') return null
	const from = Number(m[1]) - 1
	return [from, Math.max(from, Number(m[2] ?? m[1]) - 1)]
}
/** The other way round. */
export const hashOf = ([from, to]) => `L${from + 1}${to > from ? `-${to + 1}` : ''}`

const timeFormat = new Intl.DateTimeFormat('en-GB', {
	hour: '2-digit',
	minute: '2-digit',
	second: '2-digit',
	fractionalSecondDigits: 3,
})
const stamp = (ms) => (typeof ms === 'number' ? timeFormat.format(ms) : '')

/* What is searched for and where one is in it: {q, total, hits, next, at, busy, error}. */
function useSearch(session, view) {
	const [s, set] = useState({ q: '', total: 0, hits: [], next: null, at: -1, busy: false, error: null })
	const latest = useRef(0)
	const ask = (q, after) => get('/log_search.json', { session, q, after, limit: HITS })
	const show = (hit) => view.current?.show(hit.n)
	const start = async (q) => {
		const mine = ++latest.current
		const line = /^:(\d{1,12})$/.exec(q)
		if (line) {
			const n = Math.max(0, Number(line[1]) - 1)
			view.current?.show(n)
			return pick(n, n)
		}
		view.current?.setQuery(q || null)
		if (!q) return set({ q, total: 0, hits: [], next: null, at: -1, busy: false, error: null })
		set((old) => ({ ...old, q, busy: true, error: null }))
		await new Promise((done) => setTimeout(done, WAIT_MS))
		if (mine !== latest.current) return
		try {
			const a = await ask(q)
			if (mine !== latest.current) return
			set({ q, total: a.total, hits: a.hits, next: a.next, at: a.hits.length ? 0 : -1, busy: false, error: null })
			if (a.hits.length) show(a.hits[0])
		} catch (error) {
			if (mine === latest.current) set((old) => ({ ...old, busy: false, error }))
		}
	}
	const go = async (by) => {
		if (!s.hits.length || s.busy) return
		let { hits, next } = s
		let at = s.at + by
		if (at >= hits.length && next !== null && next !== undefined && hits.length < s.total) {
			set({ ...s, busy: true })
			try {
				const a = await ask(s.q, next)
				hits = hits.concat(a.hits)
				next = a.hits.length ? a.next : null
			} catch (error) {
				return set({ ...s, busy: false, error })
			}
		}
		at = (at + hits.length) % hits.length
		set({ ...s, hits, next, at, busy: false })
		show(hits[at])
	}
	const jump = (at) => {
		set({ ...s, at })
		show(s.hits[at])
	}
	return { s, start, go, jump }
}

function Search({ search, input }) {
	const { s, start, go } = search
	const [text, setText] = useState('')
	const key = (e) => {
		if (e.key === 'Enter' && !e.isComposing) {
			e.preventDefault()
			go(e.shiftKey ? -1 : 1)
		} else if (e.key === 'Escape' && text) {
			e.stopPropagation()
			setText('')
			start('')
		}
	}
	const word = s.error ? '' : s.busy ? '…' : s.total ? `${s.at + 1} of ${s.total.toLocaleString('en')}` : 'none'
	return html`<div class="log-search" role="search">
		<${Icon} name="search" size=${16} />
		<input ref=${input} type="search" class="input" placeholder="Search, or :123 for a line" aria-label="Search the whole log, or a colon and a line number" data-search value=${text} maxlength="200"
			onInput=${(e) => (setText(e.currentTarget.value), start(e.currentTarget.value))} onKeyDown=${key} />
		${s.q && html`<span class="log-found" role="status">${word}<span class="sr-only"> ${s.busy ? 'searching' : 'hits'}</span></span>`}
		${
			s.total > 0 &&
			html`<${IconButton} icon="down" size=${18} class="up" label="Previous hit" action=${() => go(-1)} /><${IconButton} icon="down" size=${18} label="Next hit" action=${() => go(1)} />`
		}
	</div>`
}

const Hits = ({
	search,
}) => html`<details class="log-hits"><summary>${plural(search.s.total, 'hit')} as a list</summary>
	<ol>${search.s.hits.slice(0, 100).map((h, i) => html`<li key=${h.n}><button type="button" aria-current=${i === search.s.at ? 'true' : undefined} onClick=${() => search.jump(i)}><span class="log-hit-n">${h.n + 1}</span><span class="log-hit-text">${visible(h.text.slice(0, 240))}</span></button></li>`)}</ol>
</details>`

/* The lines that are picked, with what can be done with them. */
function Picked({ session, range, onClear }) {
	const [from, to] = range
	const text = async () => {
		const a = await get('/log.json', { session, from, limit: Math.min(to - from + 1, COPY_MAX) })
		return plainLines(a.lines)
	}
	return html`<div class="log-picked">
		<span>${to > from ? `Lines ${from + 1}–${to + 1}` : `Line ${from + 1}`}</span>
		<${CopyButton} text=${text} label=${to > from ? 'Copy lines' : 'Copy line'} />
		<${CopyButton} text=${() => location.href} label="Copy link" />
		<${IconButton} icon="close" size=${16} label="Clear selection" action=${onClear} />
	</div>`
}

const Toggle = ({ on, set, children }) =>
	html`<button type="button" class="chip" aria-pressed=${on ? 'true' : 'false'} onClick=${() => set(!on)}>${children}</button>`

/* The address names the lines that are picked. */
const pick = (from, to) => navigate(`${location.pathname}#${hashOf([from, to])}`, { replace: true })

/* LogView, kept for as long as the tab is there. */
function useView(box, run, total, onState) {
	const view = useRef(null)
	useEffect(() => {
		const fetchLines = (from, limit, signal) => get('/log.json', { session: run.session, from, limit }, { signal })
		const v = new LogView(box.current, { fetchLines, onState, onPick: pick, stamp })
		view.current = v
		v.grow(total)
		const range = linesOf(route.peek().hash)
		if (range) {
			v.setRange(range)
			v.show(range[0])
		}
		return () => v.stop()
	}, [run.session])
	return view
}

function keys(view, input, search) {
	return (e) => {
		const v = view.current
		if (!v || e.altKey || e.target.closest('input')) return
		if ((e.ctrlKey || e.metaKey) && e.key === 'f') {
			// the browser's own search sees only what is drawn; pressed again, it is the browser's
			e.preventDefault()
			return input.current?.focus()
		}
		if (e.ctrlKey || e.metaKey) return
		if (e.key === 'End') v.setFollow(true)
		else if (e.key === 'n' || e.key === 'N') search.go(e.key === 'n' ? 1 : -1)
	}
}

/** @param {{f: any}} p the run in focus */
export function LogTab({ f }) {
	const { run } = f
	const box = useRef(null)
	const input = useRef(null)
	const [state, setState] = useState({ follow: true, unseen: 0, empty: true, error: null })
	const [wrap, setWrap] = useState(() => matchMedia('(max-width: 599px)').matches)
	const [stamps, setStamps] = useState(false)
	const [range, setRange] = useState(() => linesOf(route.peek().hash))
	const lines = Math.max(f.logLines, run.log_lines ?? 0)
	const view = useView(box, run, lines, setState)
	const search = useSearch(run.session, view)
	const hash = route.value.hash
	const live = connection.value.state === 'live'
	useEffect(() => void view.current?.grow(lines), [lines, run.log_bytes, f.logSeq])
	useEffect(() => void view.current?.setWrap(wrap), [wrap])
	useEffect(() => void view.current?.setStamps(stamps), [stamps])
	useEffect(() => {
		const next = linesOf(hash)
		setRange(next)
		view.current?.setRange(next)
	}, [hash])
	useEffect(() => {
		if (live && state.error) view.current?.retry()
	}, [live])
	const clear = () => navigate(location.pathname, { replace: true, keepScroll: true })
	const base = `?session=${encodeURIComponent(run.session)}`
	const empty = state.empty && !state.error
	return html`<div class="log" onKeyDown=${keys(view, input, search)}>
		<div class="pane-bar log-bar">
			<${Search} search=${search} input=${input} />
			<div class="log-tools">
				<${Toggle} on=${state.follow} set=${(on) => view.current?.setFollow(on)}>Follow<//>
				<${Toggle} on=${wrap} set=${setWrap}>Wrap<//>
				<${Toggle} on=${stamps} set=${setStamps}>Times<//>
				<${Menu} label="Download log" icon="download" items=${[
					{ label: 'Text, without colours', icon: 'download', href: `/log.txt${base}`, download: '' },
					{ label: 'NDJSON, as it was written', icon: 'download', href: `/log.ndjson${base}`, download: '' },
				]} />
			</div>
		</div>
		${search.s.error && html`<${InlineError} error=${search.s.error} title="The log could not be searched" />`}
		${search.s.total > 1 && html`<${Hits} search=${search} />`}
		${state.error && html`<${InlineError} error=${state.error} title="Some lines could not be loaded" retry=${() => view.current?.retry()} />`}
		<div class="log-area">
			<div class="log-scroll" ref=${box} tabindex="0" role="log" aria-live="off" aria-label="Log"></div>
			${
				empty &&
				html`<div class="log-empty"><${EmptyState} icon="log" title=${isActive(run) ? 'Nothing written yet' : 'The log is empty'}>${isActive(run) ? 'Lines appear here as the box writes them.' : 'This run has written nothing.'}<//></div>`
			}
			${!state.follow && state.unseen > 0 && html`<button type="button" class="jump" onClick=${() => view.current?.setFollow(true)}>↓ ${state.unseen.toLocaleString('en')} new</button>`}
			${range && html`<${Picked} session=${run.session} range=${range} onClear=${clear} />`}
		</div>
	</div>`
}
