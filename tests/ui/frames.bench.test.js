/*
 * How long a frame takes while one scrolls through 100,000 lines, on an idle machine: `make bench B=frames`. The floor
 * is the same browser's frames while an empty page of the same size is scrolled; cpu is what the page's own thread
 * worked for a frame, whoever else was at work meanwhile. And how soon the end of the log is there, with a processor a
 * quarter as fast too.
 */
import { seedLog, working } from './lib/runrows.js'
import { test, url } from './lib/harness.js'

const frames = (page, selector) =>
	page.evaluate(async (selector) => {
		const box = document.querySelector(selector)
		const out = []
		let last = performance.now()
		for (let i = 0; i < 90; i++) {
			box.scrollTop -= 400 + i * 40
			const now = await new Promise((done) => requestAnimationFrame(done))
			out.push(now - last)
			last = now
		}
		return out.slice(5).sort((a, b) => a - b)
	}, selector)
const at = (sorted, part) => sorted[Math.floor(sorted.length * part)].toFixed(1)

test('frames', async (t) => {
	const name = working()
	seedLog(name, 100_000)
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${name}/log`)
	await page.locator('.log-row', { hasText: '[099999]' }).waitFor()
	const cdp = await page.context().newCDPSession(page)
	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
	const worked = async () => (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value
	const before = await worked()
	const ours = await frames(page, '.log-scroll')
	const cpu = (1000 * ((await worked()) - before)) / 90
	await page.evaluate(() => {
		const box = document.querySelector('.log-scroll')
		const empty = document.createElement('div')
		empty.id = 'empty'
		empty.style.cssText = 'overflow:auto;height:100%'
		empty.append(Object.assign(document.createElement('div'), { style: 'height:2000000px' }))
		box.parentElement.replaceChildren(empty)
		empty.scrollTop = 2_000_000
	})
	const floor = await frames(page, '#empty')
	const tail = async (rate) => {
		await page.goto(`${url}/dashboard/runs/${name}`)
		await page.locator('.trace').waitFor()
		await cdp.send('Emulation.setCPUThrottlingRate', { rate })
		const start = Date.now()
		await page.locator('.tabs a', { hasText: 'Log' }).click()
		await page.locator('.log-row', { hasText: '[099999]' }).waitFor()
		return Date.now() - start
	}
	const [once, slow] = [await tail(1), await tail(4)]
	console.log(`bench frames p50_ms=${at(ours, 0.5)} p95_ms=${at(ours, 0.95)} floor_p50_ms=${at(floor, 0.5)} floor_p95_ms=${at(floor, 0.95)} cpu_ms=${cpu.toFixed(1)} tail_ms=${once} tail_x4_ms=${slow}`)
})
