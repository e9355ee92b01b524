/*
 * Firefox by WebDriver BiDi, which it speaks itself. See smoke.js for what an engine gives.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SLOW, url } from './harness.js'

const PROGRAM = process.env.FIREFOX ?? 'firefox-esr'

/** Starts it with a profile of its own. @returns {Promise<{address: string, stop: () => void}>} */
function start() {
	const profile = mkdtempSync(join(tmpdir(), 'firefox-'))
	const child = spawn(PROGRAM, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0', 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
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

export async function open() {
	const { address, stop } = await start()
	try {
		const { call, errors } = await connect(address)
		const { contexts } = await call('browsingContext.getTree', {})
		const context = contexts[0].context
		await call('browsingContext.setViewport', { context, viewport: { width: 1440, height: 900 } })
		return {
			stop,
			errors: () => errors.splice(0),
			go: (path) => call('browsingContext.navigate', { context, url: url + path, wait: 'interactive' }),
			ask: async (expression) => {
				const r = await call('script.evaluate', { expression, target: { context }, awaitPromise: true })
				if (r.type === 'exception') throw new Error(`${expression}: ${r.exceptionDetails.text}`)
				return r.result.value
			},
		}
	} catch (e) {
		stop()
		throw e
	}
}
