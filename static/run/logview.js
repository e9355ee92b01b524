/*
 * The log on the screen: plain DOM, a window of rows that is moved and filled anew as one scrolls, so
 * that a log of any length costs what is visible. It follows the end while one is at the end, and never
 * moves what one reads. The places of lines come from LogLines; search and buttons are log.js's.
 */
import { LogLines } from './loglines.js'
import { fillText } from './logrow.js'

/** Height of a screen row, as in run.css. */
export const ROW = 20
/* Rows beyond what is seen, above and below: a small step of scrolling finds them there. */
const OVERSCAN = 4
/* Browsers clamp elements somewhere above 17 million pixels; longer logs scroll in coarser steps. */
const TALLEST = 16_000_000

/**
 * @typedef {{follow: boolean, unseen: number, empty: boolean, error: Error|null}} LogState
 * @typedef {{fetchLines: ConstructorParameters<typeof LogLines>[0], onState: (s: LogState) => void,
 *   onPick: (from: number, to: number) => void, stamp: (ms: number|null|undefined) => string}} LogOptions
 */

export class LogView {
	/**
	 * @param {HTMLElement} box the scrolling element; it is filled here
	 * @param {LogOptions} options
	 */
	constructor(box, options) {
		this.box = box
		this.options = options
		this.lines = new LogLines(options.fetchLines, (what) => this.came(what))
		this.space = document.createElement('div')
		this.space.className = 'log-space'
		/* rows follow one another in it, and one transform places them all */
		this.window = document.createElement('div')
		this.window.className = 'log-window'
		this.space.append(this.window)
		box.replaceChildren(this.space)
		/** @type {Map<number, HTMLElement>} rows on the screen by line */
		this.shown = new Map()
		/** @type {Map<HTMLElement, string>} what rows are filled with */
		this.filled = new Map()
		this.follow = true
		this.seen = 0
		this.goal = null
		this.top = null
		this.wide = 0
		this.wrap = false
		this.stamps = false
		this.range = null
		this.query = null
		this.error = null
		this.listen()
	}

	listen() {
		this.stopper = new AbortController()
		const on = (type, f, more) => this.box.addEventListener(type, f, { signal: this.stopper.signal, ...more })
		on('scroll', () => this.scrolled(), { passive: true })
		on('click', (e) => this.clicked(e))
		this.sizes = new ResizeObserver(() => this.resized())
		this.sizes.observe(this.box)
	}

	stop() {
		this.stopper.abort()
		this.sizes.disconnect()
		this.lines.stop()
		cancelAnimationFrame(this.frame)
	}

	/** The log has this many lines now, or more: fetches the new ones when they are looked at. */
	grow(total) {
		this.lines.touched()
		this.lines.grow(total)
		this.draw()
	}

	retry() {
		this.error = null
		this.lines.retry()
		this.draw()
	}

	/* Something has come: what one reads stays where it is, whatever the lines above it turned out to take. */
	came({ error }) {
		this.error = error ?? null
		this.anchored(() => {})
		this.draw()
	}

	/* Changes the places of lines and puts what was at the top there again. */
	anchored(change) {
		change()
		if (this.follow || !this.top || this.goal !== null) return
		const to = (this.lines.rowOf(this.top.line) * ROW + this.top.inside) * this.scale()
		if (Math.abs(to - this.box.scrollTop) < 1) return
		this.layout()
		this.scrollTo(to)
	}

	/* Figures of the longest line number, at least five: few logs grow past that while one reads. */
	digits() {
		return Math.max(5, String(this.lines.total).length)
	}

	/* Makes the room that all lines take. */
	layout() {
		if (this.digits() !== this.wide) {
			this.wide = this.digits()
			this.space.style.setProperty('--digits', String(this.wide))
			this.filled.clear()
			this.measure()
		}
		this.space.style.height = `${Math.max(Math.min(this.lines.rows() * ROW, TALLEST), 1)}px`
	}

	scale() {
		return Math.min(1, TALLEST / Math.max(1, this.lines.rows() * ROW))
	}

	draw() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = undefined
			this.render()
		})
	}

	resized() {
		this.anchored(() => this.measure())
		this.draw()
	}

	measure() {
		if (!this.wrap) return this.lines.wrapAt(0)
		const probe = document.createElement('span')
		probe.className = 'log-probe'
		probe.textContent = '0'.repeat(100)
		this.space.append(probe)
		const cell = probe.getBoundingClientRect().width / 100
		probe.remove()
		// as run.css has it: the number with its padding, the time, the end
		const side = cell * (this.digits() + (this.stamps ? 13 : 0)) + 22 + (this.stamps ? 6 : 0) + 16
		const columns = Math.max(10, Math.floor((this.box.clientWidth - side) / (cell || 8)))
		this.lines.wrapAt(columns)
	}

	setWrap(on) {
		this.wrap = on
		this.box.classList.toggle('wraps', on)
		this.anchored(() => this.measure())
		this.refresh()
	}

	setStamps(on) {
		this.stamps = on
		this.box.classList.toggle('stamped', on)
		this.anchored(() => this.measure())
		this.refresh()
	}

	/** Marks what is searched for; null: nothing. */
	setQuery(query) {
		this.query = query
		this.refresh()
	}

	/** Marks the lines from..to; null: none. */
	setRange(range) {
		this.range = range
		this.refresh()
	}

	/** Fills all rows anew. */
	refresh() {
		this.filled.clear()
		this.draw()
	}

	setFollow(on) {
		this.follow = on
		this.draw()
	}

	/** Scrolls a line into the upper third. */
	show(n) {
		this.follow = false
		this.seen = Math.max(this.seen, this.lines.total)
		this.goal = n
		this.draw()
	}

	scrollTo(top) {
		this.box.scrollTop = top
		this.own = this.box.scrollTop
	}

	/* One who scrolls away from the end reads: the end goes on without them. */
	scrolled() {
		// only then have numbers to hold their place: that of each row costs something at every frame
		this.box.classList.toggle('sideways', this.box.scrollLeft > 0)
		const end = this.box.scrollHeight - this.box.clientHeight
		if (Math.abs(this.box.scrollTop - (this.own ?? -1)) > 1) this.follow = this.box.scrollTop >= end - ROW
		this.own = undefined
		this.draw()
	}

	render() {
		const { lines, box } = this,
			height = box.clientHeight
		if (!height) return
		const total = lines.rows() * ROW
		const scale = this.scale()
		this.layout()
		if (this.goal !== null)
			this.scrollTo((lines.rowOf(Math.min(this.goal, Math.max(lines.total - 1, 0))) * ROW - height / 3) * scale)
		else if (this.follow) this.scrollTo(box.scrollHeight - height)
		this.goal = null
		const top =
			scale < 1 ? (box.scrollTop / Math.max(1, box.scrollHeight - height)) * (total - height) : box.scrollTop
		const beyond = this.beyond(top, height)
		const first = Math.max(0, lines.lineAt(top / ROW) - beyond)
		const last = Math.min(lines.total, lines.lineAt((top + height) / ROW) + 1 + beyond)
		const line = lines.lineAt(top / ROW)
		this.top = { line, inside: top - lines.rowOf(line) * ROW }
		lines.want(first, last)
		this.window.style.transform = `translateY(${lines.rowOf(first) * ROW + box.scrollTop - top}px)`
		this.arrange(first, last)
		for (let n = first; n < last; n++) this.fillOnce(this.shown.get(n), n)
		if (this.follow) this.seen = lines.total
		this.tell()
	}

	/* Who flies over the log finds no row of the last step in the next one: those beyond come when it is over. */
	beyond(top, height) {
		const flies = Math.abs(top - (this.was ?? top)) > height
		this.was = top
		if (flies) this.draw()
		return flies ? 0 : OVERSCAN
	}

	tell() {
		const state = {
			follow: this.follow,
			unseen: Math.max(0, this.lines.total - this.seen),
			empty: this.lines.total === 0,
			error: this.error,
		}
		if (JSON.stringify(state) !== JSON.stringify(this.told)) this.options.onState(state)
		this.told = { ...state }
	}

	/* Rows for the lines from..to, in their order. What stays is not touched, what is left over is taken again. */
	arrange(from, to) {
		const spare = []
		for (const [n, row] of this.shown)
			if (n < from || n >= to) {
				this.shown.delete(n)
				spare.push(row)
			}
		let next = this.window.firstChild
		for (let n = from; n < to; n++) {
			const row = this.shown.get(n) ?? spare.shift() ?? this.newRow()
			this.shown.set(n, row)
			if (row === next) next = row.nextSibling
			else this.window.insertBefore(row, next)
		}
		for (const row of spare) {
			row.remove()
			this.filled.delete(row)
		}
	}

	newRow() {
		const row = document.createElement('div')
		const [number, text] = [document.createElement('span'), document.createElement('span')]
		number.className = 'log-n'
		number.append('')
		text.className = 'log-text'
		row.append(number, text)
		return row
	}

	fillOnce(row, n) {
		const line = this.lines.line(n)
		const key = `${n} ${line ? line.text.length : '-'} ${this.lines.opened.has(n)}`
		if (this.filled.get(row) === key) return
		this.filled.set(row, key)
		this.fill(row, n, line)
	}

	fill(row, n, line) {
		const [number, text] = row.children
		const picked = this.range && n >= this.range[0] && n <= this.range[1]
		const name = `log-row${line ? '' : ' waits'}${line?.stream === 'stderr' ? ' err' : ''}${picked ? ' picked' : ''}`
		if (row.className !== name) row.className = name
		number.firstChild.data = String(n + 1).padStart(this.wide)
		if (this.stamps) row.dataset.stamp = line ? this.options.stamp(line.ms) : ''
		if (line) fillText(text, line, this.lines.shown(line), this.query)
		else text.replaceChildren()
	}

	clicked(e) {
		const more = e.target.closest('[data-open]')
		if (more) {
			this.anchored(() => this.lines.open(Number(more.dataset.open)))
			return this.refresh()
		}
		const number = e.target.closest('.log-n')
		if (!number) return
		const n = Number(number.textContent) - 1
		const from = e.shiftKey && this.range ? Math.min(this.range[0], n) : n
		const to = e.shiftKey && this.range ? Math.max(this.range[1], n) : n
		this.setRange([from, to])
		this.options.onPick(from, to)
	}
}
