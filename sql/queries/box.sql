-- name: box_get
SELECT id, account_id, name, state, runtime, image, class, memory_bytes, cpus, disk_bytes, host, slot, pid, pid_start,
	host_boot_id, guest_boot_id, guest_kernel, template, isolation, reason
FROM boxes WHERE id = $1::bigint;

-- The box keeps a slot it has; otherwise the lowest free one. 23505 on boxes_slot: lost a race, again.
-- name: box_assign_slot
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes x SET slot = coalesce(x.slot, (
		SELECT min(s) FROM generate_series(0, $5::int - 1) s
		WHERE NOT EXISTS (SELECT 1 FROM boxes o
			WHERE o.host = $4::text AND o.slot = s AND o.state NOT IN ('gone', 'failed'))))
	FROM f WHERE x.id = $3::bigint AND x.host = $4::text AND x.state NOT IN ('gone', 'failed')
	RETURNING x.slot
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b), (SELECT slot FROM b);

-- name: box_started
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET pid = $4::int, pid_start = $5::bigint, host_boot_id = $6::text, template = $7::text,
		isolation = $8::text
	FROM f WHERE boxes.id = $3::bigint AND state = 'creating' RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b);

-- name: box_ready
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET state = 'ready', readback = $4::jsonb, guest_boot_id = $5::text, guest_kernel = $6::text,
		ready_at = now()
	FROM f WHERE boxes.id = $3::bigint AND state = 'creating' RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b);

-- To destroying, gone or failed, from every state that is not an end; being there already is done.
-- name: box_move
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET state = $4::text, reason = coalesce($5::text, reason),
		gone_at = CASE WHEN $4::text IN ('gone', 'failed') THEN now() END,
		deadline_at = now() + $6::bigint * interval '1 ms'
	FROM f WHERE boxes.id = $3::bigint AND state NOT IN ('gone', 'failed', $4::text) RETURNING 1
)
SELECT (SELECT count(*) FROM f),
	(SELECT count(*) FROM b) + (SELECT count(*) FROM boxes WHERE id = $3::bigint AND state = $4::text);
