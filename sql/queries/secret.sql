-- Secrets at rest, sealed; and the key they are sealed to.

-- name: seal_key_tell
INSERT INTO seal_keys (key) VALUES ($1::text) ON CONFLICT (key) DO UPDATE SET told_at = now();

-- name: seal_key_newest
SELECT key FROM seal_keys ORDER BY told_at DESC, key LIMIT 1;

-- name: secret_put
INSERT INTO secrets (account_id, name, sealed) VALUES ($1::bigint, $2::text, $3::bytea)
ON CONFLICT (account_id, name) DO UPDATE SET sealed = $3::bytea, updated_at = now(), last_used_at = NULL;

-- name: secret_delete
DELETE FROM secrets WHERE account_id = $1::bigint AND name = $2::text;

-- name: secret_is_set
SELECT 1 FROM secrets WHERE account_id = $1::bigint AND name = $2::text;

-- name: secret_list
SELECT name, rfc3339(created_at), rfc3339(updated_at), rfc3339(last_used_at) FROM secrets
WHERE account_id = $1::bigint;

-- For the gate: the row as it is, and a note that it was used.
-- name: secret_use
WITH used AS (
	UPDATE secrets SET last_used_at = now() WHERE account_id = $1::bigint AND name = $2::text
		AND (last_used_at IS NULL OR last_used_at < now() - interval '1 min')
)
SELECT sealed FROM secrets WHERE account_id = $1::bigint AND name = $2::text;
