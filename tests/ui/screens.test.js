/* Every screen with rows in every state: axe, layout, targets, pictures. */
import assert from 'node:assert/strict'
import { comes, seed, seedName, sql, test, url } from './lib/harness.js'
import { axe, noOverflow, repainted, screen, targets } from './lib/judge.js'

const runs = async (page) => {
	await page.goto(`${url}/dashboard/runs`)
	await page.locator('.run-row').nth(8).waitFor()
	await page.locator('.waiting-card textarea').waitFor()
}

test('runs', async (t) => {
	seed()
	await screen(t, 'runs', runs)
})

test('runs: whole, with what nobody wishes for', async (t) => {
	for (const size of ['phone', 'desktop']) {
		const page = await t.page({ size })
		await runs(page)
		await t.picture(page, `runs-whole-${size}-light`, true)
		const text = await page.locator('.groups').innerText()
		assert(text.includes('<script>alert(1)</script>'), 'markup is text')
		assert(text.includes('U+202E'), 'what turns the direction is shown')
		assert.equal(await page.locator('.groups script, .groups img').count(), 0)
	}
})

test('runs: states are glyph, word and colour; unknown is a dash', async (t) => {
	const page = await t.page()
	await runs(page)
	for (const word of ['Working', 'Starting', 'Done', 'Failed', 'Lost', 'Torn down']) assert.ok(await page.locator('.stamp', { hasText: word }).count(), word)
	const queued = page.locator('.run-row', { hasText: 'Reproduce the crash' })
	assert.match(await queued.locator('.meter').innerText(), /—[^—]*—[^—]*—/)
	assert.match(await page.locator('.run-row', { hasText: 'Explain the billing' }).locator('.meter').innerText(), /5:55[^]*63\.7k tok[^]*\$0\.28/)
	assert.equal(await page.title(), `(${sql("SELECT count(*) FROM runs WHERE state = 'waiting'")}) Runs · Agent Sandbox`)
})

test('runs: search and chips, in the address', async (t) => {
	const page = await t.page()
	await runs(page)
	await page.keyboard.press('/')
	await page.keyboard.type('billing')
	await page.waitForFunction(() => document.querySelectorAll('.run-row').length === 1)
	assert.match(page.url(), /\?q=billing$/)
	await page.getByRole('searchbox').fill('no such thing')
	await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
	await axe(page, 'nothing matches')
	await t.picture(page, 'runs-nothing-desktop-light')
	await page.getByRole('button', { name: 'Show all runs' }).click()
	await page.getByRole('button', { name: /^Failed/ }).click()
	await page.waitForFunction(() => document.querySelectorAll('.run-row').length === 3)
	await page.reload()
	await page.waitForFunction(() => document.querySelectorAll('.run-row').length === 3)
})

test('A3: what the first load weighs', async (t) => {
	const weigh = async (path, ready) => {
		const page = await t.page()
		await page.goto(`${url}${path}`)
		await page.locator(ready).first().waitFor()
		const all = await page.evaluate(() =>
			[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
				.filter((e) => /\.(js|css)$|\/dashboard/.test(new URL(e.name).pathname))
				.map((e) => [new URL(e.name).pathname, e.encodedBodySize]),
		)
		assert(all.length > 4 && all.every(([, n]) => n > 0), 'everything was weighed')
		return all.reduce((a, [, n]) => a + n, 0)
	}
	const home = await weigh('/dashboard/runs', '.run-row')
	const run = await weigh(`/dashboard/runs/${seedName(1)}`, 'h1')
	console.log(`     runs ${home} bytes, a run ${run} bytes, compressed`)
	assert(home <= 60 * 1024, `first load ${home}`)
	assert(run <= 100 * 1024, `run page ${run}`)
})

test('runs: by keys alone', async (t) => {
	const page = await t.page()
	await runs(page)
	const focused = () => page.evaluate(() => document.activeElement.closest('[data-run]')?.dataset.run)
	await page.keyboard.press('j')
	const first = await focused()
	await page.keyboard.press('j')
	assert.notEqual(await focused(), first)
	await page.keyboard.press('k')
	assert.equal(await focused(), first)
	await page.keyboard.press('Enter')
	await page.waitForURL(`**/runs/${first}`)
	await page.goBack()
	await page.locator('.run-row').first().waitFor()
	await page.keyboard.press('?')
	await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
	await axe(page, 'shortcuts')
	await t.picture(page, 'shortcuts-desktop-light')
	await page.getByLabel('Single-key shortcuts').uncheck()
	await page.keyboard.press('Escape')
	await page.keyboard.press('c')
	await page.waitForTimeout(150)
	assert.match(page.url(), /\/runs$/, 'off means off')
	await page.keyboard.press('Tab')
	await page.evaluate(() => localStorage.removeItem('keys'))
	await page.reload()
	await page.locator('.run-row').first().waitFor()
	await page.keyboard.press('c')
	await page.getByRole('heading', { name: 'New run' }).waitFor()
	await page.keyboard.type('c?/')
	assert.equal(await page.getByLabel('What is to be done?').inputValue(), 'c?/', 'keys in a field are text')
	await page.getByLabel('What is to be done?').fill('')
})

test('the palette finds runs by their words and acts by their names, from the keyboard', async (t) => {
	for (const size of ['desktop', 'phone']) {
		const page = await t.page({ size })
		await runs(page)
		if (size === 'phone') {
			await page.getByRole('button', { name: 'More', exact: true }).click()
			await page.getByRole('menuitem', { name: 'Find a run or a command' }).click()
		} else await page.keyboard.press('Control+k')
		const field = page.getByRole('combobox')
		await field.waitFor()
		await comes(() => page.evaluate(() => document.activeElement.getAttribute('role')), 'combobox', 'the focus is in it')
		const chosen = page.getByRole('option', { selected: true })
		await chosen.filter({ hasText: 'Needs you' }).waitFor()
		for (const theme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme: theme })
			await repainted(page)
			await axe(page, `palette ${size} ${theme}`)
			await t.picture(page, `palette-${size}-${theme}`)
		}
		await targets(page, size === 'phone' ? 44 : 24, `palette ${size}`)
		await noOverflow(page, `palette ${size}`)
		await field.fill('billing explain')
		await chosen.filter({ hasText: 'Explain the billing module' }).waitFor()
		assert.equal(await page.getByRole('option').count(), 1)
		await field.fill('go to')
		await page.keyboard.press('ArrowDown')
		await chosen.filter({ hasText: 'Go to machines' }).waitFor()
		await page.keyboard.press('Enter')
		await page.waitForURL('**/machines')
		assert.equal(await page.getByRole('dialog').count(), 0)
	}
})

test('the theme that was chosen wins over the system’s, and is there before the first paint', async (t) => {
	const page = await t.page({ theme: 'dark' })
	const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)
	for (const path of ['/', '/dashboard/help']) {
		await page.goto(url + path)
		assert.equal(await scheme(), 'dark')
	}
	await page.getByRole('button', { name: /^Theme:/ }).click()
	await comes(scheme, 'light')
	await page.goto(url)
	assert.equal(await scheme(), 'light')
	await page.goto(`${url}/dashboard/help`)
	await page.getByRole('button', { name: /^Theme: Light/ }).click()
	await page.getByRole('button', { name: /^Theme: Dark/ }).click()
	await page.emulateMedia({ colorScheme: 'light' })
	await comes(scheme, 'light', 'like the system again')
})

test('runs: the menu of a row', async (t) => {
	const page = await t.page({ size: 'phone' })
	await runs(page)
	const row = page.locator('.run-row', { hasText: 'Explain the billing' })
	await row.getByRole('button', { name: /^More about/ }).click()
	await page.getByRole('menuitem', { name: 'Open' }).waitFor()
	await axe(page, 'menu of a row')
	await noOverflow(page, 'menu of a row')
	await t.picture(page, 'runs-menu-phone-light')
	await page.keyboard.press('ArrowDown')
	await page.keyboard.press('Escape')
	assert.equal(await page.getByRole('menuitem').count(), 0)
	assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^More about/, 'the focus is back')
})

test('new run', (t) =>
	screen(t, 'new', async (page) => {
		await page.goto(`${url}/dashboard/new`)
		await page.getByLabel('What is to be done?').fill('')
		await page.getByText('Start with one of these').waitFor()
		await page.locator('.fold-now', { hasText: 'GiB' }).waitFor()
	}))

test('new run: every error next to its field', (t) =>
	screen(t, 'new-errors', async (page) => {
		await page.goto(`${url}/dashboard/new`)
		await page.getByLabel('What is to be done?').fill('')
		await page.getByLabel('Repositories').check()
		await page.getByRole('button', { name: 'Start run' }).click()
		await page.getByText('Say what is to be done.').waitFor()
		await page.getByText('Name a repository, as owner/name.').waitFor()
		assert.equal(await page.evaluate(() => document.activeElement.dataset.field), 'task')
		await page.evaluate(() => document.activeElement.blur())
	}))

test('new run: machine and upload', (t) =>
	screen(t, 'new-upload', async (page) => {
		await page.goto(`${url}/dashboard/new`)
		await page.getByLabel('What is to be done?').fill('make test')
		await page.getByLabel('Upload').check()
		await page.locator('.fold', { hasText: 'Machine and title' }).locator('summary').click()
		await page.getByText('Drop a .tar or .tar.gz here').waitFor()
	}))

test('machines', (t) =>
	screen(t, 'machines', async (page) => {
		await page.goto(`${url}/dashboard/machines`)
		await page.locator('.box-card').nth(3).waitFor()
	}))

test('machines: tear down says what is lost', async (t) => {
	for (const size of ['phone', 'desktop']) {
		const page = await t.page({ size })
		await page.goto(`${url}/dashboard/machines`)
		await page.locator('.box-card').first().getByRole('button', { name: 'Tear down' }).click()
		await page.getByRole('dialog').waitFor()
		await axe(page, `tear down ${size}`)
		await t.picture(page, `machines-teardown-${size}-light`)
		await page.getByRole('button', { name: 'Cancel' }).click()
		assert.equal(await page.getByRole('dialog').count(), 0)
	}
})

test('help', (t) =>
	screen(t, 'help', async (page) => {
		await page.goto(`${url}/dashboard/help`)
		await page.getByRole('heading', { name: 'States of a run' }).waitFor()
	}))

test('an address that is none', (t) =>
	screen(t, 'missing', async (page) => {
		await page.goto(`${url}/dashboard/nowhere`)
		await page.getByText('There is nothing here').waitFor()
	}, { sizes: ['phone'] }))

test('colours that the system forces, and the middle width', async (t) => {
	const page = await t.page({ forced: true })
	await runs(page)
	await t.picture(page, 'runs-forced-colors')
	const middle = await t.page({ size: [768, 1024] })
	await runs(middle)
	await axe(middle, 'runs at 768')
	await t.picture(middle, 'runs-768-light')
})

test('runs: four questions are folded to lines, one is open', async (t) => {
	sql(`UPDATE turns SET message = message WHERE false;
		INSERT INTO turns (account_id, run_id, box_id, n, message, state) SELECT account_id, id, box_id, 2, 'again', 'asked' FROM runs WHERE name ~ '^run-seedx+(f|ba|bc)$';
		INSERT INTO questions (account_id, run_id, turn_id, box_ref, text, asked_at) SELECT r.account_id, r.id, t.id, 'q2', 'May I use the network for this? It would reach pypi.org and nothing else.', now() - interval '1 min' * r.id
			FROM runs r JOIN turns t ON t.run_id = r.id AND t.n = 2 WHERE r.name ~ '^run-seedx+(f|ba|bc)$';`)
	await screen(t, 'runs-many-waiting', async (page) => {
		await page.goto(`${url}/dashboard/runs`)
		await page.locator('.waiting-card').nth(3).waitFor()
		await comes(() => page.locator('.waiting-card.folded').count(), 3)
		await page.locator('.waiting-card textarea').waitFor()
	})
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs`)
	await page.locator('.waiting-fold').first().click()
	await comes(() => page.locator('.waiting-card.folded').count(), 3, 'one at a time')
})
