/*
 * Runs as rows, for states of the run page that a real run comes into slowly or not at all: an agent that called
 * tools, a patch of ten thousand files, a log of 100,000 lines. Their boxes stand on a host that is not there.
 */
import { randomInt } from 'node:crypto'
import { seed, sql } from './harness.js'

const SETUP = `
CREATE FUNCTION pg_temp.ago(s numeric) RETURNS timestamptz LANGUAGE sql AS $$ SELECT now() - s * interval '1 s' $$;
CREATE FUNCTION pg_temp.blob(account bigint, run bigint, turn bigint, kind text, file text, body bytea, s jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE id bigint;
BEGIN
	INSERT INTO blobs (account_id, name, kind, run_id, turn_id, file_name, size_bytes, complete, files, added, removed)
	VALUES (account, 'blob-' || translate(substr(md5(random()::text), 1, 16), '0189', 'wxyz'), kind, run, turn, file, length(body), true,
		(s->>'files')::int, (s->>'added')::bigint, (s->>'removed')::bigint) RETURNING blobs.id INTO id;
	INSERT INTO blob_chunks SELECT id, n, substr(body, n * 262144 + 1, 262144) FROM generate_series(0, greatest(0, (length(body) - 1) / 262144)) n;
	RETURN id;
END $$;`

const BODY = `
DO $do$
DECLARE s jsonb := $json$SPEC$json$; account bigint; box bigint; run bigint; turn bigint; patch bigint; t jsonb; r jsonb; last int := jsonb_array_length(s->'turns');
BEGIN
	SELECT id INTO account FROM accounts ORDER BY id LIMIT 1;
	INSERT INTO boxes (account_id, name, state, reason, runtime, isolation, image, class, memory_bytes, cpus, disk_bytes, host, slot,
		guest_boot_id, guest_kernel, readback, created_at, ready_at, deadline_at, expires_at, gone_at)
	VALUES (account, replace(s->>'name', 'run-', 'box-'), s->>'box', CASE WHEN s->>'box' IN ('gone', 'failed') THEN 'operator' END, 'qemu', 'emulated-vm',
		'claude', 'm', 2147483648, 2, 8589934592, 'elsewhere', (s->>'slot')::int, gen_random_uuid()::text, '6.1.0-32-amd64',
		'{"spawn":{"memory_bytes":2147483648,"cpus":2,"nics":0,"uid":1900000529,"seccomp":2,"no_new_privs":1,"disk_mode":"0600",
			"cap_eff":"0000000000000000","fds":["/dev/null"]},"machine":{"uid":0,"cpus":2,"nics":0,"memory_bytes":2077876224},"probe":{"sealed":true}}', pg_temp.ago((s->>'age')::numeric),
		pg_temp.ago((s->>'age')::numeric - 2), now() + interval '1 day', now() + interval '8 hours', CASE WHEN s->>'box' IN ('gone', 'failed') THEN now() END)
	RETURNING id INTO box;
	INSERT INTO runs (account_id, name, box_id, title, task, agent, source, repos, created_by, created_at)
	VALUES (account, s->>'name', box, s->>'title', s->>'task', s->>'agent', s->>'source', s->'repos', 'operator', pg_temp.ago((s->>'age')::numeric)) RETURNING id INTO run;
	INSERT INTO logs (account_id, run_id) VALUES (account, run);
	FOR t IN SELECT jsonb_array_elements(s->'turns') LOOP
		INSERT INTO turns (account_id, run_id, box_id, n, message, state, reason, detail, exit_code, created_at, started_at, finished_at, usage)
		VALUES (account, run, box, (t->>'n')::int, coalesce(t->>'message', s->>'task'), t->>'state', t->>'reason', t->>'detail', (t->>'exit_code')::int,
			pg_temp.ago((t->>'age')::numeric), CASE WHEN t->>'state' NOT IN ('queued', 'starting') THEN pg_temp.ago((t->>'age')::numeric - 1) END,
			CASE WHEN t ? 'end' THEN pg_temp.ago((t->>'end')::numeric) END, t->'usage') RETURNING id INTO turn;
		IF t ? 'question' THEN
			INSERT INTO questions (account_id, run_id, turn_id, box_ref, text, asked_at, answer, answered_by, answered_at)
			VALUES (account, run, turn, 'q' || (t->>'n'), t->>'question', pg_temp.ago((t->>'end')::numeric), t->>'answer', t->>'by',
				CASE WHEN t ? 'answer' THEN pg_temp.ago((t->>'end')::numeric - 60) END);
		END IF;
	END LOOP;
	UPDATE runs SET started_at = pg_temp.ago((s->>'age')::numeric - 3), finished_at = CASE WHEN s ? 'end' THEN pg_temp.ago((s->>'end')::numeric) END WHERE id = run;
	INSERT INTO trace (account_id, run_id, seq, turn, ts, kind, ref, text, data)
	SELECT account, run, i, (x->>'turn')::int, pg_temp.ago((x->>'age')::numeric), x->>'kind', x->>'ref', x->>'text', coalesce(x->'data', '{}')
	FROM jsonb_array_elements(s->'rows') WITH ORDINALITY AS e (x, i);
	IF s ? 'patch' THEN
		UPDATE turns SET patch_id = pg_temp.blob(account, run, turn, 'patch', 'tree.patch', convert_to(s->>'patch', 'UTF8'), s->'counts') WHERE id = turn;
	END IF;
	FOR r IN SELECT jsonb_array_elements(coalesce(s->'trees', '[]')) LOOP
		PERFORM pg_temp.blob(account, run, turn, 'patch', (r->>'tree') || '.patch', convert_to(r->>'patch', 'UTF8'), r->'counts');
	END LOOP;
	IF s ? 'bundle' THEN
		UPDATE turns SET bundle_id = pg_temp.blob(account, run, turn, 'bundle', 'tree.bundle', convert_to(s->>'bundle', 'UTF8'), '{}') WHERE id = turn;
	END IF;
	FOR r IN SELECT jsonb_array_elements(coalesce(s->'files', '[]')) LOOP
		PERFORM pg_temp.blob(account, run, turn, 'artifact', r->>'name', decode(r->>'base64', 'base64'), '{}');
	END LOOP;
	INSERT INTO egress (account_id, box_id, run_id, ts, route, target, allowed, reason, bytes_up, bytes_down)
	SELECT account, box, run, pg_temp.ago((x->>'age')::numeric), x->>'route', x->>'target', (x->>'allowed')::boolean, x->>'reason', (x->>'up')::bigint, (x->>'down')::bigint
	FROM jsonb_array_elements(coalesce(s->'egress', '[]')) x;
	INSERT INTO model_calls (account_id, box_id, run_id, turn_id, ts, path, model, status, error, input_tokens, output_tokens, cache_read_tokens, ms)
	SELECT account, box, run, turn, pg_temp.ago((x->>'age')::numeric), '/v1/messages', x->>'model', (x->>'status')::int, x->>'error', (x->>'in')::bigint, (x->>'out')::bigint, (x->>'cached')::bigint, (x->>'ms')::int
	FROM jsonb_array_elements(coalesce(s->'calls', '[]')) x;
END $do$;`

const freshName = () => `run-page${Array.from({ length: 12 }, () => 'abcdefghijklmnopqrstuvwxyz234567'[randomInt(32)]).join('')}`

/**
 * One run. Ages are seconds ago. @param {any} spec title task agent source repos box age end turns rows patch counts
 * trees (more patches: [{tree, patch, counts}]) bundle files egress calls; see BODY
 * @returns {string} its name
 */
export function seedRun(spec) {
	seed()
	const whole = { name: freshName(), slot: randomInt(1000, 1_000_000), title: 'A run', task: 'Do it.', agent: 'claude', source: 'git', repos: [{ repo: 'acme/queue', ref: 'main', dir: 'queue' }], box: 'ready', age: 900, rows: [], ...spec }
	if (JSON.stringify(whole).includes('$json$')) throw new Error('a spec must not hold the end of its quotes')
	sql(`${SETUP}${BODY.replace('SPEC', () => JSON.stringify(whole))}`)
	return whole.name
}

/** A log of `lines` lines for a run, coloured as a compiler's, in chunks of 200. `text`: SQL for line i. */
export function seedLog(run, lines, text = LINE) {
	sql(`INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, src_off, src_len, ts, body, line_ms)
		SELECT account_id, id, c + 1, CASE WHEN c % 50 = 49 THEN 2 ELSE 1 END, c * 200, n, sum(length(body)) OVER (ORDER BY c) - length(body), length(body), now() - (${lines} - c * 200) * interval '8 ms', body, ms
		FROM (SELECT l.account_id, l.id, c, count(*)::int AS n, convert_to(string_agg((${text}) || E'\\n', '' ORDER BY i), 'UTF8') AS body, array_agg(((c * 200 + 199 - i) * 8)::int ORDER BY i) AS ms
			FROM logs l JOIN runs r ON r.id = l.run_id, generate_series(0, ${lines} - 1) i, LATERAL (SELECT i / 200 AS c) x
			WHERE r.name = '${run}' AND l.exec_id IS NULL GROUP BY 1, 2, 3) q`)
}
const LINE = `E'\\x1b[36m[' || lpad(i::text, 6, '0') || E']\\x1b[0m compile unit ' || i % 160 || E' \\x1b[32mok\\x1b[0m in ' || i * 7 % 80 || 'ms'`

// --- an agent's run, as a story -------------------------------------------------------------------

const TASK = 'Fix the flaky retry test in `packages/queue`.\n\nThe test sleeps for a real second and asserts on elapsed time. Make it deterministic, and keep the public constructor of `RetryPolicy` as it is **if you can**.'
export const QUESTION = 'The retry test depends on wall-clock time. May I inject a fake clock into RetryPolicy (its public constructor changes), or shall I keep the signature and stub Date?'

/** Rows of a first turn that reads, fails, edits, retries a model call, and writes. */
export const WORK = [
	{ kind: 'system', text: 'session started' },
	{ kind: 'tool', ref: 'exec-page', text: 'claude' },
	{ kind: 'thinking', text: 'The test has to become deterministic. First I look at how it reads the clock.' },
	{ kind: 'say', text: 'I start by running the test as it is.' },
	{ kind: 'tool', ref: 't1', text: 'Bash: npm test -w packages/queue', data: { tool: 'Bash', input: { command: 'npm test -w packages/queue 2>&1 | tail -40' } } },
	{ kind: 'result', ref: 't1', text: '\u001b[32m✓\u001b[0m backs off exponentially\n\u001b[31m✗ retries within a second\u001b[0m\n  expected 1000 but got \u001b[1m1043\u001b[0m\n\n 1 failed, 11 passed', data: { is_error: true, exit_code: 1, duration_ms: 12480 } },
	{ kind: 'tool', ref: 't2', text: 'Read: packages/queue/src/retry.ts', data: { tool: 'Read', input: { file_path: 'packages/queue/src/retry.ts' } } },
	{ kind: 'result', ref: 't2', text: 'export class RetryPolicy {\n\tconstructor(readonly max: number) {}\n}', data: { is_error: false, duration_ms: 34 } },
	{ kind: 'error', text: 'Overloaded', data: { kind: 'api_retry', status: 529, attempt: 1, max: 10, retry_ms: 600 } },
	{ kind: 'error', text: 'Overloaded', data: { kind: 'api_retry', status: 529, attempt: 2, max: 10, retry_ms: 1300 } },
	{ kind: 'tool', ref: 't3', text: 'Edit: packages/queue/test/retry.test.ts', data: { tool: 'Edit', input: { file_path: 'packages/queue/test/retry.test.ts', old_string: 'await sleep(1000)', new_string: 'await clock.advance(1000)' } } },
	{ kind: 'result', ref: 't3', text: 'The file has been updated.', data: { is_error: false, duration_ms: 21 } },
	{ kind: 'say', text: 'The test sleeps for a real second and asserts on elapsed time, so it fails on a loaded machine.\n\n## What I found\n\n1. `RetryPolicy` reads the clock itself\n2. the test has **no** way to advance it\n\n| option | public API | risk |\n|---|---|:-:|\n| inject a clock | constructor grows | low |\n| stub `Date` | unchanged | medium |\n\n```ts\nconst policy = new RetryPolicy(3, () => clock.now())\n```\n\n- [x] read the package\n- [ ] make the test deterministic\n\nSee [the docs](https://nodejs.org/api/timers.html) for fake timers.' },
]
/** Rows with turns and ages. */
export const aged = (rows, turn, from, step = 8) => rows.map((r, i) => ({ turn, age: Math.max(1, from - i * step), ...r }))

const USAGE = [
	{ input_tokens: 30110, output_tokens: 7120, cache_read_tokens: 101000, cache_write_tokens: 8000, cost_usd: 0.71 },
	{ input_tokens: 12000, output_tokens: 2000, cache_read_tokens: 30000, cost_usd: 0.23 },
]
const NET = {
	egress: [
		{ age: 860, route: 'git', target: 'github.com/acme/queue.git', allowed: true, reason: '', up: 1200, down: 480000 },
		{ age: 700, route: 'connect', target: 'telemetry.example:443', allowed: false, reason: 'not on the list', up: 0, down: 0 },
	],
	calls: [
		{ age: 850, model: 'claude-sonnet-4', status: 200, in: 3100, out: 420, cached: 12000, ms: 3400 },
		{ age: 815, status: 529, error: 'overloaded_error', ms: 310 },
	],
}

/** The run at work, in its second turn. */
export const working = (more = {}) =>
	seedRun({
		title: 'Fix the flaky retry test in packages/queue',
		task: TASK,
		...NET,
		turns: [
			{ n: 1, age: 890, end: 700, state: 'asked', usage: USAGE[0], question: QUESTION, answer: 'Keep the signature and stub Date.', by: 'session:1' },
			{ n: 2, age: 640, state: 'running', usage: USAGE[1], message: 'Keep the signature and stub Date.' },
		],
		rows: [
			...aged(WORK, 1, 870, 12),
			...aged([{ kind: 'question', ref: 'q1', text: QUESTION }], 1, 700),
			...aged([{ kind: 'answer', ref: 'q1', text: 'Keep the signature and stub Date.' }, { kind: 'say', text: 'Understood: the signature stays.' }, { kind: 'tool', ref: 't4', text: 'Bash: for i in $(seq 50); do npm test || exit 1; done', data: { tool: 'Bash', input: { command: 'for i in $(seq 50); do npm test || exit 1; done' } } }], 2, 640),
		],
		patch: PATCH,
		counts: { files: 5, added: 12, removed: 4 },
		...more,
	})

/** Waiting at its question. */
export const asking = (question = QUESTION, more = {}) =>
	seedRun({
		title: 'Fix the flaky retry test in packages/queue',
		task: TASK,
		...NET,
		turns: [{ n: 1, age: 890, end: 240, state: 'asked', usage: USAGE[0], question }],
		rows: [...aged(WORK, 1, 870, 12), ...aged([{ kind: 'question', ref: 'q1', text: question }], 1, 240)],
		patch: PATCH,
		counts: { files: 5, added: 12, removed: 4 },
		...more,
	})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC'
const b64 = (s) => Buffer.from(s).toString('base64')
/** Done, its box gone. */
export const finished = (more = {}) =>
	seedRun({
		title: 'Fix the flaky retry test in packages/queue',
		task: TASK,
		box: 'gone',
		end: 60,
		...NET,
		turns: [{ n: 1, age: 890, end: 60, state: 'done', reason: 'ok', exit_code: 0, usage: USAGE[0] }],
		rows: [...aged(WORK, 1, 870, 12), ...aged([{ kind: 'say', text: 'Done: the test is deterministic, and the suite ran 50 times without a failure.' }, { kind: 'result', text: 'exit 0', data: { exit_code: 0, ms: 769000 } }], 1, 70)],
		patch: PATCH,
		counts: { files: 5, added: 12, removed: 4 },
		bundle: 'bundle',
		files: [
			{ name: 'report.md', base64: b64('# Report\n\nAll **50** runs pass.\n\n| run | ms |\n|---|--:|\n| 1 | 412 |\n') },
			{ name: 'coverage/summary.txt', base64: b64('lines  97.1 %\nbranches  88.0 %\n') },
			{ name: 'coverage/graph.png', base64: PNG },
			{ name: 'dist.tar.gz', base64: b64('\u001f\u008b') },
		],
		...more,
	})

export const PATCH = `diff --git a/packages/queue/src/retry.ts b/packages/queue/src/retry.ts
index 1111111..2222222 100644
--- a/packages/queue/src/retry.ts
+++ b/packages/queue/src/retry.ts
@@ -1,6 +1,9 @@ export class RetryPolicy
 import { sleep } from './sleep'
+import type { Clock } from './clock'
 
 export class RetryPolicy {
-	constructor(readonly max: number) {}
+	constructor(readonly max: number, readonly clock: Clock = systemClock) {}
 
-	next() { return Date.now() + this.delay() }
+	next() { return this.clock.now() + this.delay() }
+	/** How long until the next try, in ms. */
 }
diff --git a/packages/queue/src/clock.ts b/packages/queue/src/clock.ts
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/packages/queue/src/clock.ts
@@ -0,0 +1,5 @@
+export interface Clock {
+	now(): number
+}
+
+export const systemClock: Clock = { now: () => Date.now() }
diff --git a/scripts/test.sh b/scripts/test.sh
old mode 100644
new mode 100755
diff --git a/package-lock.json b/package-lock.json
index 4444444..5555555 100644
--- a/package-lock.json
+++ b/package-lock.json
@@ -1,4 +1,4 @@
 {
-  "version": "1.4.0",
-  "lockfileVersion": 2,
+  "version": "1.4.1",
+  "lockfileVersion": 3,
 }
diff --git a/docs/clock.png b/docs/clock.png
new file mode 100644
index 0000000..6666666
GIT binary patch
literal 4
Lc$@<O00001

`
