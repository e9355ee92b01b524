/* Sandboxes on the page of machines: how they are sealed, how long they last, and their end by a dialog. */
import assert from 'node:assert/strict'
import { api, seed, sql, test, until, url } from './lib/harness.js'
import { axe, repainted, screen } from './lib/judge.js'

/** Two that stand on a host that is not there: one handed out, one whose packages are being put in. */
function rows() {
	seed()
	sql(`INSERT INTO boxes (account_id, name, state, runtime, isolation, image, class, memory_bytes, cpus, disk_bytes, host, slot, created_at, ready_at,
			deadline_at, expires_at, purpose, language, packages, installed, egress, used_at, idle_ms, seal)
		SELECT (SELECT min(id) FROM accounts), 'box-' || x.name, x.state, 'qemu', 'emulated-vm', x.language, 's', 1073741824, 1, 4294967296, 'elsewhere', x.slot,
			now() - interval '12 min', CASE x.state WHEN 'ready' THEN now() - interval '11 min' END, now() + interval '1 day', now() + interval '4 hours',
			'sandbox', x.language, x.packages::jsonb, x.installed::jsonb, x.egress, now() - interval '3 min', 1800000, x.seal::jsonb
		FROM (VALUES
			('sandboxpicturea', 'ready', 'python', 900001, '["requests==2.32.3"]', '[{"name":"requests","version":"2.32.3"},{"name":"idna","version":"3.10"}]', 'sealed', '{"probe":{"sealed":true}}'),
			('sandboxpictureb', 'creating', 'javascript', 900002, '["left-pad@1.3.0"]', NULL, 'packages', NULL)
		) x (name, state, language, slot, packages, installed, egress, seal)
		ON CONFLICT DO NOTHING`)
}
const card = (page, name) => page.locator(`.box-card[data-box="${name}"]`)
const READY = 'box-sandboxpicturea'

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
		assert.equal(await ready.getByRole('link').count(), 0, 'there is no run to open')
		const making = card(page, 'box-sandboxpictureb')
		for (const text of ['JavaScript sandbox', 'Packages only', 'Being made']) await making.getByText(text).waitFor()
		await ready.scrollIntoViewIfNeeded()
	})
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
	await mine.getByRole('button', { name: 'Tear down' }).click()
	await page.getByRole('dialog').getByRole('button', { name: 'Tear down' }).click()
	await page.getByRole('dialog').waitFor({ state: 'detached' })
	await mine.waitFor({ state: 'detached' })
	await until(async () => (await api('/destroy_sandbox.json', { sandbox_id: name })).status === 'destroyed', 'it is destroyed')
})
