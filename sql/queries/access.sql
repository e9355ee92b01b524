-- Keys, connected clients, and what they get.

-- name: key_use
SELECT id, name, account_id, user_id, scopes FROM key_use($1::bytea, $2::text, $3::text);

-- name: token_use
SELECT id, name, account_id, user_id, scopes FROM token_use($1::bytea, $2::text, $3::text, $4::text);

-- No row: there are as many as there may be.
-- name: key_add
WITH k AS (
	INSERT INTO api_keys (account_id, user_id, name, title, prefix, key_sha256, scopes, created_by, expires_at)
	SELECT $1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::bytea, $7::text, $8::text,
		now() + $9::bigint * interval '1 ms'
	WHERE (SELECT count(*) FROM api_keys WHERE account_id = $1::bigint AND revoked_at IS NULL) < $10::bigint
	RETURNING *
)
SELECT key_json(k.*::api_keys)::text FROM k;

-- name: key_revoke
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE account_id = $1::bigint AND name = $2::text
RETURNING id;

-- name: read_keys
SELECT json_build_object('keys', coalesce(json_agg(key_json(k.*::api_keys) ORDER BY k.id DESC), '[]'))::text
FROM api_keys k WHERE k.account_id = $1::bigint AND k.revoked_at IS NULL;

-- A document that was read more than $2 ms ago counts as not there: it is read again.
-- name: oauth_client_find
SELECT title, redirect_uris::text, fetched_at IS NOT NULL FROM oauth_clients
WHERE client_id = $1::text AND (fetched_at IS NULL OR fetched_at > now() - $2::bigint * interval '1 ms');

-- name: oauth_client_add
INSERT INTO oauth_clients (client_id, title, redirect_uris)
SELECT $1::text, $2::text, $3::jsonb WHERE $4::bigint > (SELECT count(*) FROM oauth_clients c
	WHERE NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.client_id));

-- name: oauth_document_put
INSERT INTO oauth_clients (client_id, title, redirect_uris, fetched_at) VALUES ($1::text, $2::text, $3::jsonb, now())
ON CONFLICT (client_id) DO UPDATE SET title = excluded.title, redirect_uris = excluded.redirect_uris, fetched_at = now()
WHERE oauth_clients.fetched_at IS NOT NULL;

-- name: oauth_grant_add
WITH g AS (
	INSERT INTO oauth_grants (account_id, user_id, name, client_id, title, redirect_uri, scopes, resource)
	VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text)
	RETURNING id, account_id
)
INSERT INTO oauth_codes (account_id, grant_id, code_sha256, challenge)
SELECT account_id, id, $9::bytea, $10::text FROM g;

-- name: oauth_grant_revoke
UPDATE oauth_grants SET revoked_at = coalesce(revoked_at, now()), revoked_why = coalesce(revoked_why, 'person')
WHERE account_id = $1::bigint AND name = $2::text RETURNING id;

-- One that was allowed but never came for its tokens is none.
-- name: read_grants
SELECT json_build_object('grants', coalesce(json_agg(grant_json(g.*::oauth_grants) ORDER BY g.id DESC), '[]'))::text
FROM oauth_grants g WHERE g.account_id = $1::bigint AND g.revoked_at IS NULL
	AND EXISTS (SELECT FROM oauth_tokens t WHERE t.grant_id = g.id AND t.expires_at > now());

-- The transaction goes on as that of the account which it turns out to be.
-- name: oauth_code_take
SELECT account_id, grant_id, client_id, redirect_uri, challenge, resource, scopes,
	set_config('app.account_id', account_id::text, true)
FROM code_take($1::bytea);

-- name: oauth_refresh_take
SELECT account_id, grant_id, resource, scopes, set_config('app.account_id', account_id::text, true)
FROM refresh_take($1::bytea, $2::text);

-- name: oauth_token_add
INSERT INTO oauth_tokens (account_id, grant_id, kind, token_sha256, scopes, expires_at)
VALUES ($1::bigint, $2::bigint, $3::text, $4::bytea, $5::text, now() + $6::bigint * interval '1 s');

-- name: oauth_token_drop
SELECT account_id, name FROM token_drop($1::bytea, $2::text);
