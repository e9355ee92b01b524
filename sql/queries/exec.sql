-- An evidence exec: its stream on the box's channel, a log of its own, its row and its job. The lane is
-- named after the exec, so its id is drawn first. The box's row is locked by the caller.
-- name: exec_submit
WITH b AS (
	UPDATE boxes SET next_stream = next_stream + 1 WHERE id = $2::bigint AND state IN ('creating', 'ready')
	RETURNING id, host, next_stream - 1 AS stream
), n AS (
	SELECT nextval('execs_id_seq') AS id FROM b
), l AS (
	INSERT INTO logs (account_id, run_id, exec_id) SELECT $1::bigint, $3::bigint, n.id FROM n RETURNING id
), e AS (
	INSERT INTO execs (id, account_id, name, box_id, run_id, stream, lane, argv, stdin, cwd, timeout_ms, log_id,
		language, code, code_sha256, background, files)
	OVERRIDING SYSTEM VALUE
	SELECT n.id, $1::bigint, $4::text, b.id, $3::bigint, b.stream, 'exec:' || n.id, $5::jsonb, $6::bytea,
		$7::text, $8::bigint, l.id, $10::text, $11::bytea, $12::text, $13::boolean, $14::jsonb
	FROM n, b, l RETURNING id, stream, lane, log_id
), j AS (
	INSERT INTO jobs (account_id, kind, box_id, run_id, exec_id, lane, host, request_id)
	SELECT $1::bigint, 'exec', b.id, $3::bigint, e.id, e.lane, b.host, $9::text FROM e, b RETURNING id
)
SELECT e.id, e.stream, e.log_id, j.id FROM e, j;

-- The agent's own exec, in the run's log behind what is in it already. The same stream again: the
-- commit's answer was lost.
-- name: exec_open
WITH f AS (
	SELECT account_id, epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), e AS (
	INSERT INTO execs (account_id, name, box_id, run_id, stream, lane, argv, cwd, log_id, log_base, epoch)
	SELECT f.account_id, $3::text, $4::bigint, $5::bigint, $6::int, 'drive', $7::jsonb, $8::text, $9::bigint,
		coalesce((SELECT c.src_off + c.src_len FROM log_chunk c WHERE c.log_id = $9::bigint
			ORDER BY c.seq DESC LIMIT 1), 0), f.epoch
	FROM f
	ON CONFLICT (box_id, stream) DO UPDATE SET stream = EXCLUDED.stream RETURNING id, log_base
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM e), (SELECT id FROM e), (SELECT log_base FROM e);

-- name: exec_get
SELECT id, stream, lane, argv::text, stdin, cwd, timeout_ms, log_id, log_base, state, exit_code, signal, timed_out,
	oom, language, code, files::text
FROM execs WHERE id = $1::bigint;

-- name: exec_start
WITH f AS (
	SELECT epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), e AS (
	UPDATE execs SET state = 'running', epoch = f.epoch, started_at = coalesce(started_at, now())
	FROM f WHERE execs.id = $3::bigint AND state IN ('queued', 'running') RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM e);

-- The same end again by the same epoch: the commit's answer was lost.
-- name: exec_finish
WITH f AS (
	SELECT epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), e AS (
	UPDATE execs SET state = $4::text, reason = $5::text, exit_code = $6::int, signal = $7::int,
		timed_out = $8::boolean, oom = $9::boolean, usage = $10::jsonb, epoch = f.epoch,
		started_at = coalesce(started_at, now() - $11::bigint * interval '1 ms'),
		finished_at = coalesce(finished_at, now()), checks = $12::jsonb
	FROM f WHERE execs.id = $3::bigint AND (state IN ('queued', 'running')
		OR state = $4::text AND execs.epoch = f.epoch)
	RETURNING pg_notify('feed', 'x' || execs.id)
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM e);

-- The end of an exec and of the job that ran it, in one statement: whoever waits is one round trip and one
-- commit away. The exec's row first, so that a job whose exec has ended otherwise stays as it is. It wakes who
-- waits by itself: a trigger would be compiled anew by each runner's connection.
-- name: exec_finish_job
WITH f AS (
	SELECT id, epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR UPDATE
), e AS (
	UPDATE execs SET state = $4::text, reason = $5::text, exit_code = $6::int, signal = $7::int,
		timed_out = $8::boolean, oom = $9::boolean, usage = $10::jsonb, epoch = f.epoch,
		started_at = coalesce(started_at, now() - $11::bigint * interval '1 ms'),
		finished_at = coalesce(finished_at, now()), checks = $12::jsonb
	FROM f WHERE execs.id = $3::bigint AND state IN ('queued', 'running')
	RETURNING f.id AS job, pg_notify('feed', 'x' || execs.id)
), d AS (
	DELETE FROM jobs j USING e WHERE j.id = e.job RETURNING j.*
), h AS (
	INSERT INTO job_history (id, account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, state,
		priority, run_at, attempts, host, epoch, lease_owner, lease_until, deadline_at, cancel_requested_at,
		request_id, last_error, created_at, outcome)
	SELECT id, account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, state, priority, run_at,
		attempts, host, epoch, lease_owner, lease_until, deadline_at, cancel_requested_at, request_id,
		last_error, created_at, $4::text FROM d
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM e);

-- For the destroy job of the box: whatever still ran in it has ended.
-- name: exec_stop_box
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' AND box_id = $3::bigint
	FOR SHARE
), e AS (
	UPDATE execs SET state = 'failed', reason = $4::text, finished_at = now()
	FROM f WHERE execs.box_id = $3::bigint AND state IN ('queued', 'running')
	RETURNING pg_notify('feed', 'x' || execs.id)
)
SELECT count(*) FROM f;
