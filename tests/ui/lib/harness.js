/*
 * What tests of the screens stand on: test() collects, runAll() runs one after the other in one browser. Each test
 * gets contexts of its own, which are watched: a console error, a report of the content security policy, or a
 * request to another origin fails the test, unless it was allowed by name.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { chromium } from 'playwright-core'

export const repo = join(dirname(fileURLToPath(import.meta.url)), '../../..')
export const url = process.env.ASB_URL
export const token = () => readFileSync(process.env.ASB_TOKEN_FILE, 'utf8').trim()
export const SIZES = { phone: [390, 844], keyboard: [390, 508], landscape: [844, 390], desktop: [1440, 900] }
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
/** SLOW=4 for a machine that is busy: all times are four times as long. */
export const SLOW = Number(process.env.SLOW ?? 1)
const TEST_MS = 180_000 * SLOW

const tests = []
/** ONLY=words, while one works on them: the tests whose names say so alone, without the rows that one before them brings. */
const ONLY = new RegExp(process.env.ONLY ?? '')
/** @param {string} name @param {(t: any) => Promise<void>} run */
export const test = (name, run) => ONLY.test(name) && tests.push({ name, run })

/** SQL as the database's superuser; rows as lines. @param {string} text */
export const sql = (text) =>
	execFileSync(join(repo, 'deploy/stack'), ['psql', '-At', '-v', 'ON_ERROR_STOP=1', '-f', '-'], { input: text, encoding: 'utf8', env: { MODE: 'debug', ...process.env } }).trim()

/** The rows of seed.sql, once. */
export function seed() {
	if (sql(`SELECT count(*) FROM runs WHERE name LIKE 'run-seed%'`) !== '0') return
	sql(readFileSync(join(repo, 'tests/ui/seed.sql'), 'utf8'))
}
export const seedName = (n) => `run-seed${String(n).replace(/\d/g, (d) => 'abcdefghij'[d]).padStart(12, 'x')}`

/** The API with the operator's token. @param {string} path @param {any} [body] */
export async function api(path, body) {
	const res = await fetch(url + path, {
		method: body ? 'POST' : 'GET',
		headers: { Authorization: `Bearer ${token()}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
		body: body && JSON.stringify(body),
	})
	const json = await res.json()
	if (!res.ok) throw new Error(`${path}: ${res.status} ${JSON.stringify(json)}`)
	return json
}

/** Tears down what has a real box (rows for pictures are of another host): a site has 8 places for them. */
async function leave() {
	const runs = sql(`SELECT r.name FROM runs r JOIN boxes b ON b.id = r.box_id WHERE b.state NOT IN ('gone', 'failed', 'destroying')
		AND b.host IS DISTINCT FROM 'elsewhere'`)
	for (const session of runs.split('\n').filter(Boolean)) await api('/teardown.json', { session })
}

/** A real run by the script agent. */
export const delegate = (task, more = {}) => api('/delegate.json', { task, agent: 'script', ...more })

/** Waits until `look` gives something true. @param {() => any} look */
export async function until(look, what = 'it', ms = 15_000 * SLOW) {
	const end = Date.now() + ms
	for (;;) {
		const v = await look()
		if (v) return v
		if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`)
		await new Promise((r) => setTimeout(r, 50))
	}
}
/** Waits until `look` gives `want`: what is on the screen comes with a frame. @param {() => any} look */
export async function comes(look, want, what = 'it') {
	let got
	const same = async () => isDeepStrictEqual((got = await look()), want)
	await until(same, what).catch(() => assert.deepEqual(got, want, what))
}
/**
 * A bar in milliseconds on a machine that may be busy for a moment: the first time, or one of three more, is within it.
 * @param {number} bar @param {string} what @param {number} first @param {() => Promise<number>} again
 */
export async function within(bar, what, first, again) {
	let ms = first
	for (let i = 0; ms > bar * SLOW && i < 3; i++) ms = await again()
	console.log(`     ${what} after ${first}${ms === first ? '' : `, then ${ms}`} ms`)
	assert(ms <= bar * SLOW, `${what}: after ${ms} ms, not ${bar}`)
}
export const runState = async (session, ...states) => until(async () => states.includes((await api(`/watch.json?session=${session}`)).state), `${session} is ${states.join(' or ')}`, 60_000 * SLOW)

let sessionCookies = null

class T {
	constructor(browser, name) {
		this.browser = browser
		this.name = name
		this.contexts = []
		this.faults = []
		this.allowed = []
	}
	/** Console errors that this test wishes for. @param {RegExp} what */
	allow(what) {
		this.allowed.push(what)
	}
	/**
	 * A page. size: a name of SIZES or [w, h]; theme light or dark; out: not signed in; sw: with the service worker.
	 */
	async page({ size = 'desktop', theme = 'light', out = false, sw = false, motion, forced, fresh = false } = {}) {
		const [width, height] = Array.isArray(size) ? size : SIZES[size]
		const phone = width < 600 || size === 'landscape'
		const context = await this.browser.newContext({
			viewport: { width, height },
			colorScheme: theme,
			hasTouch: phone,
			isMobile: phone,
			locale: 'en-GB',
			reducedMotion: motion ?? 'reduce',
			forcedColors: forced ? 'active' : 'none',
			serviceWorkers: sw ? 'allow' : 'block',
			permissions: ['clipboard-read', 'clipboard-write'],
		})
		this.contexts.push(context)
		if (!out && fresh) await this.signIn(context)
		else if (!out) {
			if (!sessionCookies) {
				await this.signIn(context)
				sessionCookies = await context.cookies()
			} else await context.addCookies(sessionCookies)
		}
		await context.exposeBinding('__violation', (_, v) => this.faults.push(`policy: ${v}`))
		await context.addInitScript(() => {
			document.addEventListener('securitypolicyviolation', (e) => window.__violation(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`))
		})
		context.setDefaultTimeout(30_000 * SLOW)
		const page = await context.newPage()
		page.on('console', (m) => m.type() === 'error' && this.faults.push(`console: ${m.text()} ${m.location().url}`))
		page.on('pageerror', (e) => this.faults.push(`error: ${e.stack}`))
		page.on('request', (r) => {
			const u = r.url()
			if (!u.startsWith(`${url}/`) && !u.startsWith('data:') && !u.startsWith('blob:')) this.faults.push(`request off the origin: ${u}`)
		})
		return page
	}
	async signIn(context) {
		const res = await context.request.post(`${url}/login.json`, { data: { token: token() } })
		assert.equal(res.status(), 200, 'the operator is signed in')
	}
	/** A picture of the page as it is: build/screens/NAME.png. */
	async picture(page, name, full = false) {
		mkdirSync(join(repo, 'build/screens'), { recursive: true })
		await page.screenshot({ path: join(repo, `build/screens/${name}.png`), fullPage: full })
	}
	check() {
		const bad = this.faults.filter((f) => !this.allowed.some((a) => a.test(f)))
		assert.deepEqual(bad, [], 'nothing on the console, no policy violated, nothing off the origin')
	}
	async close() {
		for (const c of this.contexts) await c.close().catch(() => {})
	}
}

const withTime = (promise, name) => {
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${name}: not done within ${TEST_MS} ms`)), TEST_MS)
	})
	return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** @returns {Promise<boolean>} whether all passed */
export async function runAll() {
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGS, headless: true })
	let passed = 0
	let failed = 0
	for (const { name, run } of tests) {
		const t = new T(browser, name)
		const start = Date.now()
		try {
			await withTime(run(t), name)
			t.check()
			passed++
			console.log(`ok   ${name} (${Date.now() - start} ms)`)
		} catch (e) {
			failed++
			console.log(`FAIL ${name}\n${String(e.stack ?? e).replace(/^/gm, '     ')}`)
			const page = t.contexts.at(-1)?.pages()[0]
			// before its page is closed
			if (page) await t.picture(page, `failed-${name.replace(/\W+/g, '-').slice(0, 80)}`).catch(() => {})
		}
		await t.close()
		await leave().catch((e) => console.log(`     what it left stays: ${e.message}`))
	}
	await browser.close()
	console.log(`${passed} passed, ${failed} failed`)
	return failed === 0
}
