/*
 * WebKitGTK's MiniBrowser by WebDriver, which WebKitWebDriver speaks for it. See smoke.js for what an engine gives. There
 * is no way to ask for its console, so that each page is listened to from inside, from the moment it answers: what it
 * says before that is not heard.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { SLOW, url } from './harness.js'

const PROGRAM = process.env.WEBKIT ?? 'WebKitWebDriver'
// said: what the page said as an error
const LISTEN = `(() => {
	const said = (window.said = [])
	const error = console.error
	console.error = (...words) => { said.push(words.map(String).join(' ')); error.apply(console, words) }
	addEventListener('error', (e) => said.push(e.message))
	addEventListener('unhandledrejection', (e) => said.push(String(e.reason)))
	addEventListener('securitypolicyviolation', (e) => said.push(e.violatedDirective + ' ' + e.blockedURI))
})()`

/** A port that was free a moment ago. @returns {Promise<number>} */
function freePort() {
	return new Promise((done) => {
		const s = createServer().listen(0, '127.0.0.1', () => {
			const { port } = s.address()
			s.close(() => done(port))
		})
	})
}

/** One call of the driver. A refusal is an error with the driver's words. */
async function ask(address, method, path, body) {
	const answer = await fetch(address + path, { method, body: body && JSON.stringify(body) })
	const { value } = await answer.json()
	if (!answer.ok) throw new Error(`webkit: ${value.error}: ${value.message}`)
	return value
}

/** Starts the driver. @returns {Promise<{address: string, stop: () => void}>} */
async function start() {
	const port = await freePort()
	const address = `http://127.0.0.1:${port}`
	const child = spawn(PROGRAM, ['--host=127.0.0.1', `--port=${port}`], { stdio: 'ignore' })
	const ended = new Promise((_, fail) => child.once('exit', (code) => fail(new Error(`${PROGRAM} ended with ${code}`))))
	ended.catch(() => {})
	const listens = async () => {
		for (const end = Date.now() + 30_000 * SLOW; ; await new Promise((r) => setTimeout(r, 50))) {
			try {
				return await ask(address, 'GET', '/status')
			} catch (e) {
				if (Date.now() > end) throw e
			}
		}
	}
	try {
		await Promise.race([listens(), ended])
	} catch (e) {
		child.kill('SIGTERM')
		throw e
	}
	return { address, stop: () => child.kill('SIGTERM') }
}

export async function open() {
	const { address, stop } = await start()
	try {
		const options = { binary: process.env.MINIBROWSER, args: ['--automation'] }
		const { sessionId } = await ask(address, 'POST', '/session', { capabilities: { alwaysMatch: { pageLoadStrategy: 'none', 'webkitgtk:browserOptions': options } } })
		const session = `/session/${sessionId}`
		await ask(address, 'POST', `${session}/window/rect`, { width: 1440, height: 900 })
		// The expression is part of the script: the pages' policy lets nothing evaluate a string. It may be a promise.
		const inPage = async (expression) => {
			const script = `const done = arguments[0]; Promise.resolve().then(() => (${expression})).then((v) => done({ v }), (e) => done({ e: String(e) }))`
			const { v, e } = await ask(address, 'POST', `${session}/execute/async`, { script, args: [] })
			if (e) throw new Error(`${expression}: ${e}`)
			return v
		}
		let left = [] // what pages said that have been left
		const errors = async () => [...left.splice(0), ...(await inPage('window.said?.splice(0) ?? []'))]
		return {
			errors,
			ask: inPage,
			go: async (path) => {
				left = await errors()
				await inPage('void (window.isLeft = true)')
				await ask(address, 'POST', `${session}/url`, { url: url + path })
				const end = Date.now() + 30_000 * SLOW
				const there = `!window.isLeft && location.href.startsWith(${JSON.stringify(url)})`
				while (!(await inPage(there).catch(() => false))) assert(Date.now() < end, `${path} does not come`)
				await inPage(LISTEN)
			},
			stop: async () => {
				await ask(address, 'DELETE', session).catch(() => {})
				stop()
			},
		}
	} catch (e) {
		stop()
		throw e
	}
}
