/*
 * Text of agents, repositories and boxes is hostile. Markup in it is inert, since everything becomes text nodes;
 * what is left are characters that cannot be seen or that turn the reading direction. Those are shown as escapes.
 */

/* Controls but tab and newline; zero-width and bidi marks, embeddings, overrides and isolates; BOM; the tag block. */
const HIDDEN =
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu
/* a joiner between two emoji is how those are written, and no trick */
const JOINED = /\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?\u200d(?=\p{Extended_Pictographic})/gu

/** Whether all of it can be seen: most text is ASCII, and no more need be asked. @param {string} text */
export const isPlain = (text) => /^[\t\n\x20-\x7e]*$/.test(text)

/** U+202E for what that is. @param {string} c */
export const escapeName = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`

/**
 * The text in parts: plain strings, and {escape} for a character that is to be shown by its number.
 * @param {string} text @returns {(string|{escape: string})[]}
 */
export function visibleParts(text) {
	text = text.replace(/\r\n/g, '\n')
	const kept = new Set()
	for (const m of text.matchAll(JOINED)) kept.add(m.index + m[0].length - 1)
	const parts = []
	let from = 0
	for (const m of text.matchAll(HIDDEN)) {
		if (kept.has(m.index)) continue
		if (m.index > from) parts.push(text.slice(from, m.index))
		parts.push({ escape: escapeName(m[0]) })
		from = m.index + m[0].length
	}
	if (from < text.length) parts.push(text.slice(from))
	return parts
}

/** The same as one string: "‹U+202E›" where a hidden character stands. For titles and labels. @param {string} text */
export const visible = (text) =>
	visibleParts(text ?? '')
		.map((p) => (typeof p === 'string' ? p : `‹${p.escape}›`))
		.join('')

/** One line of at most n characters. @param {string} text @param {number} n */
export function oneLine(text, n = 160) {
	const line = (text ?? '').replace(/\s+/g, ' ').trim()
	if (line.length <= n) return line
	return `${Array.from(line.slice(0, n + 1)).slice(0, -1).join('')}…`
}

/** What the server says, as a sentence; names of fields at its beginning stay as they are. @param {string} text */
export function sentence(text) {
	const t = /^[a-z]+[_.:[]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
	return /[\p{L}\p{N})”]$/u.test(t) ? `${t}.` : t
}

/** "1 run", "3 runs". @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`
