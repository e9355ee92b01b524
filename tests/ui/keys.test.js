/* Keys and connected clients: made, copied, revoked, by keyboard alone; and a client that asks to be connected. */
import assert from 'node:assert/strict'
import { api, comes, sql, test, until, url } from './lib/harness.js'
import { axe, repainted, screen } from './lib/judge.js'

const clear = () => sql('TRUNCATE oauth_codes, oauth_tokens, oauth_grants, oauth_clients, api_keys, secrets')
const withKey = (key, path) => fetch(url + path, { headers: { Authorization: `Bearer ${key}` } })
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const CALLBACK = 'http://127.0.0.1:9/callback'

async function keysPage(page) {
	await page.goto(`${url}/dashboard/keys`)
	await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
}

/** A client, and its link. */
async function client(name, callback = CALLBACK) {
	const res = await fetch(`${url}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ client_name: name, redirect_uris: [callback] }) })
	const { client_id } = await res.json()
	const q = new URLSearchParams({ response_type: 'code', client_id, redirect_uri: callback, code_challenge: CHALLENGE, code_challenge_method: 'S256', state: 's', resource: `${url}/mcp` })
	return `${url}/oauth/authorize?${q}`
}

/** Two keys and a client, in rows: one was used, one has expired. */
async function rows() {
	clear()
	await api('/create_key.json', { title: 'CI of the shop', scope: 'run:write', lifetime_ms: 86_400_000 * 90 })
	await api('/create_key.json', { title: 'A look at the fleet, on the screen in the kitchen', scope: 'run:read' })
	sql(`UPDATE api_keys SET last_used_at = now() - interval '3 min', last_used_address = '192.0.2.17', last_used_client = 'asb/1.0' WHERE scopes LIKE '%write'`)
	sql(`UPDATE api_keys SET expires_at = now() - interval '1 day' WHERE scopes = 'run:read'`)
	sql(`WITH g AS (INSERT INTO oauth_grants (account_id, user_id, name, client_id, title, redirect_uri, scopes, resource, last_used_at, last_used_address, last_used_client)
		SELECT a.id, u.id, 'grant-picture', 'https://editor.example/client.json', 'Some <b>Editor</b>', 'http://127.0.0.1/cb', 'run:read run:write', 'x', now(), '192.0.2.18', 'editor/2'
		FROM accounts a, users u WHERE a.name = 'operator' AND u.name = 'operator' RETURNING id, account_id)
		INSERT INTO oauth_tokens (account_id, grant_id, kind, token_sha256, scopes, expires_at) SELECT account_id, id, 'refresh', 'x', 'run:read', now() + interval '1 day' FROM g`)
}

test('keys: none yet', async (t) => {
	clear()
	await screen(t, 'keys-none', async (page) => {
		await keysPage(page)
		await page.getByRole('heading', { name: 'No keys' }).waitFor()
		await page.getByRole('heading', { name: 'Nothing is connected' }).waitFor()
	})
})

test('keys: some, and a client', async (t) => {
	await rows()
	await screen(t, 'keys', async (page) => {
		await keysPage(page)
		for (const text of ['CI of the shop', 'from 192.0.2.17, asb/1.0', 'Expired', 'Some <b>Editor</b>']) await page.getByText(text).waitFor()
	})
})

test('keys: how each client is told of the site', async (t) => {
	const { clients } = await api('/clients.json')
	const page = await t.page()
	await keysPage(page)
	for (const c of [clients[0], clients.find((x) => x.format === 'codex')]) {
		await page.getByLabel('Your client').selectOption(c.format)
		await page.getByRole('group', { name: c.file }).waitFor()
		assert.equal(await page.getByRole('group', { name: c.file }).textContent(), c.text)
		assert.ok(c.text.includes(`${url}/mcp`))
	}
	await page.getByText('clients read it at launch').waitFor()
})

test('keys: one is made, shown once, used and revoked, by keyboard alone', async (t) => {
	clear()
	const page = await t.page()
	await keysPage(page)
	await page.getByRole('heading', { name: 'No keys' }).waitFor()
	await page.getByRole('button', { name: 'New key' }).focus()
	await page.keyboard.press('Enter')
	await page.getByRole('dialog', { name: 'New key' }).waitFor()
	await page.keyboard.press('Enter')
	await page.getByText('Say what the key is for.').waitFor()
	await page.keyboard.type('a laptop')
	await page.keyboard.press('Tab')
	await page.keyboard.press('ArrowUp')
	for (const theme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme: theme })
		await repainted(page)
		await axe(page, `new key ${theme}`)
		await t.picture(page, `keys-new-desktop-${theme}`)
	}
	await page.getByLabel('What is it for?').focus()
	await page.keyboard.press('Enter')
	const dialog = page.getByRole('dialog', { name: 'Copy the key now' })
	await dialog.waitFor()
	const key = await dialog.locator('[data-secret]').textContent()
	assert.match(key, /^asb_key_[0-9A-Za-z]{36}$/)
	await axe(page, 'the key')
	await dialog.getByRole('button', { name: 'Copy the key' }).focus()
	await page.keyboard.press('Enter')
	await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === key, 'it is copied')
	assert.equal((await withKey(key, '/fleet.json')).status, 200)
	assert.equal(sql('SELECT scopes FROM api_keys'), 'run:read', 'the arrow chose')
	// Esc does not lose it: there is no other copy
	await page.keyboard.press('Escape')
	await dialog.waitFor()
	await dialog.getByRole('button', { name: 'I have it' }).focus()
	await page.keyboard.press('Enter')
	await dialog.waitFor({ state: 'detached' })
	assert(!(await page.content()).includes(key), 'it is gone from the page')
	const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state]))
	assert(!kept.includes(key), 'and was nowhere else')
	await page.getByRole('button', { name: 'Revoke' }).focus()
	await page.keyboard.press('Enter')
	const sure = page.getByRole('dialog', { name: 'Revoke this key?' })
	await sure.waitFor()
	assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel')
	await axe(page, 'revoke')
	await t.picture(page, 'keys-revoke-desktop-dark')
	await page.keyboard.press('Tab')
	await page.keyboard.press('Enter')
	await page.getByRole('heading', { name: 'No keys' }).waitFor()
	await comes(() => page.evaluate(() => document.activeElement.textContent), 'New key', 'what was revoked leaves the focus to what stands by it')
	assert.equal((await withKey(key, '/fleet.json')).status, 401)
})

test('secrets: entered, used, replaced and removed; on the page only when', async (t) => {
	clear()
	const VALUE = 'sk-ant-a-secret-of-this-test'
	const page = await t.page({ size: 'phone' })
	await keysPage(page)
	await page.getByText('Not set').waitFor()
	await page.getByRole('button', { name: 'Enter: Anthropic API key' }).tap()
	const dialog = page.getByRole('dialog', { name: 'Anthropic API key' })
	await dialog.getByRole('button', { name: 'Set it' }).tap()
	await dialog.getByText('Paste the secret.').waitFor()
	const field = dialog.getByLabel('Anthropic API key')
	assert.deepEqual(await field.evaluate((e) => [e.type, e.autocomplete]), ['password', 'off'])
	t.allow(/422/)
	await field.fill('two words')
	await dialog.getByRole('button', { name: 'Set it' }).tap()
	await dialog.getByText('It was not set').waitFor()
	assert.equal(await field.inputValue(), '', 'it is not kept for another try')
	await axe(page, 'a secret that was refused')
	await field.fill(VALUE)
	await t.picture(page, 'secrets-enter-phone-light')
	await dialog.getByRole('button', { name: 'Set it' }).tap()
	await dialog.waitFor({ state: 'detached' })
	await page.getByRole('button', { name: 'Replace: Anthropic API key' }).waitFor()
	assert(!(await page.content()).includes(VALUE), 'it is not on the page')
	const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state]))
	assert(!kept.includes(VALUE), 'and nowhere else')
	assert.equal(sql(`SELECT count(*) FROM secrets s WHERE position('sk-ant'::bytea IN sealed) > 0`), '0')
	sql(`UPDATE secrets SET last_used_at = now() - interval '3 min'`)
	await screen(t, 'secrets', async (page) => {
		await keysPage(page)
		await page.getByText('3 min ago').waitFor()
	})
	await page.getByRole('button', { name: 'Remove: Anthropic API key' }).tap()
	await page.getByRole('dialog', { name: 'Remove this secret?' }).getByRole('button', { name: 'Remove' }).tap()
	await page.getByText('Not set').waitFor()
	assert.equal(sql('SELECT count(*) FROM secrets'), '0')
})

test('keys: on a phone', async (t) => {
	clear()
	const page = await t.page({ size: 'phone' })
	await page.goto(`${url}/dashboard/runs`)
	await page.getByRole('button', { name: 'More', exact: true }).tap()
	await page.getByRole('menuitem', { name: 'Keys' }).tap()
	await page.getByRole('button', { name: 'New key' }).tap()
	await page.getByLabel('What is it for?').fill('a phone')
	await t.picture(page, 'keys-new-phone-light')
	await page.getByRole('button', { name: 'Make the key' }).tap()
	await page.locator('[data-secret]').waitFor()
	await axe(page, 'the key on a phone')
	await page.getByRole('button', { name: 'I have it' }).tap()
	await page.getByText('a phone').waitFor()
})

test('connect: a client asks', async (t) => {
	clear()
	const link = await client('Some \u202eEditor <img src=x>')
	await screen(t, 'connect', async (page) => {
		await page.goto(link)
		await page.getByRole('heading', { name: /Connect/ }).waitFor()
		await page.getByText('a program on this computer (127.0.0.1:9)').waitFor()
		assert.match(page.url(), /\/dashboard\/connect\?/)
		assert.equal(await page.locator('main img').count(), 0)
	})
})

test('connect: signed in on the way, allowed, listed, disconnected', async (t) => {
	clear()
	t.allow(/401|request off the origin: http:\/\/127\.0\.0\.1:9\/callback|ERR_CONNECTION_REFUSED|Failed to load|ERR_UNSAFE_PORT/)
	const link = await client('An editor')
	for (const [answer, want] of [['Do not allow', /[?&]error=access_denied&state=s&iss=/], ['Allow', /[?&]code=asb_code_\w{36}&state=s&iss=/]]) {
		const page = await t.page()
		const gone = page.waitForRequest((r) => r.url().startsWith(CALLBACK))
		await page.goto(link)
		await page.getByRole('button', { name: answer, exact: true }).click()
		assert.match((await gone).url(), want)
		await page.context().close()
	}
	assert.equal(sql('SELECT count(*) FROM oauth_grants'), '1')
	const page = await t.page({ out: true })
	await page.goto(link)
	await page.getByLabel('Operator’s token').waitFor()
	assert.match(page.url(), /\/dashboard\/connect\?/, 'the request waits for the sign-in')
})

test('connect: what is none says so', async (t) => {
	t.allow(/40[04]|422/)
	clear()
	const page = await t.page()
	await page.goto(`${url}/oauth/authorize?client_id=client-x&redirect_uri=https%3A%2F%2Fevil.example`)
	await page.getByRole('heading', { name: 'Not connected' }).waitFor()
	assert(!(await page.content()).includes('evil'))
	await axe(page, 'not connected')
	await page.goto(`${url}/dashboard/connect?client_id=client-x&redirect_uri=https%3A%2F%2Fevil.example`)
	await page.getByText('This request cannot be answered').waitFor()
	await axe(page, 'a request that is none')
	await t.picture(page, 'connect-none-desktop-light')
})
