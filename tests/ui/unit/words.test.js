/* Texts, times, addresses, drafts and the form of a new run. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { parseRoute } from '../../../build/modules/lib/router.js'
import { oneLine, visible, visibleParts, sentence } from '../../../build/modules/lib/text.js'
import { absolute, ago, binary, bytes, clock, count, duration, money } from '../../../build/modules/lib/time.js'
import { emptyForm, fieldOf, formBody, formDraft, formErrors, formFromDraft, formFromRun, repoName } from '../../../build/modules/screens/newform.js'

/* Whether a part of the text is shown by its number. */
const hasHidden = (text) => visibleParts(text).some((part) => typeof part !== 'string')

test('hidden characters are shown, others are left alone', () => {
	assert.equal(visible('a\u202Eb'), 'a‹U+202E›b')
	assert.deepEqual(visibleParts('x\u200by'), ['x', { escape: 'U+200B' }, 'y'])
	assert.equal(visible('\u001b[31mred'), '‹U+001B›[31mred')
	for (const plain of ['tab\tand\nline', 'é ü 中文 العربية', '👩‍💻 and 🏳️‍🌈', 'a\r\nb']) assert.equal(hasHidden(plain), false, JSON.stringify(plain))
	for (const odd of ['\u2066x', '\ufeffx', 'x\u0000', 'a\u200db', '\u{e0041}']) assert.equal(hasHidden(odd), true, JSON.stringify(odd))
	assert.equal(visible('👩‍💻'), '👩‍💻')
})

test('one line', () => {
	assert.equal(oneLine('  a\n b\t c '), 'a b c')
	assert.equal(oneLine('abcdef', 3), 'abc…')
	assert(!oneLine('😀'.repeat(50), 5).includes('\ufffd'))
})

test('times and sizes', () => {
	const at = 1e12
	for (const [s, text] of [[0, 'now'], [4, 'now'], [40, '40 s ago'], [60, '1 min ago'], [3599, '59 min ago'], [7200, '2 h ago'], [86400 * 3, '3 d ago']]) assert.equal(ago(at - s * 1000, at), text)
	assert.match(ago(at - 86400 * 1000 * 30, at), /2001/)
	assert.equal(duration(7000), '0:07')
	assert.equal(duration(761_000), '12:41')
	assert.equal(duration(11_049_000), '3:04:09')
	assert.equal(duration(null), '—')
	assert.deepEqual([0, 999, 1000, 12_400, 182_000, 1_800_000, null].map(count), ['0', '999', '1k', '12.4k', '182k', '1.8M', '—'])
	assert.deepEqual([0, 0.004, 0.41, 12, null].map(money), ['$0.00', '<$0.01', '$0.41', '$12.00', '—'])
	assert.deepEqual([812, 4200, 1_200_000, 45_000_000, undefined].map(bytes), ['812 B', '4.2 KB', '1.2 MB', '45 MB', '—'])
	assert.deepEqual([2 ** 30, 2 ** 29, 2 ** 32].map(binary), ['1 GiB', '512 MiB', '4 GiB'])
})

test('addresses', () => {
	const name = (p) => parseRoute(p).name
	assert.equal(name('/dashboard'), 'runs')
	assert.equal(name('/dashboard/'), 'runs')
	assert.equal(name('/dashboard/runs/'), 'runs')
	assert.deepEqual(parseRoute('/dashboard/runs/run-abcdefghijklmnop/log', '?x=1', '#L3').params, { session: 'run-abcdefghijklmnop', tab: 'log' })
	for (const p of ['/dashboard/nope', '/dashboard/runs/run-a', '/dashboard/runs/run-abcdefghijklmnop/evil', '/dashboard/runs/run-abcdefghijklmnop/log/x', '/dashboard/%E0%A4']) assert.equal(name(p), 'missing', p)
})

const site = { defaults: { agent: 'script' }, limits: { task_bytes: 100, upload_bytes: 1000 }, classes: [{ name: 's', memory_mb: 1024, cpus: 1 }], agents: [{ name: 'script', ready: true }, { name: 'claude', ready: false, why: 'No key.' }] }

test('what is wrong with a new run is said by field', () => {
	const good = { ...emptyForm(), task: 'echo' }
	assert.deepEqual(formErrors(good, null, site), {})
	assert.ok(formErrors({ ...good, task: ' \n' }, null, site).task)
	assert.ok(formErrors({ ...good, task: 'é'.repeat(51) }, null, site).task, 'bytes, not characters')
	assert.equal(formErrors({ ...good, agent: 'claude' }, null, site).agent, 'No key.')
	assert.ok(formErrors({ ...good, tree: 'repos', repos: [{ repo: 'a/b', ref: '' }, { repo: '', ref: '' }] }, null, site).repo1)
	assert.ok(formErrors({ ...good, tree: 'repos', repos: [{ repo: 'nonsense', ref: '' }] }, null, site).repo0)
	assert.ok(formErrors({ ...good, tree: 'upload' }, null, site).upload)
	assert.ok(formErrors({ ...good, tree: 'upload' }, { name: 'x.zip', size: 1 }, site).upload)
	assert.ok(formErrors({ ...good, tree: 'upload' }, { name: 'x.tar', size: 1001 }, site).upload)
	assert.deepEqual(formErrors({ ...good, tree: 'upload' }, { name: 'x.tar.gz', size: 1000 }, site), {})
	assert.deepEqual(formErrors(good, null, null), {}, 'nothing is refused for want of knowing the site')
})

test('what is sent', () => {
	assert.deepEqual(formBody({ ...emptyForm(), task: 't' }, null, site), { task: 't' })
	assert.deepEqual(formBody({ ...emptyForm(), task: 't', tree: 'repos', size: 's', repos: [{ repo: 'https://github.com/acme/site.git', ref: ' main ' }] }, null, site), {
		task: 't',
		memory_mb: 1024,
		cpus: 1,
		repos: [{ repo: 'github.com/acme/site', ref: 'main' }],
	})
	assert.deepEqual(formBody({ ...emptyForm(), task: 't', tree: 'upload', dir: 'x' }, 'blob-a', site), { task: 't', upload: 'blob-a', dir: 'x' })
	for (const [from, to] of [['git@github.com:a/b.git', 'github.com/a/b'], ['ssh://git@host/a/b', 'host/a/b'], ['a/b/', 'a/b'], ['https://user:pw@h/a/b', 'h/a/b']]) assert.equal(repoName(from), to)
	assert.equal(fieldOf('repos[2].repo'), 'repo2')
	assert.equal(fieldOf('memory_mb'), 'size')
	assert.equal(fieldOf('wait_ms'), '')
})

test('a draft comes back as it was, and nonsense as an empty form', () => {
	const form = { ...emptyForm(), task: 'x', tree: 'repos', repos: [{ repo: 'a/b', ref: 'c' }] }
	assert.deepEqual(formFromDraft(formDraft(form)), form)
	for (const bad of ['', 'null', '[]', '{"task":5,"repos":[null]}', '{']) assert.equal(typeof formFromDraft(bad).task, 'string')
	assert.equal(formFromRun({ task: 'short', turns: [{ message: 'whole' }], agent: 'script', repos: [{ repo: 'a/b' }] }).task, 'whole')
})

test('what the server says becomes a sentence; names of fields stay as they are', () => {
	const words = {
		'try again in a moment': 'Try again in a moment.',
		'title must be one line': 'Title must be one line.',
		'client_id: no such client': 'client_id: no such client.',
		'You are offline.': 'You are offline.',
		'which one?': 'Which one?',
		'': '',
	}
	for (const [from, to] of Object.entries(words)) assert.equal(sentence(from), to)
})

test('a moment is said in the zone of who reads it', () => {
	const at = (zone, iso) => {
		process.env.TZ = zone
		return [absolute(Date.parse(iso)), clock(Date.parse(iso))]
	}
	const before = process.env.TZ
	assert.deepEqual(at('UTC', '2026-09-03T04:05:06Z'), ['3 Sept 2026, 04:05:06 UTC', '04:05'])
	assert.deepEqual(at('Europe/Vienna', '2026-07-31T23:30:00Z'), ['1 Aug 2026, 01:30:00 UTC+2', '01:30'])
	assert.deepEqual(at('Asia/Kolkata', '2026-12-31T18:30:00Z'), ['1 Jan 2027, 00:00:00 UTC+5:30', '00:00'])
	assert.deepEqual(at('America/St_Johns', '2026-01-01T00:00:00Z'), ['31 Dec 2025, 20:30:00 UTC−3:30', '20:30'])
	if (before === undefined) delete process.env.TZ
	else process.env.TZ = before
})
