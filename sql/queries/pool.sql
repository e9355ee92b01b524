-- Boxes made ahead. pool_take and pool_json are functions (0011_pool.sql): doors see no row without an account.

-- name: read_pool
SELECT pool_json();

-- Images and classes worth a box ahead (the site's default, and what was asked for within the hour), how many
-- of each there are or are being made, and whether making one failed just now.
-- name: pool_wanted
SELECT w.image, w.class, count(b.id) FILTER (WHERE b.state IN ('creating', 'pooled')),
	count(b.id) FILTER (WHERE b.state = 'failed') > 0
FROM (SELECT $3::text AS image, $4::text AS class, now() AS at UNION ALL
	SELECT r.image, r.class, max(r.created_at) FROM (SELECT * FROM boxes WHERE account_id IS NOT NULL ORDER BY id DESC LIMIT 50) r
	WHERE r.runtime = $2::text AND r.created_at > now() - interval '1 hour'
		AND (r.image <> $3::text OR r.class <> $4::text) GROUP BY r.image, r.class) w
LEFT JOIN boxes b ON b.account_id IS NULL AND b.host = $1::text AND b.runtime = $2::text AND b.image = w.image
	AND b.class = w.class AND (b.state IN ('creating', 'pooled')
		OR b.state = 'failed' AND b.pooled_at IS NULL AND b.gone_at > now() - interval '1 minute')
GROUP BY w.image, w.class, w.at ORDER BY w.at DESC;

-- Slots in use on the host; boxes of the pool among them; those that are being made.
-- name: pool_room
SELECT count(*), count(*) FILTER (WHERE account_id IS NULL), count(*) FILTER (WHERE account_id IS NULL AND state = 'creating')
FROM boxes WHERE host = $1::text AND state NOT IN ('gone', 'failed');

-- name: pool_make
WITH b AS (
	INSERT INTO boxes (name, runtime, image, image_key, class, memory_bytes, cpus, disk_bytes, host, egress,
		deadline_at, expires_at)
	VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::int, $8::bigint, $9::text, 'sealed',
		now() + $10::bigint * interval '1 ms', now() + $11::bigint * interval '1 ms')
	RETURNING id, host
)
INSERT INTO jobs (kind, box_id, lane, host, priority) SELECT 'pool', b.id, 'admin', b.host, 10 FROM b;

-- name: box_pooled
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET state = 'pooled', pooled_at = now()
	FROM f WHERE boxes.id = $3::bigint AND account_id IS NULL AND state = 'creating' RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b);

-- A claimed one that did not go on: it is made anew.
-- name: box_unpooled
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET pooled_at = NULL FROM f WHERE boxes.id = $3::bigint AND state = 'creating' RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b);

-- The pool as it stands, oldest first; `old`: it would not hold for a whole life any more.
-- name: pool_list
SELECT b.id, b.image, b.class, b.image_key, b.runtime, b.expires_at < now() + $2::bigint * interval '1 ms'
FROM boxes b WHERE b.account_id IS NULL AND b.host = $1::text AND b.state = 'pooled' ORDER BY b.id;

-- Takes one out to end it (NULL: the oldest), as a claim does: never one that was claimed in the same instant.
-- name: pool_drop
WITH b AS (
	UPDATE boxes SET state = 'destroying', deadline_at = now() + $4::bigint * interval '1 ms'
	WHERE id = (SELECT p.id FROM boxes p WHERE p.account_id IS NULL AND p.host = $1::text AND p.state = 'pooled'
		AND ($2::bigint IS NULL OR p.id = $2::bigint) ORDER BY p.id LIMIT 1 FOR UPDATE SKIP LOCKED)
	RETURNING id, host
)
INSERT INTO jobs (kind, box_id, lane, payload, host, priority)
SELECT 'destroy', b.id, 'admin', jsonb_build_object('reason', $3::text), b.host, -10 FROM b
ON CONFLICT (box_id) WHERE kind = 'destroy' DO NOTHING;
