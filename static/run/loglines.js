/*
 * The lines of a log as far as they are here: chunks of 500 lines, fetched when they are looked at and the next one
 * while one scrolls towards it, the longest unused ones dropped. It also knows how many screen rows each line takes, so that any line
 * has a place before it is here: one row a line, or with wrapping what its characters need (a line that
 * is not here counts as one row and is corrected when it comes). Knows nothing of the DOM.
 */
import { ansiSpans, ansiText } from './ansi.js'

/**
 * @typedef {{n: number, stream: "stdout"|"stderr", text: string, ms?: number|null, cut?: boolean}} LogLine
 * @typedef {{lines: LogLine[], total_lines: number, next: number}} LogAnswer
 * @typedef {{lines: LogLine[], next: number, dry: number, rows: Uint32Array|null, used: number}} Chunk
 *   next: the line from which it is read on (the last one may not have ended); dry: how long the log was
 *   when it had no more lines to give; rows: screen rows before each line
 */

export const CHUNK = 500
const KEPT = 40
const AT_ONCE = 2
/** Behind a line of which the site sends the beginning alone. */
export const CUT_NOTE = ' … cut here: the download has it all'
/** Longer lines are cut until they are opened. */
export const LINE_CAP = 2000

/* Wide characters take two cells: CJK, Hangul, full-width forms, emoji. */
const WIDE =
	/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Cells of a terminal that a text takes. */
export function cellsOf(text) {
	if (/^[\x20-\x7e]*$/.test(text)) return text.length
	let cells = 0
	for (const c of text) cells += c === '\t' ? 8 - (cells % 8) : WIDE.test(c) ? 2 : 1
	return cells
}

export class LogLines {
	/**
	 * @param {(from: number, limit: number, signal: AbortSignal) => Promise<LogAnswer>} fetchLines
	 * @param {(what: {error?: Error}) => void} changed lines have come, or could not be fetched
	 */
	constructor(fetchLines, changed) {
		this.fetchLines = fetchLines
		this.changed = changed
		this.total = 0
		this.columns = 0
		/** @type {Map<number, Chunk>} */
		this.chunks = new Map()
		/** @type {Map<number, AbortController>} */
		this.pending = new Map()
		this.wanted = []
		/** @type {number[]|null} the chunks that were looked at last */
		this.looked = null
		this.ahead = 0
		this.opened = new Set()
		this.stale = new Set()
		this.rowsBefore = null
		this.failed = false
	}

	/** @returns {LogLine | undefined} */
	line(n) {
		const chunk = this.chunks.get(Math.floor(n / CHUNK))
		return chunk?.lines[n % CHUNK]
	}

	/** There are at least this many lines. */
	grow(total) {
		if (total > this.total) {
			this.total = total
			this.rowsBefore = null
		}
	}

	/** Fetches what of [from, to) is not here; older wishes are forgotten. */
	want(from, to) {
		const first = Math.floor(Math.max(from, 0) / CHUNK)
		const last = Math.floor(Math.max(Math.min(to, this.total) - 1, 0) / CHUNK)
		this.wanted = []
		for (let i = last; i >= first; i--) {
			const chunk = this.chunks.get(i)
			if (chunk) chunk.used = performance.now()
			if (this.missing(i)) this.wanted.push(i)
		}
		const next = this.next(first, last)
		if (next >= 0 && next * CHUNK < this.total && this.missing(next)) this.wanted.push(next)
		for (const [i, abort] of this.pending) if (i < first - 1 || i > last + 1) abort.abort()
		this.pump()
	}

	/* The chunk that comes into sight after those, the way one scrolls. */
	next(first, last) {
		const [a, b] = this.looked ?? [first, last]
		if (first < a || last < b) this.ahead = -1
		else if (first > a || last > b) this.ahead = 1
		this.looked = [first, last]
		return this.ahead < 0 ? first - 1 : this.ahead > 0 ? last + 1 : -1
	}

	missing(i) {
		const chunk = this.chunks.get(i)
		if (!chunk) return true
		if (chunk.next >= (i + 1) * CHUNK) return false // whole, and its last line has ended
		if (this.stale.has(i)) return true
		return i * CHUNK + chunk.lines.length < Math.min((i + 1) * CHUNK, this.total) && chunk.dry < this.total
	}

	/** The log has been written to: the last line that is here may have gone on. */
	touched() {
		this.stale = new Set([Math.floor(Math.max(this.total - 1, 0) / CHUNK)])
	}

	pump() {
		while (!this.failed && this.wanted.length && this.pending.size < AT_ONCE) {
			const i = this.wanted.shift()
			if (!this.pending.has(i) && this.missing(i)) this.load(i)
		}
	}

	async load(i) {
		const abort = new AbortController(),
			have = this.chunks.get(i)
		const from = have ? have.next : i * CHUNK
		this.pending.set(i, abort)
		this.stale.delete(i)
		try {
			const answer = await this.fetchLines(from, (i + 1) * CHUNK - from, abort.signal)
			this.take(i, from, answer)
			this.changed({})
		} catch (error) {
			if (!abort.signal.aborted) {
				this.failed = true
				this.changed({ error })
			}
		} finally {
			this.pending.delete(i)
			this.pump()
		}
	}

	/** Tries again after a failure. */
	retry() {
		this.failed = false
	}

	take(i, from, answer) {
		const chunk = this.chunks.get(i) ?? { lines: [], next: from, dry: 0, rows: null, used: 0 }
		chunk.lines.length = Math.min(chunk.lines.length, from - i * CHUNK)
		for (const line of answer.lines)
			if (line.n >= i * CHUNK && line.n < (i + 1) * CHUNK) chunk.lines[line.n - i * CHUNK] = line
		chunk.next = Math.max(from, answer.next)
		chunk.rows = null
		chunk.used = performance.now()
		this.chunks.set(i, chunk)
		this.grow(answer.total_lines)
		if (!answer.lines.length) chunk.dry = this.total
		this.rowsBefore = null
		if (this.chunks.size > KEPT) {
			const oldest = [...this.chunks].reduce((a, b) => (a[1].used <= b[1].used ? a : b))
			this.chunks.delete(oldest[0])
		}
	}

	/** 0: no wrapping; otherwise lines break after this many cells. */
	wrapAt(columns) {
		if (columns === this.columns) return
		this.columns = columns
		this.rowsBefore = null
		for (const chunk of this.chunks.values()) chunk.rows = null
	}

	/** Shows the whole of a long line. */
	open(n) {
		this.opened.add(n)
		const chunk = this.chunks.get(Math.floor(n / CHUNK))
		if (chunk) chunk.rows = null
		this.rowsBefore = null
	}

	/** What of a line is drawn. */
	shown(line) {
		return this.opened.has(line.n) || line.text.length <= LINE_CAP ? line.text : line.text.slice(0, LINE_CAP)
	}

	height(line) {
		if (!this.columns || !line) return 1
		const text = this.shown(line)
		const plain = /[^\x20-\x7e]/.test(text)
			? ansiSpans(text)
					.map((s) => s.text)
					.join('')
			: text
		/* the button that opens a long line stands behind it */
		const cells = cellsOf(plain) + (text.length < line.text.length ? 16 : line.cut ? CUT_NOTE.length : 0)
		return Math.max(1, Math.ceil(cells / this.columns))
	}

	/* Rows before each line of a chunk, and of the whole chunk at its end. */
	chunkRows(i) {
		const chunk = this.chunks.get(i)
		if (!chunk) return null
		if (!chunk.rows) {
			const n = Math.min(CHUNK, this.total - i * CHUNK)
			chunk.rows = new Uint32Array(n + 1)
			for (let k = 0; k < n; k++) chunk.rows[k + 1] = chunk.rows[k] + this.height(chunk.lines[k])
		} else if (chunk.rows.length - 1 < Math.min(CHUNK, this.total - i * CHUNK)) {
			chunk.rows = null
			return this.chunkRows(i)
		}
		return chunk.rows
	}

	prefix() {
		if (!this.rowsBefore) {
			const n = Math.ceil(this.total / CHUNK)
			this.rowsBefore = new Float64Array(n + 1)
			for (let i = 0; i < n; i++) {
				const rows = this.columns ? this.chunkRows(i) : null
				const size = Math.min(CHUNK, this.total - i * CHUNK)
				this.rowsBefore[i + 1] = this.rowsBefore[i] + (rows ? rows[size] : size)
			}
		}
		return this.rowsBefore
	}

	/** Screen rows of the whole log. */
	rows() {
		const prefix = this.prefix()
		return prefix[prefix.length - 1]
	}

	/** Screen rows before line n. */
	rowOf(n) {
		if (!this.columns || n >= this.total) return this.columns ? this.rows() : Math.min(n, this.total)
		const i = Math.floor(n / CHUNK),
			rows = this.chunkRows(i)
		return this.prefix()[i] + (rows ? rows[n % CHUNK] : n % CHUNK)
	}

	/** The line that a screen row belongs to. */
	lineAt(row) {
		if (!this.columns) return Math.max(0, Math.min(Math.floor(row), this.total - 1))
		const prefix = this.prefix()
		const i = Math.max(0, upper(prefix, row) - 1),
			rows = this.chunkRows(i)
		const inside = rows ? Math.max(0, upper(rows, row - prefix[i]) - 1) : Math.floor(row - prefix[i])
		return Math.max(0, Math.min(i * CHUNK + inside, this.total - 1))
	}

	stop() {
		this.failed = true
		for (const abort of this.pending.values()) abort.abort()
	}
}

/* How many of the ascending numbers are not above v. */
function upper(list, v) {
	let low = 0,
		high = list.length
	while (low < high) {
		const mid = (low + high) >> 1
		if (list[mid] <= v) low = mid + 1
		else high = mid
	}
	return Math.min(low, list.length - 1)
}

/** Lines as text for the clipboard. */
export function plainLines(lines) {
	return lines.map((l) => ansiText(l.text)).join('\n') + '\n'
}
