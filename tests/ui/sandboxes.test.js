/*
 * Sandboxes: on the page of machines how they are sealed, how long they last, and their end by a dialog; on their own
 * page what ran in them, with output and receipts, and their files.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { api, seed, SLOW, sql, test, until, url } from './lib/harness.js'
import { axe, repainted, screen } from './lib/judge.js'

const READY = 'box-sandboxpicturexa'

/** Two that stand on a host that is not there: one handed out, one whose packages are being put in. */
function rows() {
	seed()
	sql(`INSERT INTO boxes (account_id, name, state, runtime, isolation, image, class, memory_bytes, cpus, disk_bytes, host, slot, created_at, ready_at,
			deadline_at, expires_at, purpose, language, packages, installed, egress, used_at, idle_ms, seal)
		SELECT (SELECT min(id) FROM accounts), 'box-' || x.name, x.state, 'qemu', 'emulated-vm', x.language, 's', 1073741824, 1, 4294967296, 'elsewhere', x.slot,
			now() - interval '12 min', CASE x.state WHEN 'ready' THEN now() - interval '11 min' END, now() + interval '1 day', now() + interval '4 hours',
			'sandbox', x.language, x.packages::jsonb, x.installed::jsonb, x.egress, now() - interval '3 min', 1800000, x.seal::jsonb
		FROM (VALUES
			('sandboxpicturexa', 'ready', 'python', 900001, '["requests==2.32.3"]', '[{"name":"requests","version":"2.32.3"},{"name":"idna","version":"3.10"}]', 'sealed', '{"probe":{"sealed":true}}'),
			('sandboxpicturexb', 'creating', 'javascript', 900002, '["left-pad@1.3.0"]', NULL, 'packages', NULL)
		) x (name, state, language, slot, packages, installed, egress, seal)
		ON CONFLICT DO NOTHING;
		WITH b AS (SELECT id, account_id FROM boxes WHERE name = '${READY}' AND NOT EXISTS (SELECT FROM execs e WHERE e.box_id = boxes.id)),
		l AS (INSERT INTO logs (account_id, exec_id) SELECT b.account_id, e FROM b, unnest(ARRAY[-1, -2, -3, -4]) e RETURNING id, exec_id, account_id),
		x AS (INSERT INTO execs (account_id, name, box_id, stream, lane, argv, log_id, state, exit_code, timed_out, language, code, background, checks, files, started_at, finished_at)
			SELECT b.account_id, 'exec-picture' || -l.exec_id, b.id, 100 - l.exec_id, 'exec:1', '[]', l.id, x.state, x.code, x.timed_out, 'python', convert_to(x.text, 'UTF8'),
				x.background, x.checks::jsonb, x.files::jsonb, now() - x.age * interval '1 s', CASE x.state WHEN 'running' THEN NULL ELSE now() - x.age * interval '1 s' + interval '1.4 s' END
			FROM b, l JOIN (VALUES
				(-1, 'done', 0, false, 'import requests' || chr(10) || 'print(requests.__version__)', false, NULL, NULL, 600),
				(-2, 'done', 1, false, E'import pytest, sys\nsys.exit(pytest.main(["-q"]))', false, '{"framework":"pytest","passed":11,"failed":1,"skipped":0,"failures":[{"name":"test_retry.py::test_clock","message":"assert 1043 == 1000"}]}', '{"test_retry.py":"def test_clock(): ..."}', 420),
				(-3, 'running', NULL, false, 'import http.server; http.server.test()', true, NULL, NULL, 180),
				(-4, 'failed', NULL, true, E'while True:\n    pass', false, NULL, NULL, 60)) x (n, state, code, timed_out, text, background, checks, files, age) ON x.n = l.exec_id RETURNING log_id, name)
		INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, src_off, src_len, ts, body, line_ms)
		SELECT (SELECT min(id) FROM accounts), x.log_id, 1, 1, 0, 2, 0, length(t.body), now(), convert_to(t.body, 'UTF8'), '{0,0}'
		FROM x JOIN (VALUES ('exec-picture1', E'2.32.3\n'), ('exec-picture2', E'\x1b[31mF\x1b[0m...........\n1 failed, 11 passed in 0.31s\n')) t (name, body) ON t.name = x.name`)
}
const card = (page, name) => page.locator(`.box-card[data-box="${name}"]`)

async function open(page) {
	await page.goto(`${url}/dashboard/machines`)
	await card(page, READY).getByText('Python sandbox').waitFor()
}

test('machines: sandboxes among them', async (t) => {
	rows()
	await screen(t, 'machines-sandboxes', async (page) => {
		await open(page)
		const ready = card(page, READY)
		for (const text of ['Sealed', '2 packages', 'Ends if unused', '1 GiB, 1 CPU', 'Emulated VM']) await ready.getByText(text).waitFor()
		assert.equal(await ready.getByRole('link', { name: 'Open run' }).count(), 0, 'there is no run to open')
		const making = card(page, 'box-sandboxpicturexb')
		for (const text of ['JavaScript sandbox', 'Packages only', 'Being made']) await making.getByText(text).waitFor()
		await ready.scrollIntoViewIfNeeded()
	})
})

test('sandbox: what ran in it, how each ended, and what it wrote', async (t) => {
	rows()
	await screen(t, 'sandbox', async (page) => {
		await page.goto(`${url}/dashboard/machines/${READY}`)
		const failed = page.locator('.process', { hasText: 'Exit 1' })
		for (const text of ['Timed out', 'Running in the background', 'Exit 0']) await page.locator('.process', { hasText: text }).waitFor()
		await failed.locator('summary').click()
		await failed.getByText('11 passed, 1 failed').waitFor()
		await failed.locator('.code', { hasText: '1 failed, 11 passed' }).waitFor()
		assert.equal(await failed.locator('.af1').count(), 1, 'its colours are colours')
	})
})

test('sandbox: one that is not there', (t) => {
	t.allow(/404/)
	return screen(t, 'sandbox-gone', async (page) => {
		await page.goto(`${url}/dashboard/machines/box-aaaaaaaaaaaaaaaa`)
		await page.getByText('There is no such sandbox').waitFor()
	}, { sizes: ['phone'] })
})

test('machines: tearing a sandbox down says what is lost', async (t) => {
	rows()
	for (const size of ['phone', 'desktop']) {
		const page = await t.page({ size })
		await open(page)
		await card(page, READY).getByRole('button', { name: 'Tear down' }).click()
		const dialog = page.getByRole('dialog', { name: 'Tear down this sandbox?' })
		await dialog.waitFor()
		for (const theme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme: theme })
			await repainted(page)
			await axe(page, `tear down a sandbox ${size} ${theme}`)
			await t.picture(page, `machines-sandbox-teardown-${size}-${theme}`)
		}
		await dialog.getByRole('button', { name: 'Cancel' }).click()
		await dialog.waitFor({ state: 'detached' })
		await card(page, READY).waitFor()
	}
})

test('machines: a sandbox comes by itself, and goes when it is torn down', async (t) => {
	const page = await t.page()
	await page.goto(`${url}/dashboard/machines`)
	await page.getByRole('heading', { name: 'Machines', level: 1 }).waitFor()
	const { sandbox_id: name } = await api('/create_sandbox.json', { language: 'bash', wait_ms: 60_000 })
	const mine = card(page, name)
	for (const text of ['Bash sandbox', 'Sealed', 'Up']) await mine.getByText(text, { exact: true }).waitFor()
	await mine.getByRole('link', { name: 'Bash sandbox' }).click()
	await page.getByText('Nothing yet').waitFor()
	// what is run there comes by itself: its code, its output, how it ended, and the signed record of it
	const { process_id } = await api('/run.json', { sandbox_id: name, code: 'echo "seen from outside" >note.txt; cat note.txt; exit 3', wait_ms: 30_000 })
	const ran = page.locator(`.process[data-process="${process_id}"]`)
	await ran.getByText('Exit 3', { exact: true }).waitFor()
	await ran.locator('.code', { hasText: 'stdout' }).getByText('seen from outside').waitFor()
	const fetched = async (link) => {
		const [got] = await Promise.all([page.waitForEvent('download'), ran.getByRole('link', { name: link }).click()])
		return readFileSync(await got.path(), 'utf8')
	}
	assert.equal(await fetched('Output'), 'seen from outside\n')
	const receipt = JSON.parse(await fetched('Receipt'))
	assert.equal(receipt.exec, process_id)
	assert.equal(receipt.outcome.exit_code, 3)
	// its files are read without a process in it
	await page.getByRole('button', { name: 'Look into /workspace' }).click()
	await page.getByRole('button', { name: 'Preview note.txt' }).click()
	await page.locator('.file-preview', { hasText: 'seen from outside' }).waitFor()
	const [tar] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Take the folder' }).click()])
	assert.match(readFileSync(await tar.path(), 'latin1'), /note\.txt/)
	await page.getByRole('button', { name: 'Tear down' }).click()
	await page.getByRole('dialog').getByRole('button', { name: 'Tear down' }).click()
	await page.getByRole('dialog').waitFor({ state: 'detached' })
	await page.getByText('The sandbox has ended').waitFor({ timeout: 60_000 * SLOW })
	await ran.getByText('Exit 3', { exact: true }).waitFor()
	await page.getByRole('link', { name: 'Machines' }).first().click()
	await page.getByRole('heading', { name: 'Machines', level: 1 }).waitFor()
	await mine.waitFor({ state: 'detached' })
	await until(async () => (await api('/destroy_sandbox.json', { sandbox_id: name })).status === 'destroyed', 'it is destroyed')
})
