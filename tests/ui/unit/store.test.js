/* The reducers: snapshots, patches, what comes twice, late or with a hole. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { fleetApply, fleetSnapshot, focusApply, focusEmpty, focusSnapshot, focusTrace, joinRows, stateKey } from '../../../build/modules/lib/store.js'

const empty = { runs: new Map(), boxes: new Map(), feed: 0, at: 0 }
const box = (state = 'ready') => ({ name: 'box-a', state, class: 's', memory_bytes: 5 })
const run = (state, more = {}) => ({ session: 'run-a', state, title: 'A', created_at: '2026-01-01T00:00:00.000Z', box: box(), question: null, ...more })
const fleet = (...runs) => fleetSnapshot(empty, { runs, boxes: [box()], feed: 10 }, 1000)
const rows = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => ({ seq: from + i, kind: 'say', text: `row ${from + i}` }))

test('a patch replaces what it has and leaves the rest', () => {
	const f = fleetApply(fleet(run('running')), 'run', { session: 'run-a', seq: 11, state: 'done', exit_code: 0, box: 'box-a', ts: 'x' })
	const r = f.runs.get('run-a')
	assert.equal(r.state, 'done')
	assert.equal(r.exit_code, 0)
	assert.equal(r.title, 'A')
	assert.equal(r.box.memory_bytes, 5, 'the box stays whole though the patch only names it')
	assert.equal(f.feed, 11)
})

test('what comes twice, or after its snapshot, changes nothing', () => {
	const f = fleet(run('done'))
	assert.equal(fleetApply(f, 'run', { session: 'run-a', seq: 10, state: 'running' }), f)
	assert.equal(fleetApply(f, 'run', { session: 'run-a', seq: 3, state: 'running' }), f)
	assert.notEqual(fleetApply(f, 'run', { session: 'run-a', seq: 11, state: 'running' }), f)
})

test('a snapshot does not undo an event that was quicker', () => {
	const f = fleetApply(fleet(run('running')), 'run', { session: 'run-a', seq: 20, state: 'done' })
	const g = fleetSnapshot(f, { runs: [run('running')], boxes: [], feed: 15 }, 2000)
	assert.equal(g.runs.get('run-a').state, 'done')
	const h = fleetSnapshot(f, { runs: [run('failed')], boxes: [], feed: 25 }, 2000)
	assert.equal(h.runs.get('run-a').state, 'failed')
})

test('a question comes with its run in either order, and goes with its answer', () => {
	const q = { session: 'run-a', seq: 12, question: 7, text: 'Which?', ts: 't' }
	const w = { session: 'run-a', seq: 11, state: 'waiting' }
	const one = fleetApply(fleetApply(fleet(run('running')), 'run', w), 'question', q)
	assert.deepEqual(one.runs.get('run-a').question, { id: 7, text: 'Which?', asked_at: 't' })
	const other = fleetApply(fleetApply(fleet(run('running')), 'question', { ...q, seq: 11 }), 'run', { ...w, seq: 12 })
	assert.equal(other.runs.get('run-a').question.id, 7)
	const answered = fleetApply(one, 'answered', { session: 'run-a', seq: 13, question: 7, by: 'operator' })
	assert.equal(answered.runs.get('run-a').question, null)
	assert.equal(fleetApply(one, 'answered', { session: 'run-a', seq: 13, question: 6, by: 'x' }), one, 'another question is another')
	const on = fleetApply(one, 'run', { session: 'run-a', seq: 14, state: 'running' })
	assert.equal(on.runs.get('run-a').question, null, 'a run that goes on asks nothing')
})

test('a box that is gone leaves the list, and its run knows', () => {
	const f = fleetApply(fleet(run('stopped')), 'box', { box: 'box-a', seq: 12, state: 'gone', reason: 'operator' })
	assert.equal(f.boxes.size, 0)
	assert.equal(f.runs.get('run-a').box.state, 'gone')
	assert.equal(stateKey(f.runs.get('run-a')), 'gone')
	assert.equal(stateKey(run('stopped')), 'stopped')
})

test('a run that is not known yet is made of its first event', () => {
	const f = fleetApply(fleet(), 'run', { session: 'run-b', seq: 11, state: 'queued', title: 'New', box: 'box-b', class: 's', ts: '2026-01-02T00:00:00.000Z' })
	assert.equal(f.runs.get('run-b').title, 'New')
	assert.equal(f.runs.get('run-b').box.name, 'box-b')
})

test('rows of the trace: each once, in order', () => {
	let f = focusSnapshot(focusEmpty('run-a'), { ...run('running'), trace: rows(101, 300), feed: 10 })
	assert.equal(f.more, true)
	f = focusTrace(f, rows(290, 310))
	assert.deepEqual(f.trace.map((r) => r.seq), rows(101, 310).map((r) => r.seq))
	f = focusApply(f, 'trace', { seq: 305, kind: 'say', text: 'again' })
	assert.equal(f.trace.length, 210)
	assert.deepEqual(joinRows(rows(51, 100), f.trace).map((r) => r.seq), rows(51, 310).map((r) => r.seq))
})

test('a snapshot that leaves a hole behind is not taken for the trace, unless it must', () => {
	const f = focusSnapshot(focusEmpty('run-a'), { ...run('running'), trace: rows(1, 100), feed: 10 })
	const later = { ...run('done'), trace: rows(400, 599), feed: 30 }
	const kept = focusSnapshot(f, later)
	assert.equal(kept.run.state, 'done')
	assert.equal(kept.trace.length, 100, 'the stream brings what lies between')
	const reset = focusSnapshot(f, later, true)
	assert.equal(reset.trace[0].seq, 400)
	assert.equal(reset.more, true)
})

test('notices of the log only grow', () => {
	let f = focusApply(focusEmpty('run-a'), 'log', { seq: 5, first_line: 40, nlines: 10 })
	f = focusApply(f, 'log', { seq: 4, first_line: 30, nlines: 10 })
	assert.equal(f.logLines, 50)
	assert.equal(f.logSeq, 5)
})

test('what a run writes is told without a number, and moves none', () => {
	const told = { session: 'run-a', last: { kind: 'say', text: 'hm', ts: 't' }, usage: { cost_usd: 1 }, log_lines: 9 }
	const f = fleetApply(fleet(run('running')), 'activity', told)
	assert.equal(f.runs.get('run-a').last.text, 'hm')
	assert.equal(f.runs.get('run-a').state, 'running')
	assert.equal(f.feed, 10)
	assert.equal(fleetApply(f, 'run', { session: 'run-a', seq: 11, state: 'done' }).runs.get('run-a').last.text, 'hm')
	const g = focusApply(focusSnapshot(focusEmpty('run-a'), { ...run('running'), trace: [], feed: 10 }), 'activity', told)
	assert.equal(g.logLines, 9)
	assert.equal(g.run.seq, 10)
	const other = { ...told, session: 'run-b' }
	assert.equal(focusApply(g, 'activity', other), g)
	assert.equal(fleetApply(f, 'activity', other), f)
})
