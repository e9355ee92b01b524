import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ansiSpans, ansiText, applySgr, from256, nearest } from '../../../build/modules/run/ansi.js'

const show = (line) =>
	ansiSpans(line)
		.map((s) => (s.cls ? `[${s.cls}|${s.text}]` : s.text))
		.join('')

test('colours and weights become classes', () => {
	const cases = {
		plain: 'plain',
		'\x1b[31mred\x1b[0m plain': '[af1|red] plain',
		'\x1b[1;32mok\x1b[22m still\x1b[m': '[af2 a-bold|ok][af2| still]',
		'\x1b[91mbright': '[af9|bright]',
		'\x1b[41mback': '[ab1|back]',
		'\x1b[31;42mboth': '[ab2|both]',
		'\x1b[7minverse': '[ab16|inverse]',
		'\x1b[3;4;9mi': '[a-italic a-under a-strike|i]',
		'\x1b[4:0mi': 'i',
		'\x1b[38;5;196mx': '[af9|x]',
		'\x1b[38;5;2mx': '[af2|x]',
		'\x1b[38;2;250;10;10mx': '[af9|x]',
		'\x1b[38:2::250:10:10mx': '[af9|x]',
		'\x1b[38:5:196mx': '[af9|x]',
		'\x1b[38;2;1mx': 'x',
		'\x1b[38;5;999mx': 'x',
		'\x1b[8mshown': 'shown',
		'\x9b31mx': '[af1|x]',
	}
	for (const [line, want] of Object.entries(cases)) assert.equal(show(line), want, JSON.stringify(line))
})

test('other sequences are dropped and their text is not', () => {
	const cases = {
		'\x1b[2J\x1b[1;1Hgone': 'gone',
		'\x1b[?25lcursor\x1b[?25h': 'cursor',
		'\x1b]0;title\x07text': 'text',
		'\x1b]52;c;ZXZpbA==\x1b\\text': 'text',
		'\x1bPq#0;2;0;0;0\x1b\\text': 'text',
		'\x1b(Btext\x1b=': 'text',
		'a\x1b[31': 'a[esc|U+001B][31',
		'\x1b]0;no end': '[esc|U+001B]]0;no end',
		'progress\r': 'progress',
	}
	for (const [line, want] of Object.entries(cases)) assert.equal(show(line), want, JSON.stringify(line))
})

test('a link shows where it leads', () => {
	assert.equal(
		show('\x1b]8;;https://evil.example/\x1b\\bank\x1b]8;;\x1b\\ x'),
		'bank[a-dim| <https://evil.example/>] x',
	)
	assert.equal(show('\x1b]8;id=1;javascript:alert(1)\x07y\x1b]8;;\x07'), 'y[a-dim| <javascript:alert(1)>]')
})

test('hidden characters are seen', () => {
	assert.equal(show('good\rbad'), 'good[esc|U+000D]bad')
	assert.equal(show('a\bb\x00'), 'a[esc|U+0008]b[esc|U+0000]')
	assert.equal(show('x\u202egpj.exe'), 'x[esc|U+202E]gpj.exe')
	assert.equal(show('\x1b[31mx\u2066y'), '[af1|x][esc|U+2066][af1|y]')
	assert.equal(show('tab\tstays'), 'tab\tstays')
})

test('the nearest of the 16', () => {
	assert.equal(from256(7), 7)
	assert.equal(from256(232), 0)
	assert.equal(from256(255), 7)
	assert.equal(nearest(0, 0, 0), 0)
	assert.equal(nearest(255, 255, 255), 15)
	const s = { fg: 3 }
	applySgr(s, '39')
	assert.equal(s.fg, -1)
})

test('copied text has no sequences', () => {
	assert.equal(ansiText('\x1b[31mred\x1b[0m\r'), 'red')
})

test('a long hostile line takes no time', () => {
	for (const part of ['\x1b]', '\x1b[', '\x1b[0;', '\x1bP\x1b', '\u202e', '\x9d']) {
		const start = performance.now()
		ansiSpans(part.repeat(100_000))
		assert.ok(performance.now() - start < 5000, JSON.stringify(part))
	}
})
