-- Statements of asb-worker and asb-runner. Those of a job's state changes run in a transaction
-- that job_fence opened: its row lock holds the epoch still until the commit.

-- name: worker_job_release
UPDATE jobs SET state = 'queued', lease_owner = NULL, lease_until = NULL,
	run_at = now() + make_interval(secs => $3::bigint / 1000.0)
WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running';

-- name: worker_job_to_host
UPDATE jobs SET state = 'queued', lease_owner = NULL, lease_until = NULL, host = $3::text
WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running';

-- name: worker_jobs_cancelled
SELECT id, epoch FROM jobs
WHERE state = 'running' AND lease_owner = $1::text AND cancel_requested_at IS NOT NULL;

-- name: worker_notify_log
SELECT pg_notify('log', $1::text);

-- --- the host ------------------------------------------------------------------------------------

-- name: worker_host_get
SELECT boot_id, (extract(epoch FROM now() - seen_at) * 1000)::bigint FROM hosts WHERE name = $1::text;

-- name: worker_host_put
INSERT INTO hosts (name, boot_id, slots, isolation)
VALUES ($1::text, $2::text, $3::int, $4::text)
ON CONFLICT (name) DO UPDATE SET boot_id = excluded.boot_id, slots = excluded.slots, seen_at = now();

-- name: worker_host_seen
UPDATE hosts SET seen_at = now() WHERE name = $1::text;

-- name: worker_host_boxes
SELECT b.id, b.name, b.state, b.slot, b.pid, b.pid_start,
	EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.state = 'running')
FROM boxes b WHERE b.host = $1::text AND b.state NOT IN ('gone', 'failed');

-- name: worker_box_is_live
SELECT 1 FROM boxes WHERE name = $1::text AND host = $2::text AND state NOT IN ('gone', 'failed');

-- --- a box ---------------------------------------------------------------------------------------

-- name: worker_box_load
SELECT name, state, runtime, image, class, memory_bytes, cpus, host, slot, pid, pid_start, account_id,
	(extract(epoch FROM expires_at - now()) * 1000)::bigint, guest_boot_id
FROM boxes WHERE id = $1::bigint;

-- name: worker_box_slot
-- The lowest free slot of the host; no row where all are taken. boxes_slot refuses the second of two.
UPDATE boxes SET host = $2::text, host_boot_id = $3::text, slot = free.slot
FROM (SELECT s AS slot FROM generate_series(0, $4::int - 1) s
	WHERE NOT EXISTS (SELECT 1 FROM boxes o WHERE o.host = $2::text AND o.slot = s
		AND o.state NOT IN ('gone', 'failed'))
	ORDER BY s LIMIT 1) free
WHERE boxes.id = $1::bigint AND boxes.state = 'creating'
RETURNING free.slot;

-- name: worker_box_jobs_host
UPDATE jobs SET host = $2::text WHERE box_id = $1::bigint AND host IS DISTINCT FROM $2::text;

-- name: worker_box_spawned
UPDATE boxes SET pid = $2::int, pid_start = $3::bigint, isolation = $4::text, template = $5::text,
	readback = jsonb_build_object('spawn', $6::jsonb)
WHERE id = $1::bigint AND state = 'creating';

-- name: worker_box_ready
UPDATE boxes SET state = 'ready', ready_at = now(), guest_boot_id = $2::text, guest_kernel = $3::text,
	readback = coalesce(readback, '{}') || jsonb_build_object('machine', $4::jsonb, 'probe', $5::jsonb)
WHERE id = $1::bigint AND state = 'creating';

-- name: worker_box_streams
UPDATE boxes SET next_stream = next_stream + $2::int WHERE id = $1::bigint
RETURNING next_stream - $2::int;

-- name: worker_box_destroying
UPDATE boxes SET state = 'destroying', deadline_at = now() + make_interval(secs => $2::bigint / 1000.0)
WHERE id = $1::bigint AND state NOT IN ('gone', 'failed');

-- name: worker_box_end
UPDATE boxes SET state = $2::text, reason = $3::text, gone_at = now()
WHERE id = $1::bigint AND state NOT IN ('gone', 'failed');

-- name: worker_box_turns_end
-- What still runs in a box that ends, but for turn $5.
UPDATE turns SET state = $2::text, reason = $3::text, detail = $4::text, finished_at = now()
WHERE box_id = $1::bigint AND state IN ('queued', 'starting', 'running')
	AND id <> coalesce($5::bigint, 0);

-- name: worker_box_waiting_end
-- A run that waits for an answer has no turn that could end; it gets one that says how it ended.
INSERT INTO turns (account_id, run_id, box_id, n, message, state, reason, detail, started_at, finished_at)
SELECT r.account_id, r.id, r.box_id, r.last_turn + 1, '', $2::text, $3::text, $4::text, now(), now()
FROM runs r WHERE r.box_id = $1::bigint AND r.state = 'waiting';

-- name: worker_box_execs_end
UPDATE execs SET state = 'failed', reason = $2::text, finished_at = now()
WHERE box_id = $1::bigint AND state IN ('queued', 'running');

-- name: worker_box_jobs_drop
WITH d AS (DELETE FROM jobs WHERE box_id = $1::bigint AND id <> coalesce($2::bigint, 0) RETURNING *)
INSERT INTO job_history SELECT d.*, $3::text FROM d;

-- name: worker_destroy_add
INSERT INTO jobs (account_id, kind, box_id, run_id, lane, payload, host, priority)
SELECT b.account_id, 'destroy', b.id, (SELECT r.id FROM runs r WHERE r.box_id = b.id LIMIT 1), 'admin',
	jsonb_build_object('reason', $2::text), b.host, -10
FROM boxes b WHERE b.id = $1::bigint AND b.state NOT IN ('gone', 'failed')
ON CONFLICT DO NOTHING;

-- --- a turn --------------------------------------------------------------------------------------

-- name: worker_turn_load
SELECT t.n, t.message, t.state, t.question_id, t.exec_id, r.id, r.name, r.task, r.agent, r.source,
	r.repos::text, r.upload_id, t.account_id, (extract(epoch FROM t.deadline_at - now()) * 1000)::bigint,
	(SELECT l.id FROM logs l WHERE l.run_id = r.id AND l.exec_id IS NULL),
	q.box_ref, q.answer,
	(SELECT p.exec_id FROM turns p WHERE p.id = q.turn_id),
	coalesce((SELECT max(c.seq) FROM trace c WHERE c.run_id = r.id), 0)
FROM turns t JOIN runs r ON r.id = t.run_id LEFT JOIN questions q ON q.id = t.question_id
WHERE t.id = $1::bigint;

-- name: worker_turn_starting
UPDATE turns SET state = 'starting', epoch = $2::bigint, started_at = coalesce(started_at, now()),
	deadline_at = coalesce(deadline_at, now() + make_interval(secs => $3::bigint / 1000.0))
WHERE id = $1::bigint AND state IN ('queued', 'starting');

-- name: worker_turn_running
UPDATE turns SET state = 'running', epoch = $2::bigint, exec_id = $3::bigint,
	deadline_at = now() + make_interval(secs => $4::bigint / 1000.0)
WHERE id = $1::bigint AND state IN ('queued', 'starting');

-- name: worker_turn_epoch
UPDATE turns SET epoch = $2::bigint WHERE id = $1::bigint AND state = 'running';

-- name: worker_turn_finish
UPDATE turns SET state = $2::text, reason = $3::text, detail = $4::text, exit_code = $5::int,
	signal = $6::int, patch_id = coalesce($7::bigint, patch_id), bundle_id = coalesce($8::bigint, bundle_id),
	finished_at = now()
WHERE id = $1::bigint AND state IN ('queued', 'starting', 'running');

-- name: worker_turn_saved
-- Results of a turn that has ended, or asked, already.
UPDATE turns SET patch_id = coalesce($2::bigint, patch_id), bundle_id = coalesce($3::bigint, bundle_id)
WHERE id = $1::bigint;

-- name: worker_results_newest
SELECT coalesce(max(id), 0) FROM blobs WHERE run_id = $1::bigint;

-- name: worker_results_replace
-- What was saved up to blob $3 and is not wanted beside what was saved since: patch and bundle of the same turn
-- (a runner died before it said so, or a destroy saves once more), and files of the same name; a file that has
-- not changed was not stored again, and stays.
DELETE FROM blobs b WHERE b.run_id = $1::bigint AND b.id <= $3::bigint AND b.kind IN ('patch', 'bundle', 'artifact')
	AND NOT EXISTS (SELECT FROM turns t WHERE t.run_id = $1::bigint AND b.id IN (t.patch_id, t.bundle_id))
	AND (b.turn_id = $2::bigint AND (b.kind <> 'artifact' OR NOT b.complete) OR (b.kind = 'artifact' AND EXISTS (SELECT FROM blobs n
		WHERE n.run_id = $1::bigint AND n.id > b.id AND n.kind = 'artifact' AND n.complete
			AND n.file_name = b.file_name)));

-- name: worker_question_add
INSERT INTO questions (account_id, run_id, turn_id, box_ref, text)
VALUES ($1::bigint, $2::bigint, $3::bigint, $4::text, $5::text)
ON CONFLICT (run_id, box_ref) DO NOTHING RETURNING id;

-- name: worker_trace_add
INSERT INTO trace (account_id, run_id, seq, turn, kind, ref, text, data)
VALUES ($1::bigint, $2::bigint, $3::bigint, $4::int, $5::text, $6::text, $7::text, $8::jsonb)
ON CONFLICT DO NOTHING;

-- name: worker_artifact_known
-- Saved before with the same bytes: by an earlier turn, or by a runner that died.
SELECT 1 FROM blobs
WHERE run_id = $1::bigint AND kind = 'artifact' AND complete AND file_name = $2::text AND sha256 = $3::text
	AND id <> $4::bigint LIMIT 1;

-- --- an exec -------------------------------------------------------------------------------------

-- name: worker_exec_add
INSERT INTO execs (account_id, name, box_id, run_id, stream, lane, argv, cwd, log_id, log_base)
VALUES ($1::bigint, $2::text, $3::bigint, $4::bigint, $5::int, $6::text, $7::jsonb, $8::text, $9::bigint,
	$10::bigint)
-- a commit whose answer was lost is made again
ON CONFLICT (box_id, stream) DO UPDATE SET stream = excluded.stream
RETURNING id, name;

-- name: worker_exec_load
SELECT stream, state, argv::text, stdin, cwd, timeout_ms, log_id, log_base, lane, exit_code, signal,
	timed_out, oom, account_id, (extract(epoch FROM now() - created_at) * 1000)::bigint, reason, run_id
FROM execs WHERE id = $1::bigint;

-- name: worker_exec_started
UPDATE execs SET state = 'running', epoch = $2::bigint, started_at = coalesce(started_at, now())
WHERE id = $1::bigint AND state IN ('queued', 'running');

-- name: worker_exec_finish
UPDATE execs SET state = $2::text, reason = $3::text, exit_code = $4::int, signal = $5::int,
	timed_out = $6::boolean, oom = $7::boolean, usage = $8::jsonb, finished_at = now()
WHERE id = $1::bigint AND state IN ('queued', 'running');

-- --- logs ----------------------------------------------------------------------------------------

-- name: worker_log_end
SELECT seq, first_line + nlines, src_off + src_len FROM log_chunk
WHERE log_id = $1::bigint ORDER BY seq DESC LIMIT 1;

-- name: worker_log_append
-- Chunks of one flush and the trace rows that came of them, under the fence. The bodies come as one
-- piece of bytes, cut here by $9 and $10, so that nothing is escaped; ON CONFLICT makes a repeat
-- after an unknown commit harmless. fence 0: the lease is lost.
WITH f AS (SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE),
c AS (INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, src_off, src_len, ts,
		body, line_ms)
	SELECT $3::bigint, $4::bigint, u.seq, u.stream, u.first_line, u.nlines, u.src_off, u.src_len,
		to_timestamp($5::bigint / 1000.0), substring($6::bytea FROM u.at + 1 FOR u.size), u.line_ms::int[]
	FROM f, unnest($7::bigint[], $8::smallint[], $9::int[], $10::int[], $11::bigint[], $12::int[],
		$13::bigint[], $14::int[], $15::text[])
		AS u(seq, stream, at, size, first_line, nlines, src_off, src_len, line_ms)
	ON CONFLICT DO NOTHING RETURNING 1),
t AS (INSERT INTO trace (account_id, run_id, seq, turn, ts, kind, text, data)
	SELECT $3::bigint, $16::bigint, (e->>0)::bigint, $17::int, to_timestamp($5::bigint / 1000.0), e->>1, e->>2, (e->3)::jsonb
	FROM f, json_array_elements($18::json) e
	ON CONFLICT DO NOTHING RETURNING 1)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM c), (SELECT count(*) FROM t);

-- --- sweeps --------------------------------------------------------------------------------------

-- name: worker_sweep_stuck
SELECT id, state FROM boxes
WHERE state IN ('creating', 'destroying') AND deadline_at < now() AND (host = $1::text OR host IS NULL)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = boxes.id AND j.kind = 'destroy');

-- name: worker_sweep_expired
SELECT id FROM boxes
WHERE state IN ('ready', 'stopped', 'pooled', 'creating') AND expires_at < now()
	AND (host = $1::text OR host IS NULL)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = boxes.id AND j.kind = 'destroy');

-- name: worker_sweep_unanswered
SELECT DISTINCT r.box_id FROM runs r JOIN boxes b ON b.id = r.box_id
	JOIN turns t ON t.run_id = r.id AND t.n = r.last_turn
WHERE b.host = $1::text AND b.state NOT IN ('gone', 'failed') AND r.state = 'waiting' AND t.state = 'asked'
	AND t.finished_at < now() - make_interval(secs => $2::bigint / 1000.0)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.kind = 'destroy');

-- name: worker_sweep_overdue
-- Turns that nobody ended although their deadline is long past: the runner would have, had it lived.
SELECT DISTINCT t.box_id FROM turns t JOIN boxes b ON b.id = t.box_id
WHERE t.state IN ('starting', 'running') AND t.deadline_at < now() - interval '60 s'
	AND (b.host = $1::text OR b.host IS NULL)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.kind = 'destroy');

-- name: worker_sweep_partitions
SELECT partitions_ensure();

-- name: worker_sweep_idempotency
DELETE FROM idempotency WHERE created_at < now() - interval '24 h';

-- name: worker_sweep_throttle
DELETE FROM throttle WHERE since < now() - interval '10 min';

-- name: worker_sweep_sessions
DELETE FROM sessions WHERE expires_at < now() OR seen_at < now() - interval '7 d';

-- name: worker_destroy_run
SELECT r.id, r.source, r.repos::text, r.upload_id,
	(SELECT t.id FROM turns t WHERE t.run_id = r.id AND t.lane = 'drive' ORDER BY t.n DESC LIMIT 1)
FROM runs r WHERE r.box_id = $1::bigint LIMIT 1;
