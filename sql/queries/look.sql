-- Looks into boxes: asked by asb-web, seen by a job, let go after an hour.

-- name: look_submit
WITH b AS (
	SELECT id, host FROM boxes WHERE id = $2::bigint AND state IN ('creating', 'ready')
), l AS (
	INSERT INTO looks (account_id, name, box_id, op, request)
	SELECT $1::bigint, $3::text, b.id, $4::text, $5::jsonb FROM b RETURNING id
), j AS (
	INSERT INTO jobs (account_id, kind, box_id, run_id, lane, host, payload, request_id)
	SELECT $1::bigint, 'look', b.id, $6::bigint, 'look', b.host, jsonb_build_object('look', l.id), $7::text
	FROM b, l RETURNING id
)
SELECT l.id, j.id FROM l, j;

-- With the trees of its box: a sandbox's, or its run's.
-- name: look_get
SELECT l.op, l.request::text, l.state, b.purpose = 'sandbox', coalesce(b.sync_upload_id, r.upload_id, 0),
	CASE WHEN b.sync_upload_id IS NOT NULL THEN 'upload' ELSE coalesce(r.source, 'none') END,
	coalesce(r.repos, '[]')::text
FROM looks l JOIN boxes b ON b.id = l.box_id
LEFT JOIN LATERAL (SELECT source, repos, upload_id FROM runs WHERE box_id = b.id LIMIT 1) r ON true
WHERE l.id = $1::bigint;

-- The same end again by the same epoch: the commit's answer was lost.
-- name: look_finish
WITH f AS (
	SELECT epoch FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), l AS (
	UPDATE looks SET state = $4::text, result = $5::jsonb, code = $6::text, reason = $7::text, detail = $8::text,
		epoch = f.epoch, finished_at = now()
	FROM f WHERE looks.id = $3::bigint AND (state = 'queued' OR state = $4::text AND looks.epoch = f.epoch)
	RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM l);

-- name: read_look
SELECT look_json(l.id), l.state, l.code, l.reason, l.detail FROM looks l
WHERE l.name = $1::text AND l.account_id = $2::bigint;

-- name: look_sweep
-- retry
DELETE FROM looks WHERE id = ANY (ARRAY(SELECT id FROM looks
	WHERE created_at < now() - $1::bigint * interval '1 ms' LIMIT 1000));

-- name: live_wait_look
SELECT id, name FROM looks WHERE account_id = $1::bigint AND (id = $2::bigint OR name = $3::text);

-- name: live_look_states
-- With the answer where it has ended.
SELECT id, state, CASE WHEN state = 'done' THEN look_json(id)::text END, code, coalesce(reason, ''), detail
FROM looks WHERE id = ANY ($1::bigint[]);
