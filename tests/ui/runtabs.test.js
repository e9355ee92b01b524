/* The run page's other tabs, its dialog, and what it shows when there is nothing to show. */
import assert from 'node:assert/strict'
import { test, url } from './lib/harness.js'
import { screen } from './lib/judge.js'
import { go, name } from './lib/runstates.js'

const SCREENS = [
	['log', 'working', 'log', '.log-text'],
	['log-empty', 'starting', 'log', '.log-empty'],
	['patch', 'finished', 'patch', '.d-row'],
	['patch-none', 'script', 'patch', '.empty'],
	['files', 'finished', 'files', '.file'],
	['files-empty', 'starting', 'files', '.empty'],
]
for (const [title, state, tab, wait] of SCREENS)
	test(`screen: run, ${title}`, (t) => screen(t, `run-${title}`, go(state, tab, wait)))

/* Tables by their labels, and rows of theirs, a space between what stands in them. */
const DETAILS = {
	Limits: [/^Limit Set Read back$/, /^memory 2 GiB 2 GiB$/, /^uid — 1900000529$/],
	'Usage by turn': [/^1 .*0\.71$/, /^2 .*0\.23$/, /^All .*0\.94$/],
	'Decisions of the gate': [/ git github\.com\/acme\/queue\.git ✓ allowed /, / connect telemetry\.example:443 ✕ refused not on the list /],
	'Model calls': [/ claude-sonnet-4 200 /, / 529 overloaded_error /],
}
test('screen: run, details', (t) =>
	screen(t, 'run-details', async (page) => {
		await go('working', 'details', '.details .grid')(page)
		await page.getByText('telemetry.example:443').waitFor()
		await page.locator('.details', { hasText: /Isolation\s*Emulated VM/ }).waitFor()
		for (const [label, rows] of Object.entries(DETAILS)) {
			const said = (await page.getByRole('group', { name: `${label}, table` }).locator('tr').allInnerTexts()).map((r) => r.replace(/\s+/g, ' '))
			for (const row of rows) assert(said.some((s) => row.test(s)), `${label}: ${row} in ${JSON.stringify(said)}`)
		}
	}))

test('screen: run, patches of several trees; each is shown, and counted together', (t) =>
	screen(t, 'run-patch-trees', async (page) => {
		await go('trees', 'patch', '.d-row')(page)
		await page.locator('.tab[aria-current]', { hasText: '+14 −5' }).waitFor()
		assert.equal(await page.locator('.d-file', { hasText: 'retry.ts' }).count(), 1)
		await page.locator('.patch-trees a', { hasText: 'site' }).click()
		await page.locator('.d-file', { hasText: 'index.html' }).waitFor()
		assert.equal(await page.locator('.d-file').count(), 1, 'of that tree alone')
		assert.match(page.url(), /\/patch\?tree=site$/)
		await page.reload()
		await page.locator('.d-file', { hasText: 'index.html' }).waitFor()
		const [got] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download patch' }).click()])
		assert.equal(got.suggestedFilename(), 'site.patch')
	}))

test('screen: run, a patch side by side: what took the place of what stands beside it', (t) =>
	screen(t, 'run-patch-split', async (page) => {
		await page.setViewportSize({ width: 1440, height: 900 })
		await go('finished', 'patch', '.d-row')(page)
		await page.getByRole('button', { name: 'Side by side' }).click()
		const pair = page.locator('.d-pair', { hasText: 'Date.now()' }).first()
		await pair.waitFor()
		assert.match(await pair.locator('.d-half.del').innerText(), /return Date\.now\(\)/)
		assert.match(await pair.locator('.d-half.add').innerText(), /this\.clock\.now\(\)/)
		const [left, right] = await Promise.all(['.del', '.add'].map((c) => pair.locator(`.d-half${c}`).boundingBox()))
		assert(Math.abs(left.y - right.y) < 1 && right.x >= left.x + left.width - 1, 'in one row')
		await page.reload()
		await page.locator('.d-pair').first().waitFor()
	}, { sizes: ['desktop'] }))

test('screen: run, files with previews', (t) =>
	screen(t, 'run-files-open', async (page) => {
		await go('finished', 'files', '.file')(page)
		while (await page.locator('.file button', { hasText: 'Preview' }).count())
			await page.locator('.file button', { hasText: 'Preview' }).first().click()
		await page.locator('.preview-picture').waitFor()
	}))

test('screen: run, tearing down', (t) =>
	screen(t, 'run-teardown', async (page) => {
		await go('working', '', '.tail')(page)
		const menu = page.getByRole('button', { name: 'Actions' })
		if (await menu.isVisible()) {
			await menu.click()
			await page.getByRole('menuitem', { name: 'Tear down' }).click()
		} else await page.getByRole('button', { name: 'Tear down' }).click()
		await page.locator('dialog[open]').waitFor()
	}))

test('screen: run, gone', (t) => {
	t.allow(/404/)
	return screen(t, 'run-gone', async (page) => {
		await page.goto(`${url}/dashboard/runs/run-aaaaaaaaaaaaaaaa`)
		await page.locator('.empty').waitFor()
	})
})

test('screen: run, not loaded', (t) => {
	t.allow(/503/)
	return screen(t, 'run-error', async (page) => {
		await page.route('**/watch.json*', (r) =>
			r.fulfill({
				status: 503,
				contentType: 'application/json',
				body: '{"error":{"code":"busy","message":"the program behind this is not there just now","fix":"try again in a moment","context":{},"request_id":"00c0ffee00c0ffee"}}',
			}),
		)
		await page.goto(`${url}/dashboard/runs/${name('working')}`)
		await page.locator('.notice.danger').waitFor()
	})
})

test('screen: run, loading', (t) =>
	screen(t, 'run-loading', async (page) => {
		await page.route('**/watch.json*', () => {})
		await page.goto(`${url}/dashboard/runs/${name('working')}`)
		await page.locator('.run .skeleton-row').first().waitFor()
	}))
