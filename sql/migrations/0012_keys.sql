-- Who may ask besides the operator and a browser's session: API keys, and clients that a person has connected
-- (OAuth 2.1). Of every secret the row holds the SHA-256. docs/access.md.

CREATE DOMAIN scope_list AS text CHECK (VALUE ~ '^(run:read|run:write|admin)( (run:read|run:write|admin))*$');

CREATE TABLE api_keys (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	user_id bigint NOT NULL REFERENCES users, -- whose it is
	name text NOT NULL UNIQUE, -- 'key-' + 16
	title text NOT NULL,       -- what its owner calls it
	prefix text NOT NULL,      -- its beginning, to know it by
	key_sha256 bytea NOT NULL UNIQUE,
	scopes scope_list NOT NULL,
	created_by text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz, -- null: when it is revoked
	last_used_at timestamptz,
	last_used_address text,
	last_used_client text, -- what it calls itself
	revoked_at timestamptz
);
CREATE INDEX api_keys_account ON api_keys (account_id) WHERE revoked_at IS NULL;

-- Programs that may ask a person for access. They register before anybody is signed in, so they are no account's;
-- client_id is ours ('client-' + 16) or the https address of a document that says the rest.
CREATE TABLE oauth_clients (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	client_id text NOT NULL UNIQUE,
	title text NOT NULL, -- what it calls itself
	redirect_uris jsonb NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	fetched_at timestamptz -- when the document was read; null: it has none
);

-- A person's yes to a client. Everything it leads to (codes, tokens) ends with it.
CREATE TABLE oauth_grants (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	user_id bigint NOT NULL REFERENCES users,
	name text NOT NULL UNIQUE, -- 'grant-' + 16
	client_id text NOT NULL,
	title text NOT NULL,         -- the client's name then
	redirect_uri text NOT NULL,
	scopes scope_list NOT NULL,
	resource text NOT NULL,      -- the address its tokens are good for
	created_at timestamptz NOT NULL DEFAULT now(),
	last_used_at timestamptz,
	last_used_address text,
	last_used_client text,
	revoked_at timestamptz,
	revoked_why text CHECK (revoked_why IN ('person', 'client', 'code reused', 'refresh reused'))
);
CREATE INDEX oauth_grants_account ON oauth_grants (account_id) WHERE revoked_at IS NULL;

CREATE TABLE oauth_codes (
	code_sha256 bytea PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	grant_id bigint NOT NULL REFERENCES oauth_grants,
	challenge text NOT NULL, -- PKCE, S256
	expires_at timestamptz NOT NULL DEFAULT now() + interval '60 seconds',
	used_at timestamptz
);
CREATE TABLE oauth_tokens (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	grant_id bigint NOT NULL REFERENCES oauth_grants,
	kind text NOT NULL CHECK (kind IN ('access', 'refresh')),
	token_sha256 bytea NOT NULL UNIQUE,
	scopes scope_list NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz NOT NULL,
	used_at timestamptz -- of a refresh token: it was exchanged, and must not come again
);
CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id);

-- --- before the account is known -------------------------------------------------------------------------
-- The key that has this hash, if it is good. That it was used is written once a minute, or when it comes from
-- somewhere else.
CREATE FUNCTION key_use(hash bytea, from_address text, by_client text)
RETURNS TABLE (id bigint, name text, account_id bigint, user_id bigint, scopes text)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE k api_keys;
BEGIN
	SELECT * INTO k FROM api_keys a
		WHERE a.key_sha256 = hash AND a.revoked_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > now());
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF (k.last_used_at, k.last_used_address, k.last_used_client) IS DISTINCT FROM
			(greatest(k.last_used_at, now() - interval '1 minute'), from_address, by_client) THEN
		UPDATE api_keys a SET last_used_at = now(), last_used_address = from_address, last_used_client = by_client
			WHERE a.id = k.id;
	END IF;
	RETURN QUERY SELECT k.id, k.name, k.account_id, k.user_id, k.scopes::text;
END $$;

-- The same for an access token, at the one address it is good for.
CREATE FUNCTION token_use(hash bytea, at_resource text, from_address text, by_client text)
RETURNS TABLE (id bigint, name text, account_id bigint, user_id bigint, scopes text)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
	t oauth_tokens;
	g oauth_grants;
BEGIN
	SELECT * INTO t FROM oauth_tokens o WHERE o.token_sha256 = hash AND o.kind = 'access' AND o.expires_at > now();
	SELECT * INTO g FROM oauth_grants o WHERE o.id = t.grant_id AND o.revoked_at IS NULL AND o.resource = at_resource;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF (g.last_used_at, g.last_used_address, g.last_used_client) IS DISTINCT FROM
			(greatest(g.last_used_at, now() - interval '1 minute'), from_address, by_client) THEN
		UPDATE oauth_grants o SET last_used_at = now(), last_used_address = from_address,
			last_used_client = by_client WHERE o.id = g.id;
	END IF;
	RETURN QUERY SELECT t.id, g.name, t.account_id, g.user_id, t.scopes::text;
END $$;

-- Uses up a code, whatever becomes of it. One that comes a second time has been seen by somebody else: what it
-- led to ends.
CREATE FUNCTION code_take(hash bytea)
RETURNS TABLE (account_id bigint, grant_id bigint, client_id text, redirect_uri text, challenge text, resource text,
	scopes text)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE c oauth_codes;
BEGIN
	SELECT * INTO c FROM oauth_codes o WHERE o.code_sha256 = hash FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF c.used_at IS NOT NULL THEN
		UPDATE oauth_grants g SET revoked_at = now(), revoked_why = 'code reused'
			WHERE g.id = c.grant_id AND g.revoked_at IS NULL;
		RETURN;
	END IF;
	UPDATE oauth_codes o SET used_at = now() WHERE o.code_sha256 = hash;
	RETURN QUERY SELECT g.account_id, g.id, g.client_id, g.redirect_uri, c.challenge, g.resource, g.scopes::text
		FROM oauth_grants g WHERE g.id = c.grant_id AND g.revoked_at IS NULL AND c.expires_at > now();
END $$;

-- The same for a refresh token of that client, which is exchanged for a new one each time.
CREATE FUNCTION refresh_take(hash bytea, of_client text)
RETURNS TABLE (account_id bigint, grant_id bigint, resource text, scopes text)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE t oauth_tokens;
BEGIN
	SELECT o.* INTO t FROM oauth_tokens o JOIN oauth_grants g ON g.id = o.grant_id
		WHERE o.token_sha256 = hash AND o.kind = 'refresh' AND g.client_id = of_client FOR UPDATE OF o;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF t.used_at IS NOT NULL THEN
		UPDATE oauth_grants g SET revoked_at = now(), revoked_why = 'refresh reused'
			WHERE g.id = t.grant_id AND g.revoked_at IS NULL;
		RETURN;
	END IF;
	UPDATE oauth_tokens o SET used_at = now() WHERE o.id = t.id;
	RETURN QUERY SELECT g.account_id, g.id, g.resource, g.scopes::text FROM oauth_grants g
		WHERE g.id = t.grant_id AND g.revoked_at IS NULL AND t.expires_at > now();
END $$;

-- A client gives a token back: the grant of either kind ends. Whose it was; no row: nobody's that lives.
CREATE FUNCTION token_drop(hash bytea, of_client text) RETURNS TABLE (account_id bigint, name text)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	RETURN QUERY UPDATE oauth_grants g SET revoked_at = now(), revoked_why = 'client'
		FROM oauth_tokens o WHERE o.token_sha256 = hash AND g.id = o.grant_id AND g.client_id = of_client
			AND g.revoked_at IS NULL
		RETURNING g.account_id, g.name;
END $$;

-- As the doors show them.
CREATE FUNCTION key_json(k api_keys) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object('key_id', k.name, 'title', k.title, 'prefix', k.prefix,
		'scopes', string_to_array(k.scopes, ' '),
		'state', CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked' WHEN k.expires_at <= now() THEN 'expired' ELSE 'active' END,
		'created_by', k.created_by, 'created_at', rfc3339(k.created_at), 'expires_at', rfc3339(k.expires_at),
		'last_used_at', rfc3339(k.last_used_at), 'last_used_address', k.last_used_address,
		'last_used_client', k.last_used_client)
$$;
CREATE FUNCTION grant_json(g oauth_grants) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object('grant_id', g.name, 'client_id', g.client_id, 'title', g.title,
		'redirect_uri', g.redirect_uri, 'scopes', string_to_array(g.scopes, ' '), 'resource', g.resource,
		'created_at', rfc3339(g.created_at), 'last_used_at', rfc3339(g.last_used_at),
		'last_used_address', g.last_used_address, 'last_used_client', g.last_used_client)
$$;
