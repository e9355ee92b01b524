-- name: blob_create
INSERT INTO blobs (account_id, name, kind, file_name, run_id, turn_id)
VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::bigint) RETURNING id;

-- name: blob_run_size
SELECT coalesce(sum(size_bytes), 0)::bigint FROM blobs WHERE run_id = $1::bigint;

-- name: blob_add_chunk
INSERT INTO blob_chunks (blob_id, n, body) VALUES ($1::bigint, $2::int, $3::bytea);

-- name: blob_complete
UPDATE blobs SET size_bytes = $2::bigint, sha256 = $3::text, complete = true WHERE id = $1::bigint AND NOT complete;

-- name: blob_get
SELECT id, name, kind, file_name, size_bytes, sha256, run_id FROM blobs
WHERE account_id = $1::bigint AND name = $2::text AND complete;

-- name: blob_get_by_id
SELECT id, name, kind, file_name, size_bytes, sha256, run_id FROM blobs WHERE id = $1::bigint AND complete;

-- name: blob_chunk
SELECT body FROM blob_chunks WHERE blob_id = $1::bigint AND n = $2::int;

-- name: blob_drop
DELETE FROM blobs WHERE id = $1::bigint;

-- Uploads that no run took and blobs that were never finished, older than $1 ms.
-- name: blob_sweep
-- retry
DELETE FROM blobs WHERE id = ANY (ARRAY(SELECT id FROM blobs
	WHERE (NOT complete OR (kind = 'upload' AND run_id IS NULL))
		AND created_at < now() - $1::bigint * interval '1 ms' LIMIT 100));
