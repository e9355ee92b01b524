/* The run page's other tabs, its dialog, and what it shows when there is nothing to show. */
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
	['details', 'working', 'details', '.details .grid'],
]
for (const [title, state, tab, wait] of SCREENS)
	test(`screen: run, ${title}`, (t) => screen(t, `run-${title}`, go(state, tab, wait)))

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
