/* What was typed is kept (A9), the session that ends (sheet over the page), the service worker, and a whole journey by keys (A10). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { api, delegate, runState, SLOW, sql, test, token, until, url } from './lib/harness.js'
import { axe } from './lib/judge.js'
import { PATCH } from './lib/runrows.js'
import { go } from './lib/runstates.js'

const task = (page) => page.getByLabel('What is to be done?')
const openNew = async (page, query = '') => {
	await page.goto(`${url}/dashboard/new${query}`)
	await task(page).waitFor()
}

test('A9: a draft survives reload and other screens, and is gone once it is sent', async (t) => {
	const page = await t.page()
	await openNew(page)
	await task(page).fill('echo a draft')
	await page.getByLabel('Repositories').check()
	await page.getByLabel('Repository', { exact: true }).fill('acme/site')
	await page.reload()
	assert.equal(await task(page).inputValue(), 'echo a draft')
	assert.equal(await page.getByLabel('Repository', { exact: true }).inputValue(), 'acme/site')
	await page.getByRole('link', { name: 'Machines' }).click()
	await page.getByRole('heading', { name: 'Machines', level: 1 }).waitFor()
	await page.goBack()
	assert.equal(await task(page).inputValue(), 'echo a draft')
	await page.getByLabel('None').check()
	await page.getByRole('button', { name: 'Start run' }).click()
	await page.waitForURL('**/runs/run-*')
	const session = page.url().match(/run-[a-z0-9]{16}/)[0]
	await runState(session, 'done')
	await openNew(page)
	assert.equal(await task(page).inputValue(), '')
	// and the run can be done again
	await openNew(page, `?from=${session}`)
	await until(async () => (await task(page).inputValue()) === 'echo a draft')
	await task(page).fill('')
})

test('A9: Enter is a new line; Ctrl+Enter while an input method composes sends nothing', async (t) => {
	const page = await t.page()
	let sent = 0
	page.on('request', (r) => {
		if (r.url().endsWith('/delegate.json')) sent++
	})
	await openNew(page)
	await task(page).fill('one')
	await page.keyboard.press('End')
	await page.keyboard.press('Enter')
	await page.keyboard.type('two')
	assert.equal(await task(page).inputValue(), 'one\ntwo')
	for (const more of [{ isComposing: true }, { keyCode: 229 }])
		await task(page).evaluate((el, m) => el.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true, ...m })), more)
	await page.waitForTimeout(200)
	assert.equal(sent, 0)
	await task(page).fill('true')
	await page.keyboard.press('Control+Enter')
	await page.waitForURL('**/runs/run-*')
	assert.equal(sent, 1, 'and without one it sends')
})

test('A9: the session ends: a sheet over the page, drafts kept, and on it goes', async (t) => {
	t.allow(/401/)
	const page = await t.page({ fresh: true })
	await openNew(page)
	await task(page).fill('echo kept over the end of the session')
	await page.context().clearCookies()
	await page.keyboard.press('Control+Enter')
	const sheet = page.getByRole('dialog', { name: 'Sign in again' })
	await sheet.waitFor()
	await axe(page, 'sign-in sheet')
	await t.picture(page, 'signin-sheet-desktop-light')
	await page.keyboard.press('Escape')
	assert.equal(await sheet.count(), 1, 'it cannot be closed without signing in')
	await sheet.getByLabel('Operator’s token').fill(token())
	await page.keyboard.press('Enter')
	await sheet.waitFor({ state: 'detached' })
	assert.equal(await task(page).inputValue(), 'echo kept over the end of the session')
	await page.getByRole('button', { name: 'Start run' }).click()
	await page.waitForURL('**/runs/run-*')
})

test('an uploaded tree is there, also one that was gzipped', async (t) => {
	const { execFileSync } = await import('node:child_process')
	const tgz = execFileSync('tar', ['-czf', '-', '-C', new URL('.', import.meta.url).pathname, 'seed.sql'])
	const page = await t.page()
	await openNew(page)
	await task(page).fill('ls -R /workspace')
	await page.getByLabel('Upload').check()
	await page.locator('input[type=file]').setInputFiles({ name: 'tree.tar.gz', mimeType: 'application/gzip', buffer: tgz })
	await page.getByText('tree.tar.gz').waitFor()
	await page.getByRole('button', { name: 'Start run' }).click()
	await page.waitForURL('**/runs/run-*')
	const session = page.url().match(/run-[a-z0-9]{16}/)[0]
	await runState(session, 'done', 'failed')
	assert.match((await api(`/log.json?session=${session}`)).lines.map((l) => l.text).join('\n'), /seed\.sql/)
})

test('the service worker keeps the shell and nothing else; without a network the page says so', async (t) => {
	t.allow(/ERR_|Failed to load|fetch/)
	const page = await t.page({ sw: true })
	await page.goto(`${url}/dashboard/runs`)
	await page.evaluate(() => navigator.serviceWorker.ready.then((r) => new Promise((ok) => (r.active?.state === 'activated' ? ok() : r.active.addEventListener('statechange', ok)))))
	const kept = await until(async () => {
		const all = await page.evaluate(async () => {
			const out = []
			for (const k of await caches.keys()) for (const r of await (await caches.open(k)).keys()) out.push(new URL(r.url).pathname)
			return out
		})
		return all.includes('/dashboard/index.html') && all.includes('/run/page.js') && all
	}, 'the shell is kept')
	assert.deepEqual(kept.filter((p) => /\.(json|sse)$|blob|upload/.test(p)), [])
	await page.context().setOffline(true)
	await page.reload()
	await page.getByText('Agent Sandbox cannot be reached').waitFor()
	await t.picture(page, 'offline-start-desktop-light')
	await page.context().setOffline(false)
	await page.getByRole('button', { name: 'Try again' }).click()
	await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
})

test('it can be installed: manifest, icons', async (t) => {
	const page = await t.page({ out: true })
	await page.goto(url)
	const m = await page.evaluate(async () => (await fetch('/manifest.webmanifest')).json())
	assert.equal(m.display, 'standalone')
	for (const i of m.icons) {
		const size = await page.evaluate(async (src) => {
			const res = await fetch(src)
			const b = await createImageBitmap(await res.blob()).catch(() => null)
			return [res.status, res.headers.get('Content-Type'), b && `${b.width}x${b.height}`]
		}, i.src)
		assert.equal(size[0], 200)
		assert.equal(size[1], i.type)
		if (i.type === 'image/png') assert.equal(size[2], i.sizes)
	}
	assert(m.icons.some((i) => i.purpose === 'maskable'))
})

/** Tab until `is`, a function or an expression, says of the focus that it is there, at most n times. */
async function tabTo(page, is, what, n = 80, key = 'Tab') {
	for (let i = 0; i < n; i++) {
		if (await page.evaluate(is)) return
		await page.keyboard.press(key)
	}
	throw new Error(`${key} does not reach ${what}`)
}

test('A10: sign in, start, answer, patch, tear down: by keys alone', async (t) => {
	const page = await t.page({ out: true })
	await page.goto(`${url}/dashboard/signin`)
	await page.getByLabel('Operator’s token').waitFor()
	await page.keyboard.insertText(token())
	await page.keyboard.press('Enter')
	await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
	await page.keyboard.press('c')
	await until(() => page.evaluate(() => document.activeElement?.dataset?.field === 'task'), 'the task has the focus')
	await page.keyboard.insertText('echo one >/workspace/file.txt\na=$(asb-ask "Go on?")\necho "$a" >>/workspace/file.txt')
	await page.keyboard.press('Control+Enter')
	await page.waitForURL('**/runs/run-*')
	const session = page.url().match(/run-[a-z0-9]{16}/)[0]
	await page.locator('textarea').first().waitFor({ timeout: 60_000 * SLOW })
	await tabTo(page, () => document.activeElement?.tagName === 'TEXTAREA', 'the answer')
	await page.keyboard.insertText('yes')
	await page.keyboard.press('Control+Enter')
	await runState(session, 'done')
	await tabTo(page, () => /Patch/.test(document.activeElement?.textContent ?? '') && document.activeElement.matches('a'), 'the patch')
	await page.keyboard.press('Enter')
	await page.waitForURL('**/patch')
	// it stands before the tabs
	await tabTo(page, () => document.activeElement?.matches('button') && document.activeElement.textContent.trim() === 'Tear down', 'tear down', 20, 'Shift+Tab')
	await page.keyboard.press('Enter')
	await page.getByRole('dialog').waitFor()
	await tabTo(page, () => document.activeElement?.matches('dialog .button.danger'), 'the dialog’s button', 10)
	await page.keyboard.press('Enter')
	await until(() => sql(`SELECT count(*) FROM boxes b JOIN runs r ON r.box_id = b.id WHERE r.name = '${session}' AND b.state = 'gone'`) === '1', 'the box is gone', 60_000 * SLOW)
})

test('A10: a patch is downloaded by keys alone', async (t) => {
	const page = await t.page()
	await go('finished', 'patch', '.d-row')(page)
	await tabTo(page, () => document.activeElement?.matches('a[download]') && /Download patch/.test(document.activeElement.textContent), 'the download')
	const [got] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
	assert.equal(readFileSync(await got.path(), 'utf8'), PATCH)
})

test('A10: a machine is opened and torn down by keys alone', async (t) => {
	const { session } = await delegate('sleep 600')
	await runState(session, 'running')
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs`)
	await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
	await page.keyboard.press('g')
	await page.keyboard.press('m')
	await page.waitForURL('**/machines')
	const card = page.locator('.box-card', { has: page.locator(`a[href$="${session}"]`) }).first()
	await card.waitFor()
	const box = await card.getAttribute('data-box')
	const isOn = (words) => `document.activeElement?.textContent.trim() === '${words}' && document.activeElement.closest('.box-card')?.dataset.box === '${box}'`
	const tabOn = (words) => tabTo(page, isOn(words), words, 200)
	await tabOn('Open run')
	await page.keyboard.press('Enter')
	await page.waitForURL(`**/runs/${session}`)
	await page.goBack()
	await card.waitFor()
	await tabOn('Tear down')
	await page.keyboard.press('Enter')
	const dialog = page.getByRole('dialog')
	await dialog.waitFor()
	assert.match(await dialog.innerText(), /lost/i, 'what is lost')
	await until(() => page.evaluate(() => document.activeElement?.textContent.trim() === 'Cancel'), 'the focus is where nothing is lost')
	await page.keyboard.press('Escape')
	await dialog.waitFor({ state: 'detached' })
	assert(await page.evaluate(isOn('Tear down')), 'the focus is back')
	await page.keyboard.press('Enter')
	await dialog.waitFor()
	await tabTo(page, () => document.activeElement?.matches('dialog .button.danger'), 'the dialog’s button', 10)
	await page.keyboard.press('Enter')
	await until(() => sql(`SELECT state FROM boxes WHERE name = '${box}'`) === 'gone', 'the box is gone', 60_000 * SLOW)
	await card.waitFor({ state: 'detached' })
	assert(await page.evaluate(() => document.activeElement !== document.body), 'the focus is not lost')
})
