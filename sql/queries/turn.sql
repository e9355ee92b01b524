-- Writes of a turn's runner. Whoever repeats one after a commit whose answer was lost is of the same epoch,
-- and finds what it wrote.

-- name: turn_get
SELECT t.id, t.run_id, t.n, t.message, t.question_id, t.state, t.exec_id,
	(extract(epoch FROM t.deadline_at - now()) * 1000)::bigint,
	r.name, r.agent, r.task, r.source, r.repos::text, r.upload_id, l.id, q.box_ref, q.answer,
	coalesce((SELECT c.seq FROM trace c WHERE c.run_id = r.id ORDER BY c.seq DESC LIMIT 1), 0),
	r.agent_session,
	(SELECT count(*) FROM trace c WHERE c.run_id = r.id AND c.turn = t.n AND c.kind = 'usage')
FROM turns t JOIN runs r ON r.id = t.run_id LEFT JOIN logs l ON l.run_id = r.id AND l.exec_id IS NULL
	LEFT JOIN questions q ON q.id = t.question_id
WHERE t.id = $1::bigint;

-- A turn that a former epoch began is taken over: its state stays, its deadline runs on.
-- name: turn_start
WITH f AS (
	SELECT epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), t AS (
	UPDATE turns SET epoch = f.epoch, started_at = coalesce(started_at, now()),
		state = CASE state WHEN 'queued' THEN 'starting' ELSE state END,
		deadline_at = CASE state WHEN 'queued' THEN now() + $4::bigint * interval '1 ms' ELSE deadline_at END
	FROM f WHERE turns.id = $3::bigint AND state IN ('queued', 'starting', 'running') RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM t);

-- name: turn_running
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), t AS (
	UPDATE turns SET state = 'running', exec_id = $4::bigint,
		deadline_at = CASE state WHEN 'running' THEN deadline_at ELSE now() + $5::bigint * interval '1 ms' END
	FROM f WHERE turns.id = $3::bigint AND state IN ('starting', 'running') RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM t);

-- What its agent used is the sum of what it said at each end.
-- name: turn_end
WITH f AS (
	SELECT epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), t AS (
	UPDATE turns SET state = $4::text, reason = $5::text, detail = $6::text, exit_code = $7::int,
		signal = $8::int, patch_id = coalesce($9::bigint, patch_id), bundle_id = coalesce($10::bigint, bundle_id),
		usage = (SELECT jsonb_build_object('input_tokens', sum((c.data->>'input_tokens')::bigint),
				'output_tokens', sum((c.data->>'output_tokens')::bigint),
				'cache_read_tokens', sum((c.data->>'cache_read_tokens')::bigint),
				'cache_write_tokens', sum((c.data->>'cache_write_tokens')::bigint),
				'cost_usd', sum((c.data->>'cost_usd')::numeric))
			FROM trace c WHERE c.run_id = turns.run_id AND c.turn = turns.n AND c.kind = 'usage' HAVING count(*) > 0),
		epoch = f.epoch, finished_at = coalesce(finished_at, now())
	FROM f WHERE turns.id = $3::bigint AND (state IN ('queued', 'starting', 'running')
		OR state = $4::text AND turns.epoch = f.epoch) RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM t);

-- Results of a turn that has ended, or asked, already.
-- name: turn_save
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), t AS (
	UPDATE turns SET patch_id = coalesce($4::bigint, patch_id), bundle_id = coalesce($5::bigint, bundle_id)
	FROM f WHERE turns.id = $3::bigint RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM t);

-- Every active turn of a box ends, and so does a run that waits for an answer: it gets a last turn of
-- its own that says how, because the turn that asked has ended and is final.
-- name: turn_stop_box
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' AND box_id = $3::bigint
	FOR SHARE
), t AS (
	UPDATE turns SET state = $4::text, reason = $5::text, detail = $6::text, finished_at = now()
	FROM f WHERE turns.box_id = $3::bigint AND state IN ('queued', 'starting', 'running')
), w AS (
	INSERT INTO turns (account_id, run_id, box_id, n, message, state, reason, detail, exec_id, started_at,
		finished_at)
	SELECT r.account_id, r.id, r.box_id, r.last_turn + 1, '', $4::text, $5::text, $6::text, p.exec_id, now(), now()
	FROM f, runs r JOIN turns p ON p.run_id = r.id AND p.n = r.last_turn
	WHERE r.box_id = $3::bigint AND r.state = 'waiting'
)
SELECT count(*) FROM f;
