/* The log of 100,000 lines (bar A8): how soon its end is there, what it costs to scroll and to search, links to lines. */
import assert from 'node:assert/strict'
import { api, comes, test, until, url, within } from './lib/harness.js'
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
	const tail = async () => {
		const start = Date.now()
		await page.locator('.tabs a', { hasText: 'Log' }).click()
		await page.locator('.log-row', { hasText: LAST }).waitFor()
		return Date.now() - start
	}
	await within(1000, 'the end is there', await tail(), async () => {
		await page.goto(`${url}/dashboard/runs/${log()}`)
		await page.locator('.trace').waitFor()
		return tail()
	})
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
	const follows = () => page.locator('.log-tools [aria-pressed=true]', { hasText: 'Follow' }).count()
	await comes(follows, 0, 'it follows no more')
	await page.evaluate(() => (document.querySelector('.log-scroll').scrollTop = 50_000 * 20))
	await page.locator('.log-row', { hasText: '[050010]' }).waitFor()
	await page.locator('.log-scroll').press('End')
	await page.locator('.log-row', { hasText: LAST }).waitFor()
	await comes(follows, 1, 'it follows again')
})

test('log: the whole of it is searched within 1.5 s; next and previous go through the hits', async (t) => {
	const page = await open(t)
	await page.locator('.log-row', { hasText: LAST }).waitFor()
	await page.locator('.log-search input').focus()
	const find = async (what) => {
		const start = Date.now()
		await page.locator('.log-search input').fill(what)
		await page.locator('.log-row mark', { hasText: what }).waitFor()
		return Date.now() - start
	}
	let at = 12_345
	await within(1500, 'it is found', await find('[012345]'), () => find(`[0${(at += 11_111)}]`))
	await until(async () => /^1 of 1/.test(await page.locator('.log-found').textContent()), 'one hit')
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
	await comes(() => page.evaluate(() => document.activeElement.matches('.log-search input')), true, 'Ctrl+F goes to the search')
})

test('log: a link to lines shows and marks them; picking lines makes the link', async (t) => {
	const page = await open(t, '#L123-130')
	await page.locator('.log-row.picked', { hasText: '[000122]' }).waitFor()
	const picked = () => page.locator('.log-row.picked').count()
	await comes(picked, 8, 'eight lines are marked')
	await page.locator('.log-picked button', { hasText: 'Copy lines' }).click()
	// the clipboard is the browser's: what an earlier test copied may still be in it
	const copied = await until(async () => {
		const text = await page.evaluate(() => navigator.clipboard.readText())
		return text.includes('compile unit 122') && text
	}, 'the clipboard')
	assert.equal(copied.split('\n')[0], '[000122] compile unit 122 ok in 54ms', 'without colours')
	assert.equal(copied.trim().split('\n').length, 8)
	await page.locator('.log-n', { hasText: /^\s*140$/ }).click()
	await until(() => page.url().endsWith('#L140'), 'the address')
	await page.locator('.log-n', { hasText: /^\s*143$/ }).click({ modifiers: ['Shift'] })
	await until(() => page.url().endsWith('#L140-143'), 'the address of four lines')
	await comes(picked, 4, 'four lines are marked')
	await t.picture(page, 'run-log-lines-desktop-light')
})

test('log: wrapping and times; long lines are cut until they are opened', async (t) => {
	const name = working()
	seedLog(name, 3000, `CASE WHEN i = 1500 THEN repeat('wide ', 40000) ELSE 'line ' || i END`)
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${name}/log#L1501`)
	await page.locator('.log-more').waitFor()
	assert(await page.evaluate(() => Math.max(...[...document.querySelectorAll('.log-text')].map((e) => e.textContent.length))) < 2100, 'it is cut')
	const numberAt = () => page.evaluate(() => Math.round(document.querySelector('.log-n').getBoundingClientRect().left - document.querySelector('.log-scroll').getBoundingClientRect().left))
	await page.evaluate(() => (document.querySelector('.log-scroll').scrollLeft = 400))
	await comes(numberAt, 0, 'numbers stay in sight while one scrolls sideways')
	await page.evaluate(() => (document.querySelector('.log-scroll').scrollLeft = 0))
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
