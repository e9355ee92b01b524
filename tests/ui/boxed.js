/*
 * One run in a real box, from the first line to the torn-down machine, as people see it: tests/e2e/screens runs this
 * on a release site.
 */
import assert from 'node:assert/strict'
import { release } from 'node:os'
import { delegate, runAll, runState, SLOW, test, until, url, within } from './lib/harness.js'

const TASK = `echo "kernel $(uname -r)"
for i in 1 2 3; do echo "line $i"; sleep 1; done
while colour=$(asb-ask "which colour?"); [ "$colour" = again ]; do :; done
printf '# Report\\n\\nThe colour is **%s**.\\n' "$colour" >/artifacts/report.md
echo "written"`

test('a run in a real box: live, asked, answered on the phone, its file looked at, torn down', async (t) => {
	const [desktop, phone] = [await t.page(), await t.page({ size: 'phone' })]
	const { session } = await delegate(TASK, { title: 'Report the colour' })
	await desktop.goto(`${url}/dashboard/runs/${session}`)
	await desktop.locator('.trace', { hasText: 'line 1' }).waitFor({ timeout: 60_000 * SLOW })
	const kernel = /kernel (\S+)/.exec(await desktop.locator('.terminal').textContent())?.[1]
	assert(kernel && kernel !== release(), `it is another kernel than the host's: ${kernel}`)
	await phone.goto(`${url}/dashboard/runs/${session}`)
	await phone.locator('[data-answer]').waitFor({ timeout: 30_000 * SLOW })
	await t.picture(phone, 'run-box-question-phone-light')
	// each question by its own number: the next one may be there at once
	const answer = async (text) => {
		await phone.locator('[data-answer]').waitFor({ timeout: 30_000 * SLOW })
		const card = `.question[data-question="${await phone.locator('.question').getAttribute('data-question')}"]`
		await desktop.locator(card).waitFor()
		await phone.locator('[data-answer]').fill(text)
		await phone.getByRole('button', { name: 'Send answer' }).tap()
		const sent = Date.now()
		await desktop.locator(card).waitFor({ state: 'detached' })
		const ms = Date.now() - sent
		await phone.locator(card).waitFor({ state: 'detached' })
		return ms
	}
	await within(1000, 'it leaves the other page', await answer('again'), () => answer('again'))
	await answer('green')
	await desktop.locator('.run-head .stamp[data-state=done]').waitFor({ timeout: 30_000 * SLOW })
	await desktop.locator('.details', { hasText: kernel }).waitFor()
	await desktop.locator('.tabs a', { hasText: 'Files' }).click()
	await desktop.getByRole('button', { name: 'Preview report.md' }).click()
	await desktop.locator('.preview-prose strong', { hasText: 'green' }).waitFor()
	await t.picture(desktop, 'run-box-files-desktop-light')
	await desktop.getByRole('button', { name: 'Tear down' }).click()
	await desktop.locator('dialog[open]').getByRole('button', { name: 'Tear down' }).click()
	await desktop.locator('.notice', { hasText: 'The box is gone' }).waitFor({ timeout: 60_000 * SLOW })
	await until(() => desktop.locator('.file', { hasText: 'report.md' }).count(), 'its file is kept')
	await runState(session, 'done')
})

process.exit((await runAll()) ? 0 : 1)
