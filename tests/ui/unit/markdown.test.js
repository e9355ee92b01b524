import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibleParts } from '../../../build/modules/lib/text.js'
import { decodeEntities, markdown, safeUrl } from '../../../build/modules/run/markdown.js'

/* The vnodes as a tree of names: enough to see that nothing else comes out. */
function tree(v) {
	if (v === null || v === undefined || v === false) return ''
	if (Array.isArray(v)) return v.map(tree).join('')
	if (typeof v !== 'object') return String(v)
	if (v.type.name === 'Foreign') return visibleParts(v.props.text).map((p) => (typeof p === 'string' ? p : `‹${p.escape}›`)).join('')
	const name = typeof v.type === 'function' ? v.type.name : v.type
	const href = v.props.href ? ` href=${v.props.href}` : ''
	return `<${name}${href}>${name === 'CodeBlock' ? v.props.text : tree(v.props.children)}</>`
}
const all = (v, f) => {
	if (Array.isArray(v)) v.forEach((x) => all(x, f))
	else if (v && typeof v === 'object') {
		f(v)
		all(v.props.children, f)
	}
}

test('blocks and inlines', () => {
	assert.equal(tree(markdown('a **b** _c_ `d` ~~e~~')), '<p>a <strong>b</> <em>c</> <code>d</> <del>e</></>')
	assert.match(tree(markdown('```sh\nx < y\n```')), /^<CodeBlock>x < y<\/>$/)
	assert.match(tree(markdown('| a |\n|---|\n| 1 |')), /<table><thead><tr><th>a<\/><\/><\/><tbody><tr><td>1/)
	assert.match(tree(markdown('- [x] done\n- [ ] todo')), /Done: .*done.*To do: .*todo/)
	assert.match(tree(markdown('> q')), /<blockquote><p>q/)
	assert.match(tree(markdown('2. a\n3. b')), /^<ol><li>/)
	const [two, one] = ['2. a\n3. b', '1. a'].map((text) => [markdown(text)].flat(2).find((v) => v?.type === 'ol'))
	assert.equal(two.props.start, 2)
	assert.ok(!('start' in one.props), 'an empty start counts from 0')
})

test('headings never skip a level', () => {
	assert.match(tree(markdown('#### deep\n\n###### deeper\n\n# top')), /^<h3>deep<\/><h4>deeper<\/><h3>top<\/>$/)
})

test('HTML is text', () => {
	const out = markdown(
		'<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\na <b onclick=x>b</b>\n\n<!-- c -->',
	)
	all(out, (v) => assert.ok(!['script', 'img', 'b'].includes(v.type), v.type))
	assert.match(tree(out), /<script>alert\(1\)<\/script>/)
	all(out, (v) => assert.ok(!Object.keys(v.props).some((k) => k.startsWith('on') || k === 'dangerouslySetInnerHTML')))
})

test('links lead to http, https and mailto, and say where', () => {
	for (const bad of [
		'javascript:alert(1)',
		'JaVaScRiPt:alert(1)',
		'data:text/html,x',
		'vbscript:x',
		'file:///etc/passwd',
		'//evil.example/x',
		'/logout',
		'java&#115;cript:alert(1)',
		'blob:https://x/y',
		'https://user:pw@evil.example/',
	]) {
		assert.equal(safeUrl(bad), null, bad)
		const out = markdown(`[click](<${bad}>)`)
		all(out, (v) => assert.notEqual(v.type, 'a', bad))
	}
	const seen = []
	all(
		markdown('[docs](https://example.com/a) <mailto:a@b.example> https://plain.example/x'),
		(v) => v.type === 'a' && seen.push(v),
	)
	assert.deepEqual(
		seen.map((v) => v.props.href),
		['https://example.com/a', 'mailto:a@b.example', 'https://plain.example/x'],
	)
	for (const v of seen) assert.equal(v.props.rel, 'noopener noreferrer nofollow')
	assert.match(tree(seen[0]), /example\.com/)
})

test('pictures are not fetched', () => {
	const out = markdown('![secret](https://evil.example/x.png?d=1) ![x](javascript:1)')
	all(out, (v) => assert.notEqual(v.type, 'img'))
	assert.match(tree(out), /Picture: secret.*evil\.example, not loaded/)
})

test('hidden characters are seen, references are characters', () => {
	assert.match(tree(markdown('a\u202eb')), /a‹U\+202E›b/)
	assert.equal(decodeEntities('&lt;b&gt; &#65;&#x42; &amp;amp; &nope; &#0;'), '<b> AB &amp; &nope; \ufffd')
	assert.equal(tree(markdown('1 &lt; 2 & 3')), '<p>1 < 2 & 3</>')
})

test('what would take long is plain text, quickly', () => {
	const parts = ['_a', '*a ', '> ', '- ', '[', '![a](', '`', '<a ', 'a\n', '|a|\n', '[a][b] ', '~~a', '&#x41;', '\\']
	for (const part of parts) {
		const start = performance.now()
		markdown(part.repeat(60_000 / part.length))
		assert.ok(performance.now() - start < 4000, JSON.stringify(part))
	}
	assert.match(tree(markdown('x'.repeat(70_000))), /^<pre>/)
})

test('text without any markup is what the lexer would make of it', () => {
	const after = '\n\n**x**'
	const tail = '<p><strong>x</></>'
	for (const text of [
		'One line, as it stands.',
		'Two\nlines',
		'Two\n\nparagraphs: one — two\n\n\n\nand a third (in brackets) 50% $5 a/b "c" d\u2019s',
		'\nfirst',
		'last\n\n\n',
		'12 o’clock. 3) of 4 - and a word-break; mail to nobody, http: no address',
		'not. 1. a list',
		'\u202etext\u200b',
		// what is no plain text must not be taken for it
		'2. two',
		'3) three',
		'- a',
		'+ a',
		'a\n- b',
		'a\n---',
		'a\n===',
		'    code',
		'a  \nb',
		'https://a.example',
		'www.a.example',
		'a@b.example',
		'a &amp; b',
		'a\\*',
	])
		assert.equal(tree(markdown(text)) + tail, tree(markdown(text + after)), JSON.stringify(text))
})
