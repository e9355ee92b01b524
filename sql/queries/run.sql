-- A run with its box (out of the pool, else a new one), log, first turn and job, in one statement. $6 is the upload's row, checked before.
-- name: run_delegate
WITH p AS (
	SELECT id, name FROM pool_take($10::text, $11::text, $19::text, $12::text, $16::bigint, $17::bigint,
		'run', NULL, NULL, NULL, 'run', NULL, NULL)
), n AS (
	INSERT INTO boxes (account_id, name, runtime, image, class, memory_bytes, cpus, disk_bytes, deadline_at, expires_at)
	SELECT $1::bigint, $9::text, $10::text, $11::text, $12::text, $13::bigint, $14::int, $15::bigint,
		now() + $16::bigint * interval '1 ms', now() + $17::bigint * interval '1 ms'
	WHERE NOT EXISTS (SELECT FROM p) RETURNING id, name
), b AS (
	SELECT id, name FROM p UNION ALL SELECT id, name FROM n
), r AS (
	INSERT INTO runs (account_id, name, box_id, title, task, agent, source, repos, upload_id, created_by)
	SELECT $1::bigint, $2::text, b.id, $3::text, $4::text, $5::text,
		CASE WHEN $6::bigint IS NOT NULL THEN 'upload' WHEN $7::jsonb IS NOT NULL THEN 'git' ELSE 'none' END,
		coalesce($7::jsonb, '[]'), $6::bigint, $8::text
	FROM b RETURNING id, box_id
), l AS (
	INSERT INTO logs (account_id, run_id) SELECT $1::bigint, r.id FROM r RETURNING id
), t AS (
	INSERT INTO turns (account_id, run_id, box_id, n, lane, message)
	SELECT $1::bigint, r.id, r.box_id, 1, 'drive', $4::text FROM r RETURNING id
), j AS (
	INSERT INTO jobs (account_id, kind, box_id, run_id, turn_id, lane, request_id)
	SELECT $1::bigint, 'turn', r.box_id, r.id, t.id, 'drive', $18::text FROM r, t RETURNING id
)
SELECT r.id, r.box_id, l.id, t.id, j.id, b.name FROM r, l, t, j, b;

-- An upload becomes a run's: complete, of this account, and of no run yet.
-- name: run_take_upload
UPDATE blobs SET run_id = $3::bigint
WHERE account_id = $1::bigint AND id = $2::bigint AND run_id IS NULL RETURNING id;

-- name: run_find_upload
SELECT id, complete, run_id IS NOT NULL FROM blobs
WHERE account_id = $1::bigint AND name = $2::text AND kind = 'upload';

-- Whoever steers a run holds its box, so that answering, running and tearing down go one after the other.
-- name: run_lock_box
SELECT r.id, b.id FROM runs r JOIN boxes b ON b.id = r.box_id
WHERE r.account_id = $1::bigint AND r.name = $2::text FOR NO KEY UPDATE OF b;

-- name: run_steer
SELECT r.state, r.last_turn, b.state, b.host, b.name, q.id, q.answer, q.answered_by, t.exec_id
FROM runs r JOIN boxes b ON b.id = r.box_id
	LEFT JOIN turns t ON t.run_id = r.id AND t.n = r.last_turn
	LEFT JOIN LATERAL (SELECT id, answer, answered_by FROM questions
		WHERE run_id = r.id AND ($2::bigint IS NULL OR id = $2::bigint) ORDER BY id DESC LIMIT 1) q ON true
WHERE r.id = $1::bigint;

-- name: run_answer
WITH q AS (
	UPDATE questions SET answer = $2::text, answered_by = $3::text, answered_at = now()
	WHERE id = $1::bigint AND answer IS NULL RETURNING id, run_id, account_id
), t AS (
	INSERT INTO turns (account_id, run_id, box_id, n, lane, message, question_id, exec_id)
	SELECT q.account_id, q.run_id, $4::bigint, $5::int, 'drive', $2::text, q.id, $6::bigint FROM q RETURNING id
), j AS (
	INSERT INTO jobs (account_id, kind, box_id, run_id, turn_id, lane, host, request_id)
	SELECT q.account_id, 'turn', $4::bigint, q.run_id, t.id, 'drive', $7::text, $8::text FROM q, t RETURNING id
)
SELECT t.id, j.id FROM t, j;

-- name: run_destroying
UPDATE boxes SET state = 'destroying', deadline_at = now() + $2::bigint * interval '1 ms'
WHERE id = $1::bigint AND state NOT IN ('destroying', 'gone', 'failed');

-- What a box's end saves: of the last drive-lane turn, whatever its state.
-- name: run_of_box
SELECT r.id, r.source, r.repos::text, coalesce(r.upload_id, 0),
	(SELECT t.id FROM turns t WHERE t.run_id = r.id AND t.lane = 'drive' ORDER BY t.n DESC LIMIT 1)
FROM runs r WHERE r.box_id = $1::bigint LIMIT 1;

-- name: run_set_session
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), r AS (
	UPDATE runs SET agent_session = $4::text FROM f WHERE runs.id = $3::bigint RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM r);

-- name: run_model_heard
SELECT (extract(epoch FROM now() - max(ts)) * 1000)::bigint FROM model_calls WHERE run_id = $1::bigint;

-- What the conversation had cost before this exec took it up.
-- name: run_cost_before
SELECT coalesce(sum((c.data->>'cost_usd')::numeric), 0)::text FROM trace c
WHERE c.run_id = $1::bigint AND c.kind = 'usage' AND c.seq < (SELECT min(x.seq) FROM trace x JOIN execs e ON e.name = x.ref
	WHERE e.id = $2::bigint AND x.run_id = $1::bigint AND x.kind = 'tool');
