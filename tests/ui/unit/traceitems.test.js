import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupTrace, sameItem, terminalLines, toolMs, toolOutcome } from '../../../build/modules/run/traceitems.js'

let seq = 0
const row = (kind, text, more) => ({
	seq: ++seq,
	turn: 1,
	ts: new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString(),
	kind,
	ref: null,
	text,
	data: null,
	...more,
})
const shape = (groups) =>
	groups.map((g) => g.items.map((i) => `${i.type}${i.rows.length > 1 ? i.rows.length : ''}`).join(' '))

test('a tool and its result are one, wherever the result comes', () => {
	const rows = [
		row('tool', 'Bash: make', { ref: 't1', data: { tool: 'Bash' } }),
		row('tool', 'Read: a', { ref: 't2', data: { tool: 'Read' } }),
		row('result', 'ok', { ref: 't2', data: { is_error: false } }),
		row('say', 'hm'),
		row('result', 'bad', { ref: 't1', data: { is_error: true, exit_code: 2, duration_ms: 900 } }),
	]
	const [g] = groupTrace(rows, false)
	assert.deepEqual(shape([g]), ['tool2 tool2 say'])
	assert.equal(toolOutcome(g.items[0]), 'failed')
	assert.equal(toolMs(g.items[0]), 900)
	assert.equal(toolOutcome(g.items[1]), 'ok')
	assert.equal(toolMs(g.items[1]), 1000)
	const [alone] = groupTrace(rows.slice(0, 1), false)
	assert.equal(toolOutcome(alone.items[0]), 'running')
	assert.equal(toolMs(alone.items[0]), null)
	assert.equal(sameItem(alone.items[0], g.items[0]), false)
	assert.equal(sameItem(g.items[0], groupTrace(rows, false)[0].items[0]), true)
})

test('a tool of a subagent stands under it', () => {
	const rows = [
		row('tool', 'Task: x', { ref: 'a', data: { tool: 'Task' } }),
		row('tool', 'Bash: y', { ref: 'b', data: { tool: 'Bash', parent: 'a' } }),
	]
	assert.deepEqual(
		groupTrace(rows, false)[0].items.map((i) => i.depth),
		[0, 1],
	)
})

test("a script's output is a terminal, an agent's is prose", () => {
	const rows = [
		row('system', 'session started'),
		row('tool', 'script', { ref: 'exec-1', data: {} }),
		row('say', 'a\nb', { data: { first_line: 0, nlines: 2 } }),
		row('error', 'oops', { data: { first_line: 2, nlines: 1 } }),
		row('result', 'exit 1', { data: { exit_code: 1, ms: 5 } }),
	]
	assert.deepEqual(shape(groupTrace(rows, true)), ['system tool2 terminal2 result'])
	assert.deepEqual(shape(groupTrace(rows, false)), ['system tool2 say error result'])
})

test('a question and its answer of the next turn are a pair; a lost one stands alone', () => {
	const rows = [
		row('question', 'which?', { ref: 'q1' }),
		row('answer', 'red', { ref: 'q1', turn: 2 }),
		row('say', 'ok', { turn: 2 }),
	]
	const groups = groupTrace(rows, false)
	assert.deepEqual(shape(groups), ['question2', 'say'])
	assert.equal(groups[0].items[0].answer.text, 'red')
	assert.deepEqual(shape(groupTrace(rows.slice(1), false)), ['answer say'])
})

test("retries are one, other errors are not; usage is the turn's", () => {
	const retry = (n) => row('error', '529', { data: { kind: 'api_retry', status: 529, attempt: n } })
	const rows = [
		retry(1),
		retry(2),
		row('error', '401', { data: { kind: 'api_error' } }),
		row('usage', '', { data: { input_tokens: 5 } }),
		row('system', 'x', { data: { event: { type: 'new' } } }),
		row('later', 'y'),
	]
	const [g] = groupTrace(rows, false)
	assert.deepEqual(shape([g]), ['retry2 error raw raw'])
	assert.deepEqual(g.usage, { input_tokens: 5 })
})

test('a long terminal block shows its ends', () => {
	const rows = [
		row('say', Array.from({ length: 100 }, (_, i) => i).join('\n'), { data: { first_line: 40, nlines: 100 } }),
		row('error', 'e', { data: { first_line: 140, nlines: 1 } }),
	]
	const t = terminalLines(rows, 5, 10)
	assert.deepEqual([t.head.length, t.hidden, t.tail.length, t.from, t.to], [5, 86, 10, 40, 140])
	assert.equal(t.tail[9].err, true)
	assert.equal(terminalLines(rows.slice(1), 5, 10).hidden, 0)
})
