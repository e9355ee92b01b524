/* The log of 100,000 lines (bar A8): how soon its end is there, what it costs to scroll and to search, links to lines. */
import assert from 'node:assert/strict'
import { api, SLOW, test, until, url } from './lib/harness.js'
import { seedLog, working } from './lib/runrows.js'

let run = ''
const log = () => {
	if (run) return run
	run = working()
	seedLog(run, 100_000)
	return run
}
const LAST = '[099999]'
const open = async (t, hash = '', o = {}) => {
	const page = await t.page(o)
	// once without measuring, so that modules are in the cache as they are for people
	await page.goto(`${url}/dashboard/runs/${log()}`)
	await page.locator('.trace').waitFor()
	if (hash !== null) await page.goto(`${url}/dashboard/runs/${log()}/log${hash}`)
	return page
}
const nodes = (page) => page.evaluate(() => document.querySelectorAll('.log-scroll *').length)

test('log: the end of 100,000 lines is there within a second of opening the tab, in at most 400 nodes', async (t) => {
	const page = await open(t, null)
	const start = Date.now()
	await page.locator('.tabs a', { hasText: 'Log' }).click()
	await page.locator('.log-row', { hasText: LAST }).waitFor()
	const ms = Date.now() - start
	console.log(`     tail after ${ms} ms`)
	assert(ms <= 1000 * SLOW, `the tail took ${ms} ms`)
	assert.equal((await api(`/watch.json?session=${log()}`)).log_lines, 100_000)
	const n = await nodes(page)
	console.log(`     ${n} nodes`)
	assert(n <= 400 && n > 100, `${n} nodes`)
	await t.picture(page, 'run-log-desktop-light')
})

test('log: scrolling keeps 400 nodes, fills what one looks at, and leaves the end alone', async (t) => {
	const page = await open(t)
	await page.locator('.log-row', { hasText: LAST }).waitFor()
	await page.evaluate(async () => {
		const box = document.querySelector('.log-scroll')
		for (let i = 0; i < 30; i++) {
			box.scrollTop -= 400 + i * 40
			await new Promise((done) => requestAnimationFrame(done))
		}
	})
	assert((await nodes(page)) <= 400)
	assert.equal(await page.locator('.log-tools [aria-pressed=true]', { hasText: 'Follow' }).count(), 0, 'it follows no more')
	await page.evaluate(() => (document.querySelector('.log-scroll').scrollTop = 50_000 * 20))
	await page.locator('.log-row', { hasText: '[050010]' }).waitFor()
	await page.locator('.log-scroll').press('End')
	await page.locator('.log-row', { hasText: LAST }).waitFor()
	assert.equal(await page.locator('.log-tools [aria-pressed=true]', { hasText: 'Follow' }).count(), 1)
})

test('log: the whole of it is searched within 1.5 s; next and previous go through the hits', async (t) => {
	const page = await open(t)
	await page.locator('.log-row', { hasText: LAST }).waitFor()
	await page.locator('.log-search input').focus()
	const start = Date.now()
	await page.locator('.log-search input').fill('[012345]')
	await page.locator('.log-row mark', { hasText: '[012345]' }).waitFor()
	const ms = Date.now() - start
	console.log(`     found after ${ms} ms`)
	assert(ms <= 1500 * SLOW, `the search took ${ms} ms`)
	assert.match(await page.locator('.log-found').textContent(), /^1 of 1/)
	await page.locator('.log-search input').fill('compile unit 77 ')
	await until(async () => /^1 of 625/.test(await page.locator('.log-found').textContent()), '625 hits')
	await page.locator('.log-search input').press('Enter')
	await page.locator('.log-row mark').first().waitFor()
	await until(async () => /^2 of/.test(await page.locator('.log-found').textContent()), 'the second hit')
	await page.locator('.log-search input').press('Shift+Enter')
	await page.locator('.log-search input').press('Shift+Enter')
	await until(async () => /^200 of/.test(await page.locator('.log-found').textContent()), 'the last hit that is here')
	await page.locator('.log-search input').fill('no such line anywhere')
	await until(async () => /none/.test(await page.locator('.log-found').textContent()), 'no hit')
	await page.locator('.log-scroll').press('Control+f')
	assert(await page.evaluate(() => document.activeElement.matches('.log-search input')), 'Ctrl+F goes to the search')
})

test('log: a link to lines shows and marks them; picking lines makes the link', async (t) => {
	const page = await open(t, '#L123-130')
	await page.locator('.log-row.picked', { hasText: '[000122]' }).waitFor()
	assert.equal(await page.locator('.log-row.picked').count(), 8)
	await page.locator('.log-picked button', { hasText: 'Copy lines' }).click()
	const copied = await until(() => page.evaluate(() => navigator.clipboard.readText()), 'the clipboard')
	assert.equal(copied.split('\n')[0], '[000122] compile unit 122 ok in 54ms', 'without colours')
	assert.equal(copied.trim().split('\n').length, 8)
	await page.locator('.log-n', { hasText: /^140$/ }).click()
	await until(() => page.url().endsWith('#L140'), 'the address')
	await page.locator('.log-n', { hasText: /^143$/ }).click({ modifiers: ['Shift'] })
	await until(() => page.url().endsWith('#L140-143'), 'the address of four lines')
	assert.equal(await page.locator('.log-row.picked').count(), 4)
	await t.picture(page, 'run-log-lines-desktop-light')
})

test('log: wrapping and times; long lines are cut until they are opened', async (t) => {
	const name = working()
	seedLog(name, 3000, `CASE WHEN i = 1500 THEN repeat('wide ', 40000) ELSE 'line ' || i END`)
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${name}/log#L1501`)
	await page.locator('.log-more').waitFor()
	assert(await page.evaluate(() => Math.max(...[...document.querySelectorAll('.log-text')].map((e) => e.textContent.length))) < 2100, 'it is cut')
	await page.locator('.log-tools button', { hasText: 'Times' }).click()
	await until(() => page.evaluate(() => /^\d\d:\d\d:\d\d\.\d{3}$/.test(document.querySelector('.log-row')?.dataset.stamp ?? '')), 'times')
	await page.locator('.log-tools button', { hasText: 'Wrap' }).click()
	await until(() => page.evaluate(() => {
		const rows = [...document.querySelectorAll('.log-row')].map((e) => e.getBoundingClientRect()).sort((a, b) => a.top - b.top)
		return rows.length > 5 && rows.every((r, i) => !i || Math.abs(rows[i - 1].bottom - r.top) < 1.5)
	}), 'each row begins where the one before it ends')
	await t.picture(page, 'run-log-wrapped-desktop-light')
	await page.locator('.log-more').click()
	await until(() => page.evaluate(() => Math.max(...[...document.querySelectorAll('.log-text')].map((e) => e.textContent.length)) > 65_000), 'what the site sends of it')
	await page.locator('.log-cut', { hasText: 'the download has it all' }).waitFor({ state: 'attached' })
})
