-- The package window of a sandbox: open or closed, and what came through it. By the job that makes the box.

-- name: package_window
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), b AS (
	UPDATE boxes SET egress = $4::text, installed = coalesce($5::jsonb, installed)
	FROM f WHERE boxes.id = $3::bigint AND purpose = 'sandbox' AND state = 'creating' RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM b);
