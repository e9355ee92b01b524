/* Where things are (bar A4): the answer can always be sent, the trace can always be read, nothing lies over the card. */
import assert from 'node:assert/strict'
import { comes, test, until, url } from './lib/harness.js'
import { noOverflow, targets } from './lib/judge.js'
import { asking, QUESTION, working } from './lib/runrows.js'

const LONG = `${QUESTION}\n\n${Array.from({ length: 40 }, (_, i) => `${i + 1}. Another thing that it would like to know, at some length, since it was told to be thorough.`).join('\n')}`
let runs = null
const all = () => (runs ??= { short: asking(), long: asking(LONG) })

const box = async (page, selector) => (await page.locator(selector).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }

/* The rules for one page as it is. */
async function judge(page, name, which) {
	const view = page.viewportSize()
	const submit = await box(page, '.q-form button')
	assert(submit.y >= 0 && submit.y + submit.height <= view.height && submit.x + submit.width <= view.width, `submit is in view: ${JSON.stringify(submit)}`)
	const field = await box(page, '[data-answer]')
	assert(field.y + field.height <= view.height && field.height >= 40, `so is the field: ${JSON.stringify(field)}`)
	const card = await box(page, '.question')
	assert(card.height <= view.height * 0.4 + 1, `the card is ${card.height} of ${view.height}`)
	const words = await box(page, '.q-text')
	assert(words.height >= 40, `two lines of the question: ${words.height}`)
	const pane = await box(page, '.trace .pane-scroll')
	console.log(`     ${name}: card ${Math.round(card.height)}, trace ${Math.round(pane.height)}`)
	assert(pane.height >= 120, `the trace has ${pane.height}`)
	// nothing lies over it (z-order): what is under the middle of the button is the button
	assert(await page.evaluate(([x, y]) => !!document.elementFromPoint(x, y)?.closest('.q-form button'), [submit.x + submit.width / 2, submit.y + submit.height / 2]), 'nothing covers the button')
	if (which === 'long') assert(await page.evaluate(() => document.querySelector('.q-text').scrollHeight > document.querySelector('.q-text').clientHeight), 'the question scrolls by itself')
	await noOverflow(page, name)
	await targets(page, view.width < 900 ? 44 : 24, name)
}

for (const size of ['phone', 'keyboard', 'landscape', 'desktop', [320, 640]])
	test(`A4: questions at ${size}: submit in view, at most 40 %, the trace can be read; also while one types`, async (t) => {
		const page = await t.page({ size })
		for (const which of ['short', 'long']) {
			await page.goto(`${url}/dashboard/runs/${all()[which]}`)
			await page.locator('.question').waitFor()
			await page.locator('.tool').first().waitFor()
			const name = `question-${which}-${[size].flat().join('x')}`
			await judge(page, name, which)
			await t.picture(page, `run-${name}-light`)
			await page.locator('[data-answer]').fill('An answer\nof several\nlines\nso that\nthe field\ngrows')
			await judge(page, `${name}-typing`, which)
			await t.picture(page, `run-${name}-typing-light`)
		}
	})

test('following: it stays at the end while one is there, and does not move under one who reads', async (t) => {
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${working()}`)
	await page.locator('.tail').waitFor()
	const gap = () => page.evaluate(() => {
		const e = document.querySelector('.trace .pane-scroll')
		return e.scrollHeight - e.scrollTop - e.clientHeight
	})
	await until(async () => (await gap()) < 4, 'it opens at the end')
	await page.locator('.trace .pane-scroll').hover()
	await page.mouse.wheel(0, -600)
	await page.locator('.jump').waitFor()
	const top = await page.evaluate(() => document.querySelector('.trace .pane-scroll').scrollTop)
	await page.locator('.tool.failed .tool-row').first().evaluate((e) => e.click())
	await new Promise((r) => setTimeout(r, 200))
	assert(Math.abs((await page.evaluate(() => document.querySelector('.trace .pane-scroll').scrollTop)) - top) < 400, 'it does not jump to the end')
	await page.locator('.jump').click()
	await page.locator('.jump').waitFor({ state: 'detached' })
	await until(async () => (await gap()) < 4, 'it is at the end again')
})

test('earlier rows come when asked for, and what one reads stays where it is', async (t) => {
	const rows = Array.from({ length: 900 }, (_, i) => ({ turn: 1, age: 900 - i / 2, kind: 'say', text: `step ${i + 1}` }))
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${working({ rows, turns: [{ n: 1, age: 890, state: 'running' }] })}`)
	await page.locator('.say', { hasText: 'step 900' }).waitFor()
	const here = () => page.locator('.say').count()
	assert((await here()) < 900, 'not all are here')
	for (let n; (n = await here()) < 900; ) {
		await page.locator('.trace .pane-scroll').evaluate((e) => (e.scrollTop = 0))
		await page.locator('.earlier button').click()
		await until(async () => (await here()) > n, 'more of them')
	}
	assert.equal(await here(), 900, 'all are here, once')
	const order = await page.locator('.say').allTextContents()
	assert.deepEqual(order.map((s) => Number(s.split(' ')[1])), rows.map((_, i) => i + 1))
	await comes(() => page.locator('.earlier').count(), 0, 'and no more are offered')
})
