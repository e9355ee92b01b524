/*
 * What an agent writes, as vnodes. marked's lexer only says where things begin and end; nothing of the
 * text ever becomes HTML. Links lead to http, https and mailto and say where to; pictures are never
 * fetched; raw HTML is text.
 */
import { h } from '../vendor/preact.js'
import { Lexer } from '../vendor/marked.js'
import { visible } from './visible.js'
import { CodeBlock } from './code.js'

/** Longer texts are shown as they are: nobody reads them as prose. */
const LONGEST = 64 * 1024
/* The lexer's time grows with the square of what could be emphasis in one paragraph. */
const PARAGRAPH = 8 * 1024,
	MARKS = 400
/* Quotes and lists nested deeper than this are text. */
const DEEPEST = 12

const ENTITIES = {
	amp: '&',
	lt: '<',
	gt: '>',
	quot: '"',
	apos: "'",
	nbsp: '\u00a0',
	copy: '©',
	reg: '®',
	hellip: '…',
	mdash: '—',
	ndash: '–',
	larr: '←',
	rarr: '→',
	times: '×',
	middot: '·',
	bull: '•',
	deg: '°',
	laquo: '«',
	raquo: '»',
}

/** Character references as characters; unknown ones stay. */
export function decodeEntities(s) {
	return s.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (all, dec, hex, name) => {
		if (name) return ENTITIES[name] ?? all
		const code = dec ? Number(dec) : parseInt(hex, 16)
		return code > 0 && code < 0x110000 && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : '\ufffd'
	})
}

/**
 * Where a link may lead.
 * @returns {URL | null} null: nowhere
 */
export function safeUrl(href) {
	let url
	try {
		url = new URL(decodeEntities(href))
	} catch {
		return null
	}
	return ['http:', 'https:', 'mailto:'].includes(url.protocol) && !url.username && !url.password ? url : null
}

function link(token, ctx) {
	const url = safeUrl(token.href)
	if (!url) return visible(token.raw)
	const host = url.protocol === 'mailto:' ? url.pathname : url.host
	/* a link that is its own text says already where it leads */
	const same = token.text.replace(/^https?:\/\//, '').startsWith(host)
	return h(
		'a',
		{ href: url.href, rel: 'noopener noreferrer nofollow', target: '_blank', class: 'md-link' },
		inline(token.tokens, ctx),
		same ? null : h('span', { class: 'md-host' }, ' (', visible(host), ')'),
		h('span', { class: 'md-out', 'aria-hidden': 'true' }, '\u2197'),
		h('span', { class: 'sr-only' }, ' opens in a new tab'),
	)
}

function image(token) {
	const url = safeUrl(token.href)
	if (!url || url.protocol === 'mailto:') return visible(token.raw)
	return h(
		'a',
		{ href: url.href, rel: 'noopener noreferrer nofollow', target: '_blank', class: 'md-link md-image' },
		'Picture: ',
		visible(decodeEntities(token.text) || 'no description'),
		h('span', { class: 'md-host' }, ' (', visible(url.host), ', not loaded)'),
	)
}

function inlineOne(t, ctx) {
	switch (t.type) {
		case 'text':
			return t.tokens ? inline(t.tokens, ctx) : visible(decodeEntities(t.text))
		case 'escape':
			return visible(decodeEntities(t.text))
		case 'strong':
			return h('strong', null, inline(t.tokens, ctx))
		case 'em':
			return h('em', null, inline(t.tokens, ctx))
		case 'del':
			return h('del', null, inline(t.tokens, ctx))
		case 'codespan':
			return h('code', null, visible(t.text))
		case 'br':
			return h('br', null)
		case 'link':
			return link(t, ctx)
		case 'image':
			return image(t)
		case 'checkbox':
			return null
		default:
			return visible(t.raw)
	}
}

function inline(tokens, ctx) {
	return (tokens ?? []).map((t) => inlineOne(t, ctx))
}

const alignOf = (t, i) => (t.align[i] ? `md-${t.align[i]}` : null)

function table(t, ctx) {
	const cell = (kind) => (c, i) =>
		h(
			kind,
			kind === 'th' ? { class: alignOf(t, i), scope: 'col' } : { class: alignOf(t, i) },
			inline(c.tokens, ctx),
		)
	return h(
		'div',
		{ class: 'md-table', tabindex: 0, role: 'group', 'aria-label': 'Table' },
		h(
			'table',
			null,
			h('thead', null, h('tr', null, t.header.map(cell('th')))),
			h(
				'tbody',
				null,
				t.rows.map((row) => h('tr', null, row.map(cell('td')))),
			),
		),
	)
}

function listItem(item, ctx) {
	const body = blocks(item.tokens, ctx)
	if (!item.task) return h('li', null, body)
	return h(
		'li',
		{ class: 'md-task' },
		h('span', { class: `md-box${item.checked ? ' on' : ''}`, 'aria-hidden': 'true' }, item.checked ? '\u2713' : ''),
		h('span', { class: 'sr-only' }, item.checked ? 'Done: ' : 'To do: '),
		h('div', null, body),
	)
}

/* Headings begin below the page's own and never skip a level, whatever the text does. */
function heading(t, ctx) {
	ctx.level = Math.min(t.depth, (ctx.level ?? 0) + 1)
	return h(`h${Math.min(ctx.level + 2, 6)}`, { class: `md-h md-h${Math.min(t.depth, 4)}` }, inline(t.tokens, ctx))
}

function block(t, ctx) {
	switch (t.type) {
		case 'space':
		case 'def':
			return null
		case 'heading':
			return heading(t, ctx)
		case 'paragraph':
			return h('p', null, inline(t.tokens, ctx))
		case 'text':
			return h('span', { class: 'md-text' }, t.tokens ? inline(t.tokens, ctx) : visible(decodeEntities(t.text)))
		case 'code':
			return h(CodeBlock, { text: t.text, lang: (t.lang ?? '').split(/\s/)[0].slice(0, 24) })
		case 'blockquote':
			return h('blockquote', null, blocks(t.tokens, ctx))
		case 'hr':
			return h('hr', null)
		case 'list':
			return h(
				t.ordered ? 'ol' : 'ul',
				t.ordered && t.start !== 1 ? { start: t.start } : null, // null for start would be 0
				t.items.map((i) => listItem(i, ctx)),
			)
		case 'table':
			return table(t, ctx)
		case 'checkbox':
			return null
		default:
			return h('p', null, inlineOne(t, ctx))
	}
}

function blocks(tokens, ctx) {
	if (ctx.depth >= DEEPEST) return tokens.map((t) => visible(t.raw))
	ctx.depth++
	const out = (tokens ?? []).map((t) => block(t, ctx))
	ctx.depth--
	return out
}

/* What would take the lexer long, or nest it thousands deep, is shown as it is. */
function tooMuch(text) {
	if (text.length > LONGEST || /[[*_~!]{200}/.test(text) || /^(?:[ \t]?(?:>|[-*+]|\d{1,9}[.)])){40}/m.test(text))
		return true
	return text.split(/\n\s*\n/).some((p) => p.length > PARAGRAPH && (p.match(/[[*_~`<]/g) ?? []).length > MARKS)
}

/* What may mean more than it says: a character or the beginning of a line. Most of what agents say has none of it. */
const MARKUP = /[*_`~[\]<>#|\\&=@\t\r]|:\/\/|www\.|^(?: |[-+]|\d+[.)])| $/m

/**
 * Markdown as vnodes. Text without any becomes paragraphs: the lexer, whose expressions a browser compiles when they are
 * first used, takes longer for one line than all the rest of a page.
 * @param {string} text
 */
export function markdown(text) {
	if (text.length <= LONGEST && !MARKUP.test(text))
		return text.split(/\n{2,}/).map((p) => p.trim() && h('p', null, visible(p.trim())))
	if (!tooMuch(text)) {
		try {
			return blocks(new Lexer({ gfm: true, breaks: false }).lex(text), { depth: 0 })
		} catch {
			/* what the lexer cannot take is shown as it is */
		}
	}
	return h('pre', { class: 'md-plain' }, visible(text))
}
