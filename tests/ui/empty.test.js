/* A site without rows, and the runs list while it comes and when it does not come. */
import assert from 'node:assert/strict'
import { comes, test, url } from './lib/harness.js'
import { screen } from './lib/judge.js'

test('runs: nothing there yet teaches', (t) =>
	screen(t, 'runs-first', async (page) => {
		await page.goto(`${url}/dashboard/runs`)
		await page.getByRole('heading', { name: 'Hand over your first task' }).waitFor()
		assert.equal(await page.locator('.starter').count(), 3)
	}))

test('machines: nothing is up', (t) =>
	screen(t, 'machines-empty', async (page) => {
		await page.goto(`${url}/dashboard/machines`)
		await page.getByRole('heading', { name: 'Nothing is up' }).waitFor()
	}))

test('runs: while they are loading, and only after a moment', (t) =>
	screen(t, 'runs-loading', async (page) => {
		await page.route('**/events.sse*', () => {})
		await page.route('**/fleet.json', () => {})
		await page.goto(`${url}/dashboard/runs`)
		await page.locator('.skeleton-row').first().waitFor()
		await comes(() => page.locator('.skeleton-row').count(), 3)
	}))

test('runs: they do not come', async (t) => {
	t.allow(/Failed to load resource|ERR_FAILED/)
	await screen(t, 'runs-error', async (page) => {
		await page.route('**/events.sse*', (r) => r.abort())
		await page.route('**/fleet.json', (r) => r.abort())
		await page.goto(`${url}/dashboard/runs`)
		await page.getByText('The runs could not be loaded').waitFor()
	}, { sizes: ['phone'] })
})
