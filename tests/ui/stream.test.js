/*
 * The live contract (A5, A6, A7): nothing is lost by a cut, a stall, a restart; a question is there within a second;
 * an answer given here is gone there. Pauses are those of a site whose heartbeat is 2 s.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { api, delegate, runState, seed, seedName, SLOW, sql, test, until, url, within } from './lib/harness.js'
import { axe } from './lib/judge.js'

const HEARTBEAT_MS = 2000
const program = (name) => `${process.env.ASB_RUN_DIR}/programs/${name}`
/** Tells each of these programs' supervisors, and returns when it has come to that. */
const supervise = (how, ...names) => names.forEach((name) => execFileSync('s6-svc', [...how, program(name)]))
const [UP, DOWN] = [['-wu', '-u'], ['-wD', '-d']]
/** Down and up: what does not stop in time is killed, which s6-svc -r does not do. */
const restart = (...names) => [DOWN, UP].forEach((how) => supervise(how, ...names))
const pidOf = (name) => Number(execFileSync('s6-svstat', ['-o', 'pid', program(name)], { encoding: 'utf8' }))
const pause = (ms) => new Promise((r) => setTimeout(r, ms))

/** n rows more in the trace of a seeded run, as a runner would write them. @returns the last seq */
const addRows = (session, n) =>
	Number(
		sql(`INSERT INTO trace (account_id, run_id, seq, turn, kind, text) SELECT r.account_id, r.id, m.seq + i, 1, 'say', 'row ' || (m.seq + i)
			FROM runs r, LATERAL (SELECT coalesce(max(seq), 0) AS seq FROM trace WHERE run_id = r.id) m, generate_series(1, ${n}) i WHERE r.name = '${session}';
			SELECT max(t.seq) FROM trace t JOIN runs r ON r.id = t.run_id WHERE r.name = '${session}'`),
	)
const seqs = (page) => page.evaluate(async () => (await import('/app.js')).$lib_store.focus.value.trace.map((r) => r.seq))
const state = (page) => page.evaluate(async () => (await import('/app.js')).$lib_events.connection.value.state)
const live = (page) => until(async () => (await state(page)) === 'live', 'the page is live', 20_000 * SLOW)
const look = (page) => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))

/** All rows up to `last` are there: in order, each once. */
async function whole(page, last, ms, what) {
	await until(async () => (await seqs(page)).at(-1) === last, `${what}: the last row`, ms * SLOW)
	const got = await seqs(page)
	assert.deepEqual(got, Array.from({ length: got.length }, (_, i) => got[0] + i), `${what}: in order, each once`)
	return got
}

async function onRun(t, n) {
	seed()
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${seedName(n)}`)
	await live(page)
	await until(async () => (await page.evaluate(async () => (await import('/app.js')).$lib_store.focus.value?.status)) === 'ready')
	return page
}

test('A5: the stream is cut, 500 rows are missed, all are there within 3 s of looking again', async (t) => {
	t.allow(/503|ERR_|Failed to load/)
	const page = await onRun(t, 1)
	const before = (await seqs(page))[0]
	supervise(DOWN, 'live')
	const last = addRows(seedName(1), 500)
	await until(async () => (await state(page)) !== 'live', 'the page notices')
	await pause(3 * HEARTBEAT_MS)
	supervise(UP, 'live')
	await look(page)
	const got = await whole(page, last, 3000, 'after a cut')
	assert.equal(got[0], before, 'and what was there is there')
	await live(page)
})

test('A5: a silent stall is noticed within 2.5 heartbeats, and mended', async (t) => {
	t.allow(/503|504|ERR_|Failed to load/)
	const page = await onRun(t, 2)
	const pid = pidOf('live')
	process.kill(pid, 'SIGSTOP')
	const start = Date.now()
	let last
	try {
		last = addRows(seedName(2), 50)
		await until(async () => (await state(page)) === 'retrying', 'the stall is noticed', 2.5 * HEARTBEAT_MS + 2500 * SLOW)
		assert(Date.now() - start >= HEARTBEAT_MS, 'and not before a heartbeat was due')
	} finally {
		process.kill(pid, 'SIGCONT')
	}
	await whole(page, last, 2.5 * HEARTBEAT_MS + 2000, 'after a stall')
	await live(page)
})

test('A5: nginx is reloaded, it and the programs are restarted: nobody has to do anything', async (t) => {
	t.allow(/50\d|ERR_|Failed to load/)
	const page = await onRun(t, 1)
	const reload = () => process.kill(pidOf('nginx'), 'SIGHUP')
	for (const [what, act] of [
		['a reload of nginx', reload],
		['a restart of nginx', () => restart('nginx')],
		['a restart of web and live', () => restart('web', 'live')],
	]) {
		act()
		const last = addRows(seedName(1), 20)
		await whole(page, last, 15_000, `after ${what}`)
		await live(page)
	}
	assert.equal(await page.locator('.banner').count(), 0)
})

test('A6, A7: a question is there within a second; answered on the phone it is gone from the desktop', async (t) => {
	const desktop = await t.page()
	const phone = await t.page({ size: 'phone' })
	const late = await t.page()
	for (const p of [desktop, phone, late]) {
		await p.goto(`${url}/dashboard/runs`)
		await live(p)
	}
	let run = null
	const mine = (p) => p.locator(`.waiting-card[data-run="${run.session}"]`)
	const ask = async () => {
		run = await delegate('name=$(asb-ask "Whom shall I greet?"); echo "Hello, $name!"; sleep 1', { title: 'Greeting A7' })
		await mine(desktop).waitFor({ timeout: 60_000 * SLOW })
		const seen = Date.now()
		return seen - Date.parse((await api(`/watch.json?session=${run.session}`)).question.asked_at)
	}
	const answer = async () => {
		await mine(phone).locator('textarea').fill('Ada')
		await mine(phone).getByRole('button', { name: /^Send|^Answer/ }).click()
		const sent = Date.now()
		await mine(desktop).waitFor({ state: 'detached' })
		return Date.now() - sent
	}
	const folded = async (p) => {
		await mine(p).waitFor()
		if (await mine(p).locator('.waiting-fold').count()) await mine(p).locator('.waiting-fold').click()
		await mine(p).locator('textarea').waitFor()
	}
	const shown = await ask()
	for (const p of [phone, late]) await folded(p)
	// the third hears nothing any more, and answers too late
	await late.route(/events\.sse|fleet\.json/, () => {})
	await late.evaluate(async () => (await import('/app.js')).$lib_events.retryNow())
	await mine(late).locator('textarea').fill('the second answer')
	const gone = await answer()
	t.allow(/409/)
	if (await mine(late).count()) {
		await mine(late).getByRole('button', { name: /^Send|^Answer/ }).click()
		await mine(late).getByText('Ada').waitFor()
		assert.match(await late.evaluate(() => JSON.stringify({ ...localStorage })), /the second answer/, 'what was typed is kept')
	}
	await runState(run.session, 'done')
	assert.match((await api(`/log.json?session=${run.session}`)).lines.map((l) => l.text).join('\n'), /Hello, Ada!/)
	await within(1000, 'the question is seen', shown, ask)
	await within(1000, 'its answer is seen elsewhere', gone, async () => {
		await ask()
		await folded(phone)
		return answer()
	})
})

test('R7: no row moves under a pointer, until it rests or leaves', async (t) => {
	const page = await t.page()
	const run = await delegate('sleep 600', { title: 'Ends under a pointer' })
	await page.goto(`${url}/dashboard/runs`)
	await live(page)
	const row = page.locator(`section[aria-labelledby=g-working] [data-run="${run.session}"]`)
	await runState(run.session, 'running')
	await row.and(page.locator('.is-running')).waitFor()
	// the page keeps the times itself: whoever asks it from outside may ask too late
	await page.evaluate((session) => {
		const seen = (window.seen = { moves: 0, still: 0 })
		document.querySelector('.groups').addEventListener('pointermove', (e) => {
			seen.moves++
			seen.last = e.timeStamp
		})
		new MutationObserver(() => {
			const at = document.querySelector(`[data-run="${session}"]`)
			const ended = at?.matches('.is-stopped, .is-gone')
			if (ended && at.closest('[aria-labelledby=g-working]')) seen.held ??= performance.now()
			if (ended && at.closest('[aria-labelledby=g-recent]') && !seen.moved) {
				seen.moved = performance.now()
				seen.still = seen.moved - (seen.last ?? 0)
			}
		}).observe(document.querySelector('.groups'), { subtree: true, childList: true, attributes: true, characterData: true })
	}, run.session)
	const seen = () => page.evaluate(() => window.seen)
	// a hand that goes over the list, until the row says that the run has ended
	let over = false
	const hand = (async () => {
		let box
		for (let i = 0; !over; i++) {
			// rows above it may still come or go, and it may lie below the window's edge, until the hand has found it
			if (!box || (await seen()).moves === 0) {
				await row.scrollIntoViewIfNeeded()
				box = await row.boundingBox()
			}
			await page.mouse.move(box.x + 200 + (i % 9), box.y + 10)
			await pause(100)
		}
	})()
	try {
		await until(async () => (await seen()).moves > 0, 'the pointer is there')
		await api('/teardown.json', { session: run.session })
		await until(async () => (await seen()).held || (await seen()).moved, 'the row says that it has ended')
	} finally {
		over = true
		await hand
	}
	assert((await seen()).held, 'it had ended, and was where it was')
	await until(async () => (await seen()).moved, 'it moves when the pointer rests')
	assert((await seen()).still >= 2000, `${(await seen()).still} ms after the last movement`)
})

test('the title, the badge and a screen reader are told of a question', async (t) => {
	const page = await t.page()
	await page.addInitScript(() => {
		navigator.setAppBadge = async (n) => {
			window.badge = n
		}
	})
	await page.goto(`${url}/dashboard/help`)
	await live(page)
	await until(async () => page.evaluate(async () => (await import('/app.js')).$lib_store.fleet.value.at > 0))
	const before = await page.evaluate(() => window.badge ?? 0)
	const run = await delegate('asb-ask "Shall I go on?"', { title: 'Told' })
	await page.getByRole('alert').filter({ hasText: 'Shall I go on?' }).waitFor({ state: 'attached', timeout: 60_000 * SLOW })
	assert.equal(await page.evaluate(() => window.badge), before + 1)
	assert.match(await page.title(), new RegExp(`^\\(${before + 1}\\) Help`))
	await api('/teardown.json', { session: run.session })
})

test('quiet for 5 s, a chip until 30 s, a banner after', async (t) => {
	t.allow(/503|ERR_|Failed to load/)
	seed()
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs`)
	await live(page)
	await page.route('**/events.sse*', (r) => r.abort())
	// the page keeps the times itself: asb-live may take long to come back
	await page.evaluate(async () => {
		const { connection } = (await import('/app.js')).$lib_events
		const seen = (window.seen = {})
		connection.subscribe((c) => {
			if (c.state !== 'live') seen.lost ??= Date.now()
		})
		new MutationObserver(() => {
			if (document.body.textContent.includes('Reconnecting')) seen.chip ??= Date.now()
		}).observe(document.body, { subtree: true, childList: true, characterData: true })
	})
	restart('live')
	await until(async () => (await state(page)) === 'retrying', 'it notices')
	await page.locator('.rail').getByText('Reconnecting').waitFor({ timeout: 9000 * SLOW })
	const { lost, chip } = await page.evaluate(() => window.seen)
	// its clock ticks once a second
	assert(chip - lost >= 5000 - 1000, `quiet at first: said after ${chip - lost} ms`)
	await t.picture(page, 'connection-chip-desktop-light')
	await page.evaluate(async () => {
		const { connection } = (await import('/app.js')).$lib_events
		connection.value = { ...connection.value, since: Date.now() - 31_000 }
	})
	await page.getByText('The server cannot be reached.').waitFor()
	await axe(page, 'connection banner')
	await t.picture(page, 'connection-banner-desktop-light')
	await page.unroute('**/events.sse*')
	await page.getByRole('button', { name: 'Try now' }).click()
	await live(page)
	assert.equal(await page.locator('.banner').count(), 0)
})

test('offline: what is known stays, with its age; nothing is sent', async (t) => {
	t.allow(/ERR_INTERNET_DISCONNECTED|Failed to load/)
	seed()
	for (const size of ['phone', 'desktop']) {
		const page = await t.page({ size })
		await page.goto(`${url}/dashboard/runs`)
		await live(page)
		await page.locator('.run-row').nth(5).waitFor()
		await page.context().setOffline(true)
		await page.getByText('You are offline.').waitFor()
		assert(await page.locator('.run-row').count() > 5, 'the runs are still there')
		await axe(page, `offline ${size}`)
		await t.picture(page, `offline-${size}-light`)
		await page.context().setOffline(false)
		await live(page)
	}
})

test('a new version on the server is offered, not forced', async (t) => {
	const page = await t.page()
	let said = false
	await page.route('**/events.sse*', (r) => {
		if (said) return r.continue()
		said = true
		return r.fulfill({ contentType: 'text/event-stream', body: `event: hello\ndata: {"seq":1,"heartbeat_s":2,"server_time":"${new Date().toISOString()}","ui_version":"another"}\n\n` })
	})
	await page.goto(`${url}/dashboard/help`)
	await page.getByText('A new version is on the server.').waitFor()
	await axe(page, 'update prompt')
	await t.picture(page, 'update-desktop-light')
})
