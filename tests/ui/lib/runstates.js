/* The states of a run, each by one run that is made when it is first looked at. */
import { url } from './harness.js'
import { aged, asking, finished, seedLog, seedRun, working } from './runrows.js'

const SITE = `diff --git a/index.html b/index.html
index 1111111..2222222 100644
--- a/index.html
+++ b/index.html
@@ -3,4 +3,5 @@ <body>
 <h1>Queue</h1>
-<p>Retries wait for a second.</p>
+<p>Retries wait for the clock they are given.</p>
+<p><a href="/clock">The clock</a></p>
 </body>
`

const made = {}
/* One run for each state, made when it is first looked at. */
const RUNS = {
	working: () => {
		const run = working()
		seedLog(run, 400)
		return run
	},
	asking: () => asking(),
	finished: () => {
		const run = finished()
		seedLog(run, 400)
		return run
	},
	trees: () =>
		finished({
			repos: [
				{ repo: 'acme/tree', ref: 'main', dir: 'tree' },
				{ repo: 'acme/site', ref: 'main', dir: 'site' },
			],
			trees: [{ tree: 'site', patch: SITE, counts: { files: 1, added: 2, removed: 1 } }],
		}),
	starting: () =>
		seedRun({
			title: 'make lint && make test',
			agent: 'script',
			task: 'make lint\nmake test',
			box: 'creating',
			age: 4,
			turns: [{ n: 1, age: 4, state: 'starting' }],
		}),
	script: () =>
		seedRun({
			title: './configure && make -j8 check',
			agent: 'script',
			source: 'none',
			repos: [],
			task: 'set -e\n./configure --prefix=/usr\nmake -j8 check',
			box: 'gone',
			age: 300,
			end: 60,
			turns: [
				{ n: 1, age: 300, end: 60, state: 'failed', reason: 'agent_error', detail: 'exit 2', exit_code: 2 },
			],
			rows: aged(
				[
					{ kind: 'system', text: 'session started' },
					{ kind: 'tool', ref: 'exec-x', text: 'script' },
					{
						kind: 'say',
						text: Array.from(
							{ length: 120 },
							(_, i) =>
								`\u001b[36m[${i + 1}/120]\u001b[0m compile unit ${i} \u001b[32mok\u001b[0m in ${(i * 7) % 80} ms`,
						).join('\n'),
						data: { first_line: 0, nlines: 120 },
					},
					{
						kind: 'error',
						text: '\u001b[1;31mmake: *** [Makefile:12: check] Error 1\u001b[0m',
						data: { first_line: 120, nlines: 1 },
					},
					{ kind: 'result', text: 'exit 2', data: { exit_code: 2, ms: 60400 } },
				],
				1,
				290,
			),
		}),
	stopped: () =>
		seedRun({
			title: 'Rewrite the scheduler in one go',
			box: 'gone',
			age: 900,
			end: 30,
			turns: [{ n: 1, age: 900, end: 30, state: 'stopped', reason: 'operator' }],
			rows: aged([{ kind: 'say', text: 'I begin with the queue.' }], 1, 800),
		}),
	refused: () =>
		seedRun({
			title: 'Add tests for the CSV parser',
			box: 'gone',
			age: 300,
			end: 100,
			turns: [
				{
					n: 1,
					age: 300,
					end: 100,
					state: 'failed',
					reason: 'agent_error',
					detail: 'The model’s host refused the key (401).',
					exit_code: 1,
				},
			],
			rows: aged(
				[
					{ kind: 'error', text: 'invalid x-api-key', data: { kind: 'api_error', status: 401 } },
					{ kind: 'result', text: 'exit 1', data: { exit_code: 1, ms: 900 } },
				],
				1,
				200,
			),
		}),
}
export const name = (state) => (made[state] ??= RUNS[state]())
/** Brings a page to a tab of the run in that state, and waits for what shows that it is there. */
export const go = (state, tab, wait) => async (page) => {
	await page.goto(`${url}/dashboard/runs/${name(state)}${tab && `/${tab}`}`)
	await page.locator(wait).first().waitFor()
	await new Promise((r) => setTimeout(r, 250))
}
