/* A12: every role of tokens.css against every ground it stands on, in both palettes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'

const read = (file) => readFileSync(new URL(`../../../static/${file}`, import.meta.url), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
const DARK = ':root[data-theme="dark"]'
const block = (css, start) => {
	const from = css.indexOf(start)
	assert(from >= 0, start)
	const open = css.indexOf('{', from)
	return Object.fromEntries([...css.slice(open, css.indexOf('}', open)).matchAll(/--([a-z0-9-]+):\s*([^;]+);/g)].map((m) => [m[1], m[2].trim()]))
}
const tokens = read('tokens.css')
const terminal = read('run/run.css')
const light = block(tokens, ':root {')
const dark = { ...light, ...block(tokens, DARK) }
const ANSI = [block(terminal, ':root {'), block(terminal, DARK)]

const channel = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
function luminance(hex) {
	assert.match(hex, /^#[0-9a-f]{6}$/)
	const [r, g, b] = [1, 3, 5].map((i) => channel(parseInt(hex.slice(i, i + 2), 16) / 255))
	return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
export function contrast(a, b) {
	const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m)
	return (x + 0.05) / (y + 0.05)
}

const GROUNDS = ['bg', 'surface', 'inset']
const TEXT = ['text', 'text-2', 'text-3', 'accent', 'wait', 'run', 'ok', 'danger', 'pilot']
const PAIRS = [
	...TEXT.flatMap((t) => GROUNDS.map((g) => [t, g, 4.5])),
	...['accent', 'wait', 'danger'].map((c) => [`on-${c}`, c, 4.5]),
	...['accent', 'wait', 'run', 'ok', 'danger', 'pilot'].map((c) => [c, `${c}-tint`, 4.5]),
	...['accent', 'wait', 'run', 'ok', 'danger', 'pilot'].map((c) => ['text', `${c}-tint`, 4.5]),
	...['wait', 'danger', 'accent'].map((c) => ['text-2', `${c}-tint`, 4.5]),
	...['add-bg', 'add-word', 'del-bg', 'del-word', 'log-bg'].map((g) => ['text', g, 4.5]),
	['bg', 'text', 4.5], // toasts and pressed chips
	...['add-bg', 'del-bg', 'log-bg'].map((g) => ['text-3', g, 4.5]), // numbers of lines
	['ok', 'add-bg', 4.5], // + and −
	['danger', 'del-bg', 4.5],
	...GROUNDS.map((g) => ['border', g, 3]),
	['border', 'wait-tint', 3],
	['wait', 'bg', 3],
]

test('the formula is the right one', () => {
	assert.equal(contrast('#000000', '#ffffff').toFixed(1), '21.0')
	assert.equal(contrast('#767676', '#ffffff').toFixed(2), '4.54')
})

for (const [name, palette] of [
	['light', light],
	['dark', dark],
])
	test(`${name}: every text at least 4.5 to 1, every control at least 3 to 1`, () => {
		const weak = PAIRS.map(([a, b, min]) => [a, b, min, contrast(palette[a], palette[b])])
			.filter(([, , min, c]) => c < min)
			.map(([a, b, min, c]) => `${a} on ${b}: ${c.toFixed(2)} < ${min}`)
		assert.deepEqual(weak, [])
	})

test('a colour that is too weak would be found', () => assert(contrast('#8e8e95', '#ffffff') < 4.5))

test('a terminal’s 16 colours: at least 4.5 to 1 on every ground they are written on', () => {
	for (const [i, palette] of [light, dark].entries()) {
		const colours = Object.entries(ANSI[i])
		assert.equal(colours.length, 16)
		const weak = colours.flatMap(([name, c]) => ['log-bg', ...GROUNDS].filter((g) => contrast(c, palette[g]) < 4.5).map((g) => `${name} on ${g}`))
		assert.deepEqual(weak, [])
	}
})

test('each palette stands once', () => {
	for (const css of [tokens, terminal]) {
		assert.equal(css.split(DARK).length, 2)
		assert.doesNotMatch(css, /prefers-color-scheme/)
	}
	assert(Object.keys(block(tokens, DARK)).length > 30)
})
