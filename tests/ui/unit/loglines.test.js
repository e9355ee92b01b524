import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHUNK, cellsOf, LogLines, plainLines } from '../../../build/modules/run/loglines.js'

/* A log of `total` lines; the last one has not ended where `open`. */
function site(total, { open = false, text = (n) => `line ${n}` } = {}) {
	const calls = []
	const state = { total, calls, fail: false }
	state.fetch = async (from, limit) => {
		calls.push([from, limit])
		if (state.fail) throw new Error('no')
		const lines = []
		for (let n = from; n < Math.min(from + limit, state.total); n++)
			lines.push({ n, stream: 'stdout', text: text(n) })
		const end = from + lines.length
		return { lines, total_lines: state.total, next: open && end === state.total && lines.length ? end - 1 : end }
	}
	return state
}
const settle = () => new Promise((done) => setTimeout(done, 5))

test('what is looked at is fetched once', async () => {
	const s = site(2000),
		l = new LogLines(s.fetch, () => {})
	l.grow(2000)
	l.want(1400, 1600)
	await settle()
	assert.deepEqual(
		s.calls.map((c) => c[0]).sort((a, b) => a - b),
		[1000, 1500],
	)
	assert.equal(l.line(1400).text, 'line 1400')
	assert.equal(l.line(3), undefined)
	l.want(1400, 1600)
	await settle()
	assert.equal(s.calls.length, 2)
})

test('while one scrolls the next chunk is there before it is looked at; at rest nothing is fetched ahead', async () => {
	const s = site(10 * CHUNK),
		l = new LogLines(s.fetch, () => {}),
		from = () => s.calls.map((c) => c[0] / CHUNK)
	l.grow(10 * CHUNK)
	l.want(5 * CHUNK, 5 * CHUNK + 40)
	l.want(5 * CHUNK, 5 * CHUNK + 40)
	await settle()
	assert.deepEqual(from(), [5])
	l.want(5 * CHUNK - 20, 5 * CHUNK + 20)
	await settle()
	assert.deepEqual(from(), [5, 4, 3])
	l.want(9 * CHUNK - 20, 9 * CHUNK + 20)
	await settle()
	assert.deepEqual(from().slice(3).sort(), [8, 9], 'behind the end there is nothing')
})

test('a chunk that is whole is not read again, though the log was written to', async () => {
	const s = site(2 * CHUNK),
		l = new LogLines(s.fetch, () => {})
	l.grow(2 * CHUNK)
	l.want(CHUNK, 2 * CHUNK)
	await settle()
	l.touched()
	l.want(CHUNK, 2 * CHUNK)
	await settle()
	assert.deepEqual(s.calls, [[CHUNK, CHUNK]])
})

test('what is on its way is not fetched a second time, however often it is wished for', async () => {
	const s = site(4 * CHUNK),
		l = new LogLines(s.fetch, () => {})
	l.grow(4 * CHUNK)
	l.want(0, 2 * CHUNK)
	l.want(0, 2 * CHUNK)
	await settle()
	assert.equal(s.calls.length, 2)
})

test('a last line that goes on is read again', async () => {
	const s = site(10, { open: true }),
		l = new LogLines(s.fetch, () => {})
	l.grow(10)
	l.want(0, 10)
	await settle()
	assert.equal(s.calls.length, 1)
	l.want(0, 10)
	await settle()
	assert.equal(s.calls.length, 1, 'it is not asked for again and again')
	s.total = 12
	l.touched()
	l.grow(12)
	l.want(0, 12)
	await settle()
	assert.deepEqual(s.calls[1], [9, CHUNK - 9])
	assert.equal(l.line(11).text, 'line 11')
})

test('a log that gives less than it says is not asked for ever', async () => {
	const s = site(5),
		l = new LogLines(
			async (...a) => ({ ...(await s.fetch(...a)), total_lines: 9 }),
			() => l.want(0, 9),
		)
	l.grow(9)
	l.want(0, 9)
	await settle()
	await settle()
	assert.ok(s.calls.length <= 3, String(s.calls.length))
})

test('a failure is told, and tried again when asked', async () => {
	const s = site(5),
		told = [],
		l = new LogLines(s.fetch, (w) => told.push(w))
	s.fail = true
	l.grow(5)
	l.want(0, 5)
	await settle()
	assert.ok(told[0].error)
	l.want(0, 5)
	await settle()
	assert.equal(s.calls.length, 1)
	s.fail = false
	l.retry()
	l.want(0, 5)
	await settle()
	assert.equal(l.line(4).text, 'line 4')
})

test('old chunks are dropped', async () => {
	const s = site(CHUNK * 60),
		l = new LogLines(s.fetch, () => {})
	l.grow(CHUNK * 60)
	for (let i = 0; i < 60; i++) {
		l.want(i * CHUNK, i * CHUNK + 10)
		await settle()
	}
	assert.equal(l.chunks.size, 40)
	assert.ok(l.line(59 * CHUNK))
	assert.equal(l.line(0), undefined)
})

test('rows and lines agree, with wrapping and without', async () => {
	const s = site(1200, { text: (n) => 'x'.repeat(n % 7 === 0 ? 25 : 5) }),
		l = new LogLines(s.fetch, () => {})
	l.grow(1200)
	assert.equal(l.rows(), 1200)
	assert.equal(l.lineAt(77.4), 77)
	l.want(0, 1200)
	for (let i = 0; i < 4; i++) await settle()
	l.wrapAt(10)
	const tall = Math.ceil(1200 / 7)
	assert.equal(l.rows(), 1200 + 2 * tall)
	for (const n of [0, 1, 6, 7, 8, 499, 500, 501, 999, 1000, 1199]) {
		assert.equal(l.lineAt(l.rowOf(n)), n)
		assert.equal(l.lineAt(l.rowOf(n) + (n % 7 === 0 ? 2 : 0)), n)
	}
	assert.equal(l.rowOf(1), 3)
	l.wrapAt(0)
	assert.equal(l.rows(), 1200)
})

test('long lines are cut until they are opened', async () => {
	const s = site(2, { text: () => 'y'.repeat(1_000_000) }),
		l = new LogLines(s.fetch, () => {})
	l.grow(2)
	l.want(0, 2)
	await settle()
	assert.equal(l.shown(l.line(0)).length, 2000)
	l.open(0)
	assert.equal(l.shown(l.line(0)).length, 1_000_000)
	assert.equal(l.shown(l.line(1)).length, 2000)
})

test('cells of a terminal', () => {
	assert.equal(cellsOf('abc'), 3)
	assert.equal(cellsOf('日本'), 4)
	assert.equal(cellsOf('a\tb'), 9)
	assert.equal(plainLines([{ n: 0, stream: 'stdout', text: '\x1b[31mx\x1b[0m' }]), 'x\n')
})
