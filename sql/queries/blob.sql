-- name: blob_create
INSERT INTO blobs (account_id, name, kind, file_name, run_id, turn_id)
VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::bigint) RETURNING id;

-- name: blob_run_size
SELECT coalesce(sum(size_bytes), 0)::bigint FROM blobs WHERE run_id = $1::bigint;

-- name: blob_add_chunk
INSERT INTO blob_chunks (blob_id, n, body) VALUES ($1::bigint, $2::int, $3::bytea);

-- name: blob_complete
UPDATE blobs SET size_bytes = $2::bigint, sha256 = $3::text, complete = true WHERE id = $1::bigint AND NOT complete;

-- name: blob_count
UPDATE blobs SET files = $2::bigint::int, added = $3::bigint, removed = $4::bigint WHERE id = $1::bigint;

-- name: blob_get
SELECT id, name, kind, file_name, size_bytes, sha256, run_id FROM blobs
WHERE account_id = $1::bigint AND name = $2::text AND complete;

-- name: blob_chunk
SELECT body FROM blob_chunks WHERE blob_id = $1::bigint AND n = $2::int;

-- name: blob_drop
DELETE FROM blobs WHERE id = $1::bigint;

-- Saved before with the same bytes, by an earlier turn or a runner that died: the new one goes.
-- name: blob_drop_repeat
DELETE FROM blobs b WHERE b.id = $1::bigint AND EXISTS (SELECT FROM blobs o
	WHERE o.run_id = b.run_id AND o.kind = b.kind AND o.complete AND o.file_name = b.file_name
		AND o.sha256 = b.sha256 AND o.id <> b.id);

-- name: blob_newest
SELECT coalesce(max(id), 0) FROM blobs WHERE run_id = $1::bigint;

-- What was saved up to blob $5 and is not wanted beside what was saved since: patch and bundle of the same turn
-- (a runner died before it said so, or a destroy saves once more), and files of the same name; a file that has
-- not changed was not stored again, and stays.
-- name: blob_replace
WITH f AS (
	SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), d AS (
	DELETE FROM blobs b USING f
	WHERE b.run_id = $3::bigint AND b.id <= $5::bigint AND b.kind IN ('patch', 'bundle', 'artifact')
		AND NOT EXISTS (SELECT FROM turns t WHERE t.run_id = $3::bigint AND b.id IN (t.patch_id, t.bundle_id))
		AND (b.turn_id = $4::bigint AND (b.kind <> 'artifact' OR NOT b.complete)
			OR (b.kind = 'artifact' AND EXISTS (SELECT FROM blobs n
				WHERE n.run_id = $3::bigint AND n.id > b.id AND n.kind = 'artifact' AND n.complete
					AND n.file_name = b.file_name)))
)
SELECT count(*) FROM f;

-- Uploads that no run took and blobs that were never finished, older than $1 ms; and what get_files put
-- together, after an hour.
-- name: blob_sweep
-- retry
DELETE FROM blobs WHERE id = ANY (ARRAY(SELECT id FROM blobs
	WHERE (NOT complete OR (kind = 'upload' AND run_id IS NULL))
		AND created_at < now() - $1::bigint * interval '1 ms'
		OR kind = 'files' AND created_at < now() - interval '1 hour' LIMIT 100));
