-- name: box_get
SELECT id, name, state, runtime, image, class, memory_bytes, cpus, slot, guest_boot_id, language, packages::text,
	coalesce(sync_upload_id, 0), packages_from, isolation, (readback->'spawn')::text, pooled_at IS NOT NULL
FROM boxes WHERE id = $1::bigint;

-- The box keeps a slot it has; otherwise the lowest free one. 23505 on boxes_slot: lost a race, again.
-- name: box_assign_slot
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes x SET host_boot_id = $5::text, slot = coalesce(x.slot, (
		SELECT min(s) FROM generate_series(0, $6::int - 1) s
		WHERE NOT EXISTS (SELECT 1 FROM boxes o
			WHERE o.host = $4::text AND o.slot = s AND o.state NOT IN ('gone', 'failed'))))
	FROM f WHERE x.id = $3::bigint AND x.host = $4::text AND x.state = 'creating'
	RETURNING x.slot
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b), (SELECT slot FROM b);

-- name: box_started
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET pid = $4::int, pid_start = $5::bigint, isolation = $6::text, template = $7::text,
		readback = jsonb_build_object('spawn', $8::jsonb)
	FROM f WHERE boxes.id = $3::bigint AND state = 'creating' RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b);

-- Ready by this boot of its guest already: the commit's answer was lost. A sandbox for which the gate is open
-- is not handed out: the gate reads the same row for each request. What waited for it is claimed now.
-- name: box_ready
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET state = 'ready', ready_at = coalesce(ready_at, now()), guest_boot_id = $4::text,
		guest_kernel = $5::text, used_at = CASE purpose WHEN 'sandbox' THEN now() END,
		readback = coalesce(readback, '{}') || jsonb_build_object('machine', $6::jsonb, 'probe', $7::jsonb),
		seal = jsonb_build_object('at', rfc3339(now()), 'readback', $6::jsonb, 'probe', $7::jsonb)
	FROM f WHERE boxes.id = $3::bigint AND (state = 'creating' OR state = 'ready' AND guest_boot_id = $4::text)
		AND (purpose <> 'sandbox' OR egress = 'sealed')
	RETURNING pg_notify('jobs', '')
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b),
	(SELECT purpose = 'sandbox' AND egress <> 'sealed' FROM boxes WHERE id = $3::bigint);

-- Numbers on the box's channel that nobody ever had.
-- name: box_take_streams
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET next_stream = next_stream + $4::int FROM f WHERE boxes.id = $3::bigint
	RETURNING next_stream - $4::int AS first
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b), (SELECT first FROM b);

-- To destroying, gone or failed; a box that has ended stays as it ended.
-- name: box_move
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET state = $4::text, reason = coalesce($5::text, reason), detail = coalesce($7::text, detail),
		gone_at = CASE WHEN $4::text IN ('gone', 'failed') THEN now() END,
		deadline_at = now() + $6::bigint * interval '1 ms'
	FROM f WHERE boxes.id = $3::bigint AND state NOT IN ('gone', 'failed')
	RETURNING pg_notify('jobs', '')
)
SELECT count(*) FROM f;
