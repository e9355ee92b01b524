/*
 * The text of one row of the log: spans with their colours, what is searched for marked, and what stands behind a line
 * of which not all is shown. A row is filled again and again as one scrolls, so it keeps what nodes it can.
 */
import { ansiSpans } from './ansi.js'
import { CUT_NOTE } from './loglines.js'

/* A row draws this many pieces at most: colours end there, text does not. */
const PIECES = 12

/** @typedef {import('./ansi.js').Span} Span @typedef {import('./loglines.js').LogLine} LogLine */

/**
 * @param {HTMLElement} element @param {LogLine} line
 * @param {string} shown what of its text is shown @param {string|null} query what is marked in it
 */
export function fillText(element, line, shown, query) {
	const spans = ansiSpans(shown)
	const rest = spans.splice(PIECES)
	if (rest.length) spans.push({ text: rest.map((s) => s.text).join(''), cls: '' })
	const more = after(line, shown)
	if (query || more) element.replaceChildren(...spans.flatMap((s) => marked(s, query)), ...(more ? [more] : []))
	else put(element, spans)
}

/* Makes the spans an element's content with as few changes as can be: the lines of a log are much alike, and a node
 * that stays costs no style and little layout. */
function put(element, spans) {
	let node = element.firstChild
	for (const span of spans) {
		if (!node || !isLike(node, span)) {
			element.insertBefore(span.cls ? spanNode(span) : document.createTextNode(span.text), node)
			continue
		}
		if (span.cls && node.className !== span.cls) node.className = span.cls
		const text = span.cls ? node.firstChild : node
		if (text.data !== span.text) text.data = span.text
		node = node.nextSibling
	}
	while (node) {
		const next = node.nextSibling
		node.remove()
		node = next
	}
}

/* Whether a node can become the span's: a text, or an element with a text alone in it. */
const isLike = (node, span) =>
	span.cls
		? node.nodeName === 'SPAN' && node.childNodes.length === 1 && node.firstChild.nodeName === '#text' && node.title === (span.title ?? '')
		: node.nodeName === '#text'

function spanNode({ text, cls, title }) {
	const e = document.createElement('span')
	e.className = cls
	if (title) e.title = title
	e.append(text)
	return e
}

/* The button that opens a long line, or the note behind one that the site has cut; null behind any other. */
function after(line, shown) {
	if (shown.length < line.text.length) {
		const more = document.createElement('button')
		more.type = 'button'
		more.className = 'log-more'
		more.textContent = `… ${(line.text.length - shown.length).toLocaleString()} more`
		more.dataset.open = String(line.n)
		return more
	}
	return line.cut ? spanNode({ text: CUT_NOTE, cls: 'log-cut' }) : null
}

/* One span as nodes, with what is searched for marked. */
function marked(span, query) {
	const parts = query ? cut(span.text, query) : [span.text]
	const nodes = parts.map((part, i) => {
		if (i % 2 === 0) return document.createTextNode(part)
		const mark = document.createElement('mark')
		mark.textContent = part
		return mark
	})
	if (!span.cls) return nodes
	const e = spanNode(span)
	e.replaceChildren(...nodes)
	return [e]
}

/* Text between hits at even places, hits at odd ones; as the server searches: any case unless q has a capital. */
function cut(text, q) {
	const fold = q !== q.toLowerCase() ? (s) => s : (s) => s.toLowerCase()
	const hay = fold(text),
		needle = fold(q),
		out = []
	let at = 0
	/* folding may change a text's length: then nothing is marked rather than the wrong thing */
	if (!needle || hay.length !== text.length) return [text]
	for (let i; (i = hay.indexOf(needle, at)) >= 0 && out.length < 20; at = i + needle.length)
		out.push(text.slice(at, i), text.slice(i, i + needle.length))
	out.push(text.slice(at))
	return out
}
