-- Runs in every state for pictures and layout, among them texts that nobody wishes for. Their boxes stand on a host
-- that is not there, so that no worker of the site under test takes them for its own.
\set ON_ERROR_STOP 1
SELECT id AS account FROM accounts ORDER BY id LIMIT 1 \gset

INSERT INTO hosts (name, boot_id, slots, isolation) VALUES ('elsewhere', 'none', 8, 'hardware-vm') ON CONFLICT DO NOTHING;

CREATE TEMP TABLE seed (n int, state text, title text, task text, agent text, source text, repos jsonb, exit_code int,
	reason text, detail text, question text, age interval, took interval, cls text, box text, usage jsonb, last_kind text,
	last_text text);
INSERT INTO seed VALUES
(1, 'running', 'Bump dependencies and run the whole suite', 'Bump all dependencies of acme/site to their latest minor versions, run the whole suite, and mend what breaks.', 'claude', 'git', '[{"repo":"acme/site","ref":"main","dir":"site"}]', NULL, NULL, NULL, NULL, '14 min', NULL, 'm', 'ready', '{"input_tokens":5120,"output_tokens":18840,"cache_read_tokens":71200,"cache_write_tokens":1100,"cost_usd":0.412}', 'tool', 'Bash: npm test -- --run packages/queue'),
(2, 'running', 'Explain why the nightly import takes four hours', 'Explain why the nightly import takes four hours. Do not change anything.', 'claude', 'upload', '[]', NULL, NULL, NULL, NULL, '3 min', NULL, 's', 'ready', NULL, 'say', 'The import reads every row twice: once in load_batch() and once more in verify().'),
(3, 'starting', 'make lint && make test', E'make lint\nmake test', 'script', 'git', '[{"repo":"acme/parser","ref":"v2.4","dir":"parser"}]', NULL, NULL, NULL, NULL, '2 s', NULL, 's', 'creating', NULL, NULL, NULL),
(4, 'queued', 'Reproduce the crash from the support bundle', 'Reproduce the crash from the support bundle.', 'claude', 'upload', '[]', NULL, NULL, NULL, NULL, '8 s', NULL, 'm', 'creating', NULL, NULL, NULL),
(5, 'done', 'Explain the billing module', 'Explain the billing module. Write report.md.', 'claude', 'git', '[{"repo":"acme/billing","ref":"main","dir":"billing"}]', 0, 'ok', NULL, NULL, '52 min', '5 min 55 s', 's', 'gone', '{"input_tokens":3400,"output_tokens":9120,"cache_read_tokens":50400,"cache_write_tokens":800,"cost_usd":0.281}', 'say', 'I wrote report.md: how invoices come about, where tax is added, and three places that round twice.'),
(6, 'failed', 'Add tests for the CSV parser', 'Add tests for the CSV parser.', 'claude', 'git', '[{"repo":"acme/parser","ref":"fix/quotes","dir":"parser"}]', 1, 'agent_error', 'The model''s host refused the key (401).', NULL, '2 h', '3 min 2 s', 's', 'gone', '{"input_tokens":1200,"output_tokens":2210,"cost_usd":0.054}', 'error', 'API error 401'),
(7, 'stopped', 'Rewrite the scheduler in one go', 'Rewrite the scheduler in one go.', 'claude', 'git', '[{"repo":"acme/scheduler","ref":"main","dir":"scheduler"}]', NULL, 'operator', NULL, NULL, '5 h', '41 min 17 s', 'l', 'gone', '{"input_tokens":90120,"output_tokens":81400,"cache_read_tokens":1640000,"cost_usd":6.87}', 'tool', 'Edit: src/scheduler/queue.c'),
(8, 'lost', 'Nightly fuzzing of the wire format', './fuzz --minutes 240', 'script', 'none', '[]', NULL, 'host_reboot', 'The host was started anew while the run was at work.', NULL, '1 day', '2 h 4 min', 's', 'failed', NULL, 'say', 'corpus: 18,204 inputs'),
(9, 'done', 'A title that goes on and on, since somebody has pasted the whole first paragraph of an issue as the task and never thought of giving it a title of its own, which happens every day', 'long', 'claude', 'git', '[{"repo":"an-organisation-with-a-long-name/a-repository-whose-name-is-even-longer-than-that","ref":"feature/some-very-long-branch-name-that-does-not-fit","dir":"a"},{"repo":"acme/second","ref":null,"dir":"second"}]', 0, 'ok', NULL, NULL, '2 days', '12 min', 's', 'gone', NULL, 'say', 'Averylongwordwithoutanyspaceinitthatdoesnotbreakanywhereunlessitismadetobreakandthatisexactlywhatthisrowisherefor_Averylongwordwithoutanyspace'),
(10, 'done', E'<script>alert(1)</script><img src=x onerror=alert(2)> & "quotes"', '<b>html</b>', 'script', 'none', '[]', 0, 'ok', NULL, NULL, '3 days', '2 s', 's', 'gone', NULL, 'say', '<a href="javascript:alert(1)">press me</a>'),
(11, 'failed', E'Invoice \u202Efdp.exe\u202C \u200Bhidden \u2066isolate\u2069', 'bidi', 'script', 'none', '[]', 137, 'oom', 'Out of memory.', NULL, '4 days', '1 min 1 s', 's', 'gone', NULL, 'say', E'\u202Edesrever si siht'),
(12, 'done', 'إصلاح اختبار إعادة المحاولة المتقطع في الحزمة', 'rtl', 'claude', 'git', '[{"repo":"acme/rtl","ref":"main","dir":"rtl"}]', 0, 'ok', NULL, NULL, '5 days', '7 min 30 s', 's', 'gone', NULL, 'say', 'تم إصلاح الاختبار'),
(13, 'waiting', 'Fix the flaky retry test in packages/queue', 'Fix the flaky retry test in packages/queue.', 'claude', 'git', '[{"repo":"acme/queue","ref":"main","dir":"queue"}]', NULL, NULL, NULL, E'The retry test depends on wall-clock time. May I inject a fake clock into RetryPolicy (a public constructor changes), or shall I keep the signature and stub Date?', '21 min', '12 min 41 s', 's', 'ready', '{"input_tokens":9100,"output_tokens":21400,"cache_read_tokens":150200,"cache_write_tokens":1900,"cost_usd":0.94}', 'question', 'The retry test depends on wall-clock time. May I inject a fake clock?');

DO $$
DECLARE s record; account bigint; box bigint; run bigint; turn bigint; log bigint; name text; i int;
	started timestamptz; ended timestamptz; base32 text := 'abcdefghijklmnopqrstuvwxyz234567';
BEGIN
	SELECT id INTO account FROM accounts ORDER BY id LIMIT 1;
	FOR s IN SELECT * FROM seed ORDER BY age DESC LOOP
		name := 'seed' || lpad(translate(s.n::text, '0123456789', 'abcdefghij'), 12, 'x');
		started := CASE WHEN s.state NOT IN ('queued', 'starting') THEN now() - s.age + interval '1.2 s' END;
		ended := CASE WHEN s.state IN ('done', 'failed', 'stopped', 'lost') THEN started + s.took END;
		INSERT INTO boxes (account_id, name, state, reason, runtime, isolation, image, class, memory_bytes, cpus, disk_bytes,
			host, slot, guest_boot_id, guest_kernel, readback, created_at, ready_at, deadline_at, expires_at, gone_at)
		VALUES (account, 'box-' || name, s.box, CASE WHEN s.box IN ('gone', 'failed') THEN coalesce(s.reason, 'operator') END, 'qemu',
			'hardware-vm', CASE s.agent WHEN 'claude' THEN 'claude' ELSE 'base' END, s.cls,
			CASE s.cls WHEN 's' THEN 1073741824 WHEN 'm' THEN 2147483648 ELSE 4294967296 END,
			CASE s.cls WHEN 's' THEN 1 WHEN 'm' THEN 2 ELSE 4 END,
			CASE s.cls WHEN 's' THEN 4294967296 WHEN 'm' THEN 8589934592 ELSE 17179869184 END,
			'elsewhere', s.n, gen_random_uuid()::text, '6.1.0', '{"spawn":{"memory_bytes":1073741824,"cpus":1,"nics":0,"uid":1900000100,"seccomp":2},"probe":{"sealed":true}}',
			now() - s.age, CASE WHEN s.box <> 'creating' THEN now() - s.age + interval '1 s' END,
			now() + interval '1 day', now() + interval '8 hours' - s.n * interval '17 min',
			CASE WHEN s.box IN ('gone', 'failed') THEN ended END)
		RETURNING id INTO box;
		INSERT INTO runs (account_id, name, box_id, title, task, agent, source, repos, created_by, created_at)
		VALUES (account, 'run-' || name, box, s.title, s.task, s.agent, s.source, s.repos, 'operator', now() - s.age) RETURNING id INTO run;
		INSERT INTO turns (account_id, run_id, box_id, n, message, state, reason, detail, exit_code, created_at, started_at, finished_at, usage)
		VALUES (account, run, box, 1, s.task, CASE s.state WHEN 'waiting' THEN 'asked' ELSE s.state END, s.reason, s.detail, s.exit_code,
			now() - s.age, started, CASE WHEN s.state = 'waiting' THEN started + s.took ELSE ended END, s.usage) RETURNING id INTO turn;
		UPDATE runs SET finished_at = ended, started_at = started WHERE id = run;
		INSERT INTO logs (account_id, run_id, created_at) VALUES (account, run, now() - s.age) RETURNING id INTO log;
		IF s.question IS NOT NULL THEN
			INSERT INTO questions (account_id, run_id, turn_id, box_ref, text, asked_at)
			VALUES (account, run, turn, 'q1', s.question, now() - interval '4 min');
		END IF;
		IF s.last_text IS NOT NULL THEN
			INSERT INTO trace (account_id, run_id, seq, turn, ts, kind, text) VALUES (account, run, 1, 1,
				coalesce(ended, now() - least(s.age, interval '40 s')), s.last_kind, s.last_text);
		END IF;
	END LOOP;
END $$;
