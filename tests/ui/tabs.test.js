/*
 * Several tabs of one browser: a hidden one lets go of its stream, hears of the fleet all the same, and takes over when
 * the tab that led is closed. A browser without a window shows every tab, so that hidden is said to the page here.
 */
import assert from 'node:assert/strict'
import { api, delegate, SLOW, test, until, url } from './lib/harness.js'

const state = (page) => page.evaluate(async () => (await import('/app.js')).$lib_events.connection.value.state)
const is = (page, want, what) => until(async () => (await state(page)) === want, what, 30_000 * SLOW)
const hide = (page, hidden) =>
	page.evaluate((h) => {
		Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (h ? 'hidden' : 'visible') })
		document.dispatchEvent(new Event('visibilitychange'))
	}, hidden)

test('tabs: a hidden one beside another holds no stream, misses nothing, and leads when it is alone', async (t) => {
	const first = await t.page()
	await first.goto(`${url}/dashboard/runs`)
	await is(first, 'live', 'the first is live')
	const second = await first.context().newPage()
	await second.goto(`${url}/dashboard/help`)
	await is(second, 'live', 'the second is live too: somebody looks at it')
	await until(() => second.evaluate(async () => (await import('/app.js')).$lib_store.fleet.value.at > 0), 'it knows the fleet')
	for (const page of [first, second]) await hide(page, true)
	await is(second, 'resting', 'the second lets go')
	assert.equal(await state(first), 'live', 'the one that leads does not')
	const before = Number(/^\((\d+)\)/.exec(await second.title())?.[1] ?? 0)
	const run = await delegate('asb-ask "Who listens?"', { title: 'Heard by another tab' })
	await until(async () => (await second.title()).startsWith(`(${before + 1})`), 'it hears of the question', 60_000 * SLOW)
	assert.equal(await state(second), 'resting', 'from the other tab')
	await first.close()
	await is(second, 'live', 'now it listens itself, hidden as it is')
	await api('/teardown.json', { session: run.session })
	await until(async () => !(await second.title()).startsWith(`(${before + 1})`), 'and hears by itself', 30_000 * SLOW)
	const third = await second.context().newPage()
	await third.goto(`${url}/dashboard/help`)
	await is(third, 'live', 'another')
	await hide(third, true)
	await is(third, 'resting', 'lets go')
	await hide(third, false)
	await is(third, 'live', 'and is live at once when somebody looks')
})
