/* The run page's trace in each state: axe, targets, layout and pictures at each size and theme. */
import assert from 'node:assert/strict'
import { test } from './lib/harness.js'
import { axe, screen } from './lib/judge.js'
import { go } from './lib/runstates.js'

const SCREENS = [
	['trace-working', 'working', '', '.tail'],
	['trace-asking', 'asking', '', '.question'],
	['trace-finished', 'finished', '', '.result'],
	['trace-starting', 'starting', '', '.tail'],
	['trace-script-failed', 'script', '', '.result'],
	['trace-stopped', 'stopped', '', '.result'],
	['trace-refused', 'refused', '', '.result'],
]
for (const [title, state, tab, wait] of SCREENS)
	test(`screen: run, ${title}`, (t) => screen(t, `run-${title}`, go(state, tab, wait)))

test('screen: run, tools open', (t) =>
	screen(t, 'run-trace-open', async (page) => {
		await go('working', '', '.tool')(page)
		const rows = await page.locator('.tool-row').allInnerTexts()
		const row = (what) => rows.find((r) => r.includes(what)) ?? ''
		assert.match(row('npm test'), /exit 1[^]*12 s/, 'how it ended, and how long it took')
		assert.match(row('retry.ts'), /34 ms/)
		for (const closed of ['.tool-row[aria-expanded=false]', '.retry-row[aria-expanded=false]'])
			while (await page.locator(closed).count()) await page.locator(closed).first().click()
		await page.locator('.thinking summary').click()
		await page.locator('.tool').first().scrollIntoViewIfNeeded()
		const head = await page.evaluate(() => [document.querySelector('.run-head').getBoundingClientRect().top, document.querySelector('.content').scrollHeight - innerHeight])
		assert.deepEqual(head, [0, 0], 'the head of the page stays, whatever is opened')
	}))

test('screen: run, offline', (t) => {
	t.allow(/ERR_INTERNET_DISCONNECTED|events\.sse|session\.json/)
	return screen(t, 'run-offline', async (page) => {
		await go('asking', '', '.question')(page)
		await page.context().setOffline(true)
		await page.locator('.banner').waitFor()
	})
})

test('colours forced, motion reduced, text at 200 %', async (t) => {
	for (const [what, o] of [
		['forced', { forced: true }],
		['forced-dark', { forced: true, theme: 'dark' }],
	]) {
		const page = await t.page(o)
		await go('asking', '', '.question')(page)
		await t.picture(page, `run-${what}-desktop`)
		await axe(page, what)
	}
	const page = await t.page({ size: 'phone' })
	await go('asking', '', '.question')(page)
	await page.evaluate(() => (document.documentElement.style.fontSize = '200%'))
	await t.picture(page, 'run-large-text-phone')
})
