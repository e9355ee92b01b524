/*
 * smoke.js ENGINE: one page in another engine that is led through the screens. lib/ENGINE.js drives it; its open() gives
 * go(path), ask(expression), errors() (what the page said as an error since the last time) and stop(). Such an error
 * fails the test, and so does a wait that does not end.
 */
import assert from 'node:assert/strict'
import { SLOW, token } from './lib/harness.js'
import { finished, seedLog } from './lib/runrows.js'

const WAIT_MS = 30_000 * SLOW
const ENGINES = { firefox: './lib/firefox.js', webkit: './lib/webkit.js' }

const has = (selector, text = '') => `[...document.querySelectorAll(${JSON.stringify(selector)})].some((e) => e.textContent.includes(${JSON.stringify(text)}))`

const run = finished()
seedLog(run, 100_000)
const STEPS = [
	['it signs in', async (p) => {
		await p.go('/dashboard/signin')
		await p.until(has('.signin h1', 'Sign in'), 'the page')
		// as people do: the field, and Enter
		await p.ask(`(() => { const f = document.querySelector('input[name=password]'); f.value = ${JSON.stringify(token())}; f.dispatchEvent(new Event('input', { bubbles: true })) })()`)
		await p.ask("new Promise((done) => setTimeout(done, 100)).then(() => document.querySelector('.signin-form').requestSubmit())")
		await p.until(has('h1', 'Runs'), 'the list')
	}],
	['the list is live', async (p) => {
		await p.until(has('.run-row', 'Explain why the nightly import'), 'its rows')
		await p.until(has('[data-live]'), 'its stream')
		assert.equal(await p.ask('document.documentElement.scrollWidth <= document.documentElement.clientWidth'), true)
	}],
	['a trace with its result', async (p) => {
		await p.go(`/dashboard/runs/${run}`)
		await p.until(has('.say', 'The test sleeps for a real second'), 'what it said')
		await p.until(has('.result', 'Finished'), 'how it ended')
		// a page that is left while it loads says so on the console
		await p.until(has('.details .grid'), 'its details')
	}],
	['the end of 100,000 lines, its beginning, and a hit between', async (p) => {
		await p.go(`/dashboard/runs/${run}/log`)
		await p.until(has('.log-row', '[099999]'), 'the end')
		await p.ask("document.querySelector('.log-scroll').scrollTop = 0")
		await p.until(has('.log-row', '[000000]'), 'the beginning')
		assert((await p.ask("document.querySelectorAll('.log-scroll *').length")) <= 400, 'few nodes')
		await p.ask("(() => { const f = document.querySelector('.log-search input'); f.value = '[012345]'; f.dispatchEvent(new Event('input', { bubbles: true })) })()")
		await p.until(has('.log-row mark', '[012345]'), 'the hit')
	}],
	['a patch', async (p) => {
		await p.go(`/dashboard/runs/${run}/patch`)
		await p.until(has('.d-row.add', 'this.clock.now()'), 'its lines')
	}],
]

const engine = process.argv[2]
const page = await (await import(ENGINES[engine])).open()
page.until = async (expression, what) => {
	const end = Date.now() + WAIT_MS
	while (!(await page.ask(expression))) {
		if (Date.now() > end) throw new Error(`${what}: not within ${WAIT_MS} ms`)
		await new Promise((r) => setTimeout(r, 50))
	}
}
let failed = 0
try {
	for (const [what, step] of STEPS) {
		const start = Date.now()
		try {
			await step(page)
			assert.deepEqual(await page.errors(), [], 'nothing on the console')
			console.log(`ok   ${engine}: ${what} (${Date.now() - start} ms)`)
		} catch (e) {
			failed++
			console.log(`FAIL ${engine}: ${what}\n${String(e.stack ?? e).replace(/^/gm, '     ')}`)
		}
	}
} finally {
	await page.stop()
}
console.log(`${STEPS.length - failed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0
