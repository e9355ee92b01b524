/*
 * Firefox by WebDriver BiDi, which it speaks itself: one page that is led through the screens. What it writes to its
 * console as an error fails the test, and so does a wait that does not end.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SLOW, token, url } from './lib/harness.js'
import { finished, seedLog } from './lib/runrows.js'

const WAIT_MS = 30_000 * SLOW

/** Starts it with a profile of its own. @returns {Promise<{address: string, stop: () => void}>} */
function start() {
	const profile = mkdtempSync(join(tmpdir(), 'firefox-'))
	const child = spawn(process.env.FIREFOX ?? 'firefox-esr', ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0', 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
	const stop = () => {
		child.once('exit', () => rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
		child.kill('SIGTERM')
	}
	return new Promise((done, fail) => {
		let said = ''
		child.stderr.on('data', (d) => {
			said += d
			const m = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(said)
			if (m) done({ address: m[1], stop })
		})
		child.once('exit', () => fail(new Error(`firefox ended: ${said.slice(-400)}`)))
		setTimeout(() => fail(new Error('firefox does not listen')), 60_000 * SLOW).unref()
	})
}

/** One session: call(method, params), and what the console said. */
async function connect(address) {
	const socket = new WebSocket(`${address}/session`)
	const waiting = new Map()
	const errors = []
	let last = 0
	await new Promise((done, fail) => {
		socket.onopen = done
		socket.onerror = () => fail(new Error('no connection to firefox'))
	})
	socket.onmessage = ({ data }) => {
		const m = JSON.parse(data)
		if (m.method === 'log.entryAdded' && m.params.level === 'error') errors.push(m.params.text)
		const w = waiting.get(m.id)
		if (!w) return
		waiting.delete(m.id)
		if (m.type === 'error') w.fail(new Error(`${m.error}: ${m.message}`))
		else w.done(m.result)
	}
	const call = (method, params) =>
		new Promise((done, fail) => {
			waiting.set(++last, { done, fail })
			socket.send(JSON.stringify({ id: last, method, params }))
		})
	await call('session.new', { capabilities: {} })
	await call('session.subscribe', { events: ['log.entryAdded'] })
	return { call, errors }
}

/** The page: go to an address, and ask it something until the answer is true. */
async function open(call) {
	const { contexts } = await call('browsingContext.getTree', {})
	const context = contexts[0].context
	await call('browsingContext.setViewport', { context, viewport: { width: 1440, height: 900 } })
	const ask = async (expression) => {
		const r = await call('script.evaluate', { expression, target: { context }, awaitPromise: true })
		if (r.type === 'exception') throw new Error(`${expression}: ${r.exceptionDetails.text}`)
		return r.result.value
	}
	const until = async (expression, what) => {
		const end = Date.now() + WAIT_MS
		while (!(await ask(expression))) {
			if (Date.now() > end) throw new Error(`${what}: not within ${WAIT_MS} ms`)
			await new Promise((r) => setTimeout(r, 50))
		}
	}
	return { ask, until, go: (path) => call('browsingContext.navigate', { context, url: url + path, wait: 'interactive' }) }
}
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

const browser = await start()
let failed = 0
try {
	const { call, errors } = await connect(browser.address)
	const page = await open(call)
	for (const [what, step] of STEPS) {
		const start = Date.now()
		try {
			await step(page)
			assert.deepEqual(errors.splice(0), [], 'nothing on the console')
			console.log(`ok   firefox: ${what} (${Date.now() - start} ms)`)
		} catch (e) {
			failed++
			console.log(`FAIL firefox: ${what}\n${String(e.stack ?? e).replace(/^/gm, '     ')}`)
		}
	}
} finally {
	browser.stop()
}
console.log(`${STEPS.length - failed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0
