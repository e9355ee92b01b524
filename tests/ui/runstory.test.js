/*
 * Runs for real, by the script agent: seen live while they work, asked, answered from another device, refused the
 * second time, ended, torn down.
 */
import assert from 'node:assert/strict'
import { api, delegate, runState, SLOW, test, token, until, url, within } from './lib/harness.js'

const at = (session, tab = '') => `${url}/dashboard/runs/${session}${tab && `/${tab}`}`
const stamp = (page, state) => page.locator(`.run-head .stamp[data-state=${state}]`).waitFor({ timeout: 20_000 * SLOW })
const text = (page, s) => page.locator('.trace', { hasText: s }).waitFor({ timeout: 20_000 * SLOW })
const ASKS = 'echo begun; answer=$(asb-ask "which colour?"); echo "it is <$answer>"'

/* A run that stands at its question. */
async function asked(task = ASKS) {
	const { session } = await delegate(task)
	await runState(session, 'waiting')
	return session
}

test('a run is seen live: starting, what it writes as it comes, its log, its end', async (t) => {
	const page = await t.page()
	const { session } = await delegate('for i in 1 2 3 4 5 6; do echo "line $i of six"; sleep 0.3; until [ $i != 3 ] || [ -e go ]; do sleep 0.1; done; done; echo oops >&2; exit 3', { title: 'Count to six' })
	await page.goto(at(session))
	await page.locator('h1', { hasText: 'Count to six' }).waitFor()
	await stamp(page, 'running')
	await text(page, 'line 2 of six')
	assert.equal(await page.locator('.trace', { hasText: 'line 6 of six' }).count(), 0, 'it is shown while it works')
	await page.locator('.tabs a', { hasText: 'Log' }).click()
	await page.locator('.log-row', { hasText: 'line 3 of six' }).waitFor()
	await api('/exec.json', { session, argv: ['touch', 'go'], wait_ms: 5000 })
	await page.locator('.log-row', { hasText: 'line 6 of six' }).waitFor()
	await page.locator('.log-row.err', { hasText: 'oops' }).waitFor()
	await stamp(page, 'failed')
	await page.locator('.tabs a', { hasText: 'Trace' }).click()
	const result = page.locator('.result')
	await result.waitFor()
	assert.match(await result.textContent(), /It failed: the agent ended with an error/)
	assert.match(await result.textContent(), /Exit code3/)
	await t.picture(page, 'run-story-failed-desktop-light')
})

test('A7: a question shows within a second; answered on the phone it leaves the desktop within a second', async (t) => {
	const [desktop, phone] = [await t.page(), await t.page({ size: 'phone' })]
	const { session } = await delegate(`until [ -e go ]; do sleep 0.05; done; ${ASKS}`)
	await runState(session, 'running')
	for (const page of [desktop, phone]) {
		await page.goto(at(session))
		await stamp(page, 'running')
	}
	await api('/exec.json', { session, argv: ['touch', 'go'], wait_ms: 5000 })
	await Promise.all([desktop, phone].map((p) => p.locator('.question').waitFor({ timeout: 10_000 * SLOW })))
	const { questions } = await api(`/watch.json?session=${session}`)
	assert.equal(questions[0].text, 'which colour?')
	assert.match(await phone.locator('.q-text').textContent(), /which colour\?/)
	await desktop.locator('[data-answer]').fill('not this one')
	const leaves = async () => {
		await phone.locator('[data-answer]').fill('blue')
		await phone.getByRole('button', { name: 'Send answer' }).click()
		const sent = Date.now()
		await desktop.locator('.question').waitFor({ state: 'detached' })
		return Date.now() - sent
	}
	const ms = await leaves()
	await phone.locator('.question').waitFor({ state: 'detached', timeout: 5000 * SLOW })
	// what was typed there and not sent is kept, and said so
	const note = desktop.locator('.q-settled')
	await note.waitFor()
	assert.match(await note.textContent(), /Answered .*Your text was not sent and is kept/)
	await note.getByRole('button', { name: 'Copy my text' }).click()
	assert.equal(await desktop.evaluate(() => navigator.clipboard.readText()), 'not this one')
	for (const page of [desktop, phone]) await text(page, 'it is <blue>')
	await stamp(desktop, 'done')
	await desktop.locator('.asked', { hasText: 'blue' }).waitFor()
	await within(1000, 'it leaves the other page', ms, async () => {
		const another = await asked()
		for (const page of [desktop, phone]) {
			await page.goto(at(another))
			await page.locator('.question').waitFor()
		}
		return leaves()
	})
})

test('a second answer is refused: the one that won is shown and the text is kept', async (t) => {
	const session = await asked()
	const page = await t.page()
	t.allow(/events\.sse|409/)
	// this page hears nothing of the other answer
	await page.route('**/events.sse*', (r) => r.abort())
	await page.goto(at(session))
	await page.locator('[data-answer]').fill('mine, of three\nlines\nof text')
	await api('/resume.json', { session, message: 'the first' })
	await page.getByRole('button', { name: 'Send answer' }).click()
	const taken = page.locator('.q-taken, .q-settled').first()
	await taken.waitFor()
	assert.match(await taken.textContent(), /answered/i)
	assert.match(await taken.textContent(), /the first/)
	assert.match(await taken.textContent(), /Your text was not sent and is kept/)
	assert.match(await page.evaluate(() => Object.entries(localStorage).map(String).join()), /mine, of three/)
	const { questions } = await api(`/watch.json?session=${session}`)
	assert.equal(questions[0].answer, 'the first')
})

test('an answer that does not get through is kept and sent once when it does', async (t) => {
	const session = await asked()
	const page = await t.page()
	t.allow(/resume\.json|ERR_FAILED/)
	await page.goto(at(session))
	const keys = []
	let broken = true
	await page.route('**/resume.json', async (r) => {
		keys.push(r.request().headers()['idempotency-key'])
		// the first time the server has it, and its answer is lost
		if (broken) {
			broken = false
			await r.fetch()
			return r.abort()
		}
		return r.continue()
	})
	await page.locator('[data-answer]').fill('green')
	await page.locator('[data-answer]').press('Control+Enter')
	const settled = page.locator('.q-error', { hasText: 'Not sent' }).or(page.locator('.q-settled'))
	await settled.first().waitFor()
	const retry = page.getByRole('button', { name: 'Retry' })
	if (await retry.count()) {
		await retry.click().catch(() => {})
		await until(async () => keys.length === 2 || !(await page.locator('.question').count()), 'the second try')
		if (keys.length === 2) assert.equal(keys[0], keys[1], 'both tries are one intent')
	}
	await text(page, 'it is <green>')
	assert.equal((await api(`/watch.json?session=${session}`)).questions.length, 1)
})

test('A9: drafts survive a reload and the end of the session; Enter while composing does not send', async (t) => {
	const session = await asked()
	const page = await t.page({ fresh: true })
	t.allow(/401/)
	await page.goto(at(session))
	const field = page.locator('[data-answer]')
	await field.fill('half an ans')
	await page.reload()
	await until(async () => (await field.inputValue()) === 'half an ans', 'the draft after a reload')
	await field.evaluate((e) => {
		for (const o of [{ isComposing: true }, { keyCode: 229 }]) e.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true, ...o }))
	})
	await field.press('Enter')
	assert.equal((await api(`/watch.json?session=${session}`)).state, 'waiting', 'nothing was sent')
	await field.fill('half an answer')
	await page.context().clearCookies()
	await page.getByRole('button', { name: 'Send answer' }).click()
	await page.locator('dialog', { hasText: 'Sign in again' }).waitFor()
	assert.equal(await field.inputValue(), 'half an answer', 'the text is kept under the sheet')
	await t.signIn(page.context())
	await page.reload()
	await until(async () => (await field.inputValue()) === 'half an answer', 'the draft after signing in anew')
	await field.fill('')
	await page.getByRole('button', { name: 'Send answer' }).click()
	await page.locator('.q-error', { hasText: 'Write an answer first' }).waitFor()
	await field.fill('whole')
	await field.press('Control+Enter')
	await text(page, 'it is <whole>')
	assert.deepEqual(await page.evaluate((s) => Object.keys(localStorage).filter((k) => k.includes(s)), session), [], 'the draft is gone')
})

test('folding a question keeps what is typed; it cannot be dismissed', async (t) => {
	const session = await asked()
	const page = await t.page({ size: 'phone' })
	await page.goto(at(session))
	await page.locator('[data-answer]').fill('kept')
	await page.getByRole('button', { name: 'Fold the question' }).click()
	assert((await page.locator('.question').boundingBox()).height < 64, 'folded it is one line')
	assert.match(await page.locator('.question').textContent(), /which colour/)
	await page.keyboard.press('Escape')
	assert.equal(await page.locator('.question').count(), 1)
	await page.getByRole('button', { name: 'Show the question' }).click()
	assert.equal(await page.locator('[data-answer]').inputValue(), 'kept')
	await api('/resume.json', { session, message: 'x' })
})

test('keyboard only: from the list to the run, the answer, the tabs, and tearing down; focus returns', async (t) => {
	const session = await asked('mkdir -p /tmp/x; answer=$(asb-ask "go on?"); echo "said $answer"; sleep 600')
	const page = await t.page()
	await page.goto(at(session))
	await page.locator('.question').waitFor()
	const press = async (key, n = 1) => {
		for (let i = 0; i < n; i++) await page.keyboard.press(key)
	}
	const tabTo = async (look, what, key = 'Tab') => {
		for (let i = 0; i < 80; i++) {
			if (await page.evaluate(look)) return
			await press(key)
		}
		assert.fail(`${what} was not reached by ${key}`)
	}
	await tabTo(() => document.activeElement?.matches('[data-answer]'), 'the answer')
	await page.keyboard.type('yes')
	await press('Control+Enter')
	await text(page, 'said yes')
	await tabTo(() => document.activeElement?.textContent === 'Log', 'the log’s tab', 'Shift+Tab')
	await press('Enter')
	await page.locator('.log-row', { hasText: 'said yes' }).waitFor()
	await tabTo(() => document.activeElement?.textContent.includes('Tear down'), 'tearing down', 'Shift+Tab')
	await press('Enter')
	const dialog = page.locator('dialog[open]')
	await dialog.waitFor()
	assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel', 'the focus is on Cancel')
	assert.match(await dialog.textContent(), /running turn/)
	assert.match(await dialog.textContent(), /The box/)
	await press('Escape')
	await dialog.waitFor({ state: 'detached' })
	assert.match(await page.evaluate(() => document.activeElement.textContent), /Tear down/, 'the focus returns')
	await press('Enter')
	await dialog.waitFor()
	await press('Tab')
	assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Tear down')
	await press('Enter')
	await dialog.waitFor({ state: 'detached' })
	await page.locator('.run-head .stamp', { hasText: /Torn down|Stopped/ }).waitFor({ timeout: 30_000 * SLOW })
	await until(async () => (await api(`/watch.json?session=${session}`)).box.state === 'gone', 'the box is gone', 30_000 * SLOW)
	await page.locator('.run-head .stamp[data-state=gone]').waitFor({ timeout: 10_000 * SLOW })
	assert.equal(await page.getByRole('button', { name: 'Tear down' }).count(), 0, 'there is nothing left to tear down')
})

test('A10: the same by touch on a phone: sign in, start, answer, files, tear down, run it again', async (t) => {
	const page = await t.page({ size: 'phone', out: true })
	await page.goto(`${url}/dashboard/signin`)
	await page.getByLabel('Operator’s token').fill(token())
	await page.getByRole('button', { name: 'Sign in' }).tap()
	await page.locator('.bottom-bar a', { hasText: 'New run' }).tap()
	await page.getByLabel('What is to be done?').fill('echo "$(asb-ask "well?")" >/artifacts/answer.txt; asb-ask "and now?"')
	await page.getByRole('button', { name: 'Start run' }).tap()
	await page.waitForURL('**/runs/run-*')
	const session = page.url().match(/run-[a-z0-9]{16}/)[0]
	const question = async (words) => page.locator('.q-text', { hasText: words }).waitFor({ timeout: 60_000 * SLOW })
	await question('well?')
	await page.locator('[data-answer]').tap()
	await page.keyboard.insertText('by touch')
	await page.getByRole('button', { name: 'Send answer' }).tap()
	await question('and now?')
	await page.locator('.tabs a', { hasText: 'Files' }).tap()
	await page.locator('.file', { hasText: 'answer.txt' }).getByRole('button', { name: 'Preview' }).tap()
	await page.locator('.file-preview', { hasText: 'by touch' }).waitFor()
	const act = async (name) => {
		await page.getByRole('button', { name: 'Actions' }).tap()
		await page.getByRole('menuitem', { name }).tap()
	}
	await act('Copy link')
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), at(session, 'files'))
	await act('Tear down')
	const dialog = page.locator('dialog[open]')
	await dialog.waitFor()
	assert.match(await dialog.textContent(), /open question/)
	await t.picture(page, 'run-teardown-phone-light')
	await dialog.getByRole('button', { name: 'Tear down' }).tap()
	await stamp(page, 'gone')
	await act('Run it again')
	await until(async () => (await page.getByLabel('What is to be done?').inputValue()).includes('and now?'), 'the task is there to be changed')
})

test('what a run has made is there to take away: files, with previews', async (t) => {
	const { session } = await delegate('printf "# Report\\n\\nall is **fine**\\n" >/artifacts/report.md; echo done')
	await runState(session, 'done')
	const page = await t.page()
	await page.goto(at(session, 'files'))
	await page.locator('.files-part').first().waitFor()
	const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download log as .txt' }).click()])
	assert.match(download.suggestedFilename(), /\.txt$/)
	await page.getByRole('button', { name: 'Preview report.md' }).click()
	await page.locator('.preview-prose strong', { hasText: 'fine' }).waitFor()
	const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download report.md' }).click()])
	assert.equal(file.suggestedFilename(), 'report.md')
})

test('a run that is not there is gone, and says so', async (t) => {
	const page = await t.page()
	t.allow(/404/)
	await page.goto(at('run-aaaaaaaaaaaaaaaa'))
	await page.locator('.empty', { hasText: 'There is no such run' }).waitFor()
	await page.getByRole('link', { name: 'All runs' }).click()
	await until(() => page.url().endsWith('/dashboard/runs'), 'the list')
})
