import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitRows } from '../../../build/modules/run/diffsplit.js'

const lines = (s) => s.split('\n').map((l) => ({ kind: l[0], text: l.slice(1), old: 0, now: 0 }))
const show = (s) => splitRows(lines(s)).map((p) => (p.note ? `\\${p.note.text}` : `${p.left?.text ?? '_'}|${p.right?.text ?? '_'}`))

test('lines that took each other’s place stand in one row, the rest beside nothing', () => {
	assert.deepEqual(show(' a\n-b\n+B\n c'), ['a|a', 'b|B', 'c|c'])
	assert.deepEqual(show('-b\n-c\n+B'), ['b|B', 'c|_'])
	assert.deepEqual(show('+B\n+C\n d'), ['_|B', '_|C', 'd|d'])
	assert.deepEqual(show('-a\n-b'), ['a|_', 'b|_'])
})

test('removed lines after added ones begin a change of their own', () =>
	assert.deepEqual(show('-a\n+A\n-b\n+B\n+C'), ['a|A', 'b|B', '_|C']))

test('what git says about the end of a file tears no pair apart', () => {
	assert.deepEqual(show('-a\n\\ No newline\n+A'), ['a|A'])
	assert.deepEqual(show('-a\n+A\n\\ No newline'), ['a|A', '\\ No newline'])
	assert.deepEqual(show(' a\n\\ No newline'), ['a|a', '\\ No newline'])
})

test('nothing is lost, whatever the order', () => {
	const kinds = '-+ '
	for (let n = 0; n < 3 ** 6; n++) {
		const all = Array.from({ length: 6 }, (_, i) => kinds[Math.floor(n / 3 ** i) % 3] + i)
		const rows = splitRows(lines(all.join('\n')))
		const text = (side, kind) => rows.map((r) => r[side]).filter((l) => l && (l.kind === kind || l.kind === ' ')).map((l) => l.text).join('')
		const want = (kind) => all.filter((l) => l[0] === kind || l[0] === ' ').map((l) => l.slice(1)).join('')
		assert.equal(text('left', '-'), want('-'))
		assert.equal(text('right', '+'), want('+'))
	}
})
