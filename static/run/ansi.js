/*
 * One line as a program wrote it for a terminal, cut into spans with classes. Of all escape sequences
 * only SGR (colour and weight) has an effect; the others are dropped, and a control, bidi or invisible
 * character that is left shows as what it is. Nothing here carries over to the next line, so that any
 * line can be drawn without those before it.
 */
import { visibleParts } from '../lib/text.js'

/**
 * @typedef {{text: string, cls: string, title?: string}} Span  cls: class names, "" for plain text
 * @typedef {{fg: number, bg: number, bold: boolean, dim: boolean, italic: boolean, under: boolean,
 *   strike: boolean, inverse: boolean}} Style  colours are 0 to 15, -1: the default
 */

/* CSI; OSC, DCS and the other strings with their ends; two-character escapes; CSI of C1. */
const SEQUENCE =
	/\x1b\[([0-?]*)([ -/]*)([@-~])|\x9b([0-?]*)([ -/]*)([@-~])|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])([^\x07\x1b\x90\x98\x9c-\x9f]*)(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\`-~]/g

/* What xterm shows for the 16 colours: 256 colours and true colours become the nearest of them. */
const BASE = [
	[0, 0, 0],
	[205, 0, 0],
	[0, 205, 0],
	[205, 205, 0],
	[0, 0, 238],
	[205, 0, 205],
	[0, 205, 205],
	[229, 229, 229],
	[127, 127, 127],
	[255, 0, 0],
	[0, 255, 0],
	[255, 255, 0],
	[92, 92, 255],
	[255, 0, 255],
	[0, 255, 255],
	[255, 255, 255],
]

/** @returns {Style} */
function plainStyle() {
	return { fg: -1, bg: -1, bold: false, dim: false, italic: false, under: false, strike: false, inverse: false }
}

/** The nearest of the 16 colours. */
export function nearest(r, g, b) {
	let best = 0,
		distance = Infinity
	BASE.forEach(([x, y, z], i) => {
		const d = 2 * (r - x) ** 2 + 4 * (g - y) ** 2 + 3 * (b - z) ** 2
		if (d < distance) {
			best = i
			distance = d
		}
	})
	return best
}

/** A colour of the 256 as one of the 16. */
export function from256(n) {
	if (n < 16) return n
	if (n >= 232) return nearest(8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10)
	const level = (v) => (v ? 55 + v * 40 : 0)
	return nearest(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6))
}

/* The colour that begins at codes[i] (38 or 48 with what follows): [colour or null, codes taken]. */
function extended(codes, i) {
	if (codes[i + 1] === 5) return [codes[i + 2] >= 0 && codes[i + 2] < 256 ? from256(codes[i + 2]) : null, 3]
	if (codes[i + 1] === 2) {
		const rgb = codes.slice(i + 2, i + 5)
		return [rgb.length === 3 && rgb.every((v) => v >= 0 && v < 256) ? nearest(...rgb) : null, 5]
	}
	return [null, 2]
}

/* "38:2::1:2:3" and "38:2:1:2:3" say the same as "38;2;1;2;3". */
function codesOf(params) {
	return params.split(';').flatMap((p) => {
		const parts = p.split(':')
		if (parts.length > 5 && parts[1] === '2') parts.splice(2, 1)
		return parts.length > 1 && parts[0] === '4'
			? [parts[1] === '0' ? 24 : 4]
			: parts.map((v) => (v === '' ? 0 : Number(v)))
	})
}

/** Applies the parameters of one SGR sequence. */
export function applySgr(style, params) {
	const codes = codesOf(params)
	for (let i = 0; i < codes.length; i++) {
		const c = codes[i]
		if (c === 0) Object.assign(style, plainStyle())
		else if (c === 1) style.bold = true
		else if (c === 2) style.dim = true
		else if (c === 3) style.italic = true
		else if (c === 4 || c === 21) style.under = true
		else if (c === 7) style.inverse = true
		else if (c === 9) style.strike = true
		else if (c === 22) style.bold = style.dim = false
		else if (c === 23) style.italic = false
		else if (c === 24) style.under = false
		else if (c === 27) style.inverse = false
		else if (c === 29) style.strike = false
		else if (c >= 30 && c <= 37) style.fg = c - 30
		else if (c >= 90 && c <= 97) style.fg = c - 82
		else if (c === 39) style.fg = -1
		else if (c >= 40 && c <= 47) style.bg = c - 40
		else if (c >= 100 && c <= 107) style.bg = c - 92
		else if (c === 49) style.bg = -1
		else if (c === 38 || c === 48) {
			const [colour, taken] = extended(codes, i)
			if (colour !== null) style[c === 38 ? 'fg' : 'bg'] = colour
			i += taken - 1
		}
	}
}

/* A background decides the text's colour too (run.css): a box cannot write what nobody can read. */
function classOf(s) {
	const out = []
	let { fg, bg } = s
	if (s.inverse) [fg, bg] = [bg, fg < 0 ? 16 : fg]
	if (bg >= 0) out.push('ab' + bg)
	else if (fg >= 0) out.push('af' + fg)
	if (s.bold) out.push('a-bold')
	if (s.dim) out.push('a-dim')
	if (s.italic) out.push('a-italic')
	if (s.under) out.push('a-under')
	if (s.strike) out.push('a-strike')
	return out.join(' ')
}

function push(spans, text, cls) {
	if (!text) return
	if (/^[\t\x20-\x7e]*$/.test(text)) {
		spans.push({ text, cls })
		return
	}
	for (const part of visibleParts(text)) {
		if (typeof part === 'string') spans.push({ text: part, cls })
		else spans.push({ text: part.escape, cls: 'esc', title: 'hidden character' })
	}
}

/**
 * The spans of one line.
 * @param {string} line without its end
 * @returns {Span[]}
 */
export function ansiSpans(line) {
	if (line.endsWith('\r')) line = line.slice(0, -1)
	const spans = [],
		style = plainStyle()
	let from = 0,
		cls = '',
		link = ''
	SEQUENCE.lastIndex = 0
	for (let m; (m = SEQUENCE.exec(line)); from = SEQUENCE.lastIndex) {
		push(spans, line.slice(from, m.index), cls)
		if ((m[3] || m[6]) === 'm' && !(m[2] || m[5])) {
			applySgr(style, m[1] ?? m[4] ?? '')
			cls = classOf(style)
		} else if (m[7] !== undefined && m[7].startsWith('8;')) {
			/* a link: its text is shown as text, and where it leads to behind it */
			const url = m[7].slice(m[7].indexOf(';', 2) + 1)
			if (!url && link) push(spans, ` <${link}>`, 'a-dim')
			link = url
		}
	}
	push(spans, line.slice(from), cls)
	return spans
}

/** The line without its escape sequences, as it is copied. */
export function ansiText(line) {
	return (line.endsWith('\r') ? line.slice(0, -1) : line).replace(SEQUENCE, '')
}
