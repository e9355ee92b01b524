/* Sign-in: a token, a link, wrong, throttled, offline; what the browser keeps of it; and the landing page. */
import assert from 'node:assert/strict'
import { api, sql, test, token, url } from './lib/harness.js'
import { screen } from './lib/judge.js'

const open = async (page) => {
	await page.goto(`${url}/dashboard/signin`)
	await page.getByLabel('Operator’s token').waitFor()
}

test('landing', (t) =>
	screen(t, 'landing', async (page) => {
		await page.goto(url)
		await page.getByRole('heading', { level: 1 }).waitFor()
		await page.waitForTimeout(100)
	}, { out: true }))

test('landing: both doors lead somewhere', async (t) => {
	const page = await t.page({ out: true })
	t.allow(/401/)
	await page.goto(url)
	await page.locator('.l-doors').getByRole('link', { name: 'Use the command line' }).click()
	assert.match(page.url(), /#cli$/)
	await page.locator('.l-head').getByRole('link', { name: 'Open the dashboard' }).click()
	await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('sign-in', (t) => screen(t, 'signin', open, { out: true }))

test('sign-in: wrong', async (t) => {
	t.allow(/401/)
	await screen(t, 'signin-wrong', async (page) => {
		await open(page)
		await page.getByLabel('Operator’s token').fill('not the token')
		await page.keyboard.press('Enter')
		await page.getByText('That token is not right.').waitFor()
		assert.equal(await page.getByLabel('Operator’s token').getAttribute('aria-invalid'), 'true')
		assert.equal(await page.getByLabel('Operator’s token').inputValue(), 'not the token', 'it is still there to be mended')
	}, { out: true })
	sql('DELETE FROM throttle')
})

test('sign-in: throttled', async (t) => {
	t.allow(/429/)
	await screen(t, 'signin-throttled', async (page) => {
		await page.route('**/login.json', (r) => r.fulfill({ status: 429, headers: { 'Retry-After': '90' }, json: { error: { code: 'limited', message: 'too many' } } }))
		await open(page)
		await page.getByLabel('Operator’s token').fill('x')
		await page.keyboard.press('Enter')
		await page.getByText('You can try again in').waitFor()
	}, { out: true, sizes: ['phone'] })
})

test('sign-in: offline', async (t) => {
	t.allow(/ERR_INTERNET_DISCONNECTED|Failed to load/)
	await screen(t, 'signin-offline', async (page) => {
		await open(page)
		await page.context().setOffline(true)
		await page.getByLabel('Operator’s token').fill('x')
		await page.keyboard.press('Enter')
		await page.getByText('You are offline.').waitFor()
	}, { out: true, sizes: ['desktop'] })
})

test('sign-in: the token is exchanged once, by paste, and kept nowhere', async (t) => {
	const page = await t.page({ out: true })
	await open(page)
	const field = page.getByLabel('Operator’s token')
	assert.equal(await field.getAttribute('autocomplete'), 'current-password')
	await page.evaluate((s) => navigator.clipboard.writeText(s), `  ${token()}\n`)
	await field.press('Control+V')
	await field.press('Enter')
	await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
	assert.match(page.url(), /\/dashboard\/runs$/)
	const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]))
	assert(!kept.includes(token()), 'not in what a script can read')
	const cookies = await page.context().cookies()
	assert.equal(cookies.length, 1)
	assert.equal(cookies[0].httpOnly, true)
	await page.reload()
	await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
})

test('sign-in: a link works once, and its code leaves the address', async (t) => {
	const { code } = await api('/signin_code.json', {})
	const page = await t.page({ out: true })
	await page.goto(`${url}/dashboard/signin#code=${code}`)
	await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
	assert(!page.url().includes(code))
	t.allow(/401/)
	const again = await t.page({ out: true })
	await again.goto(`${url}/dashboard/signin#code=${code}`)
	await again.getByText('That sign-in link is used up or too old.').waitFor()
	assert(!again.url().includes(code))
	await again.getByLabel('Operator’s token').waitFor()
	await t.picture(again, 'signin-link-used-desktop-light')
})

test('sign-out ends the session and drops drafts', async (t) => {
	const page = await t.page({ fresh: true })
	await page.goto(`${url}/dashboard/new`)
	await page.getByLabel('What is to be done?').fill('a draft')
	await page.getByRole('button', { name: 'Sign out' }).click()
	await page.waitForURL('**/dashboard/signin') // the page is loaded anew; a goto before that would be aborted
	await page.getByRole('heading', { name: 'Sign in' }).waitFor()
	assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith('draft:')).length), 0)
	t.allow(/401/)
	await page.goto(`${url}/dashboard/runs`)
	await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})
