-- Who may do what. Applied by the owner after the migrations, every time, in one transaction: it
-- takes everything back first and then says the whole state. Roles are made in roles.sql.
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, asb_web, asb_live, asb_worker, asb_gate;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM PUBLIC, asb_web, asb_live, asb_worker, asb_gate;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC, asb_web, asb_live, asb_worker, asb_gate;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO asb_web, asb_live, asb_worker, asb_gate, asb_backup;
-- takes rights on columns back too: a REVOKE on the table does that in PostgreSQL

-- --- rows by account --------------------------------------------------------------------------------
-- Fails closed: without app.account_id asb_web sees and writes nothing. The setting falls back to ''
-- (not NULL) after a SET LOCAL, hence the nullif.
CREATE OR REPLACE FUNCTION account_now() RETURNS bigint LANGUAGE sql STABLE
AS $$ SELECT nullif(current_setting('app.account_id', true), '')::bigint $$;

DO $$
DECLARE t record;
BEGIN
	FOR t IN
		SELECT c.oid::regclass AS name, c.relname, k.key
		FROM pg_class c, LATERAL (SELECT CASE c.relname
				WHEN 'accounts' THEN 'id = account_now()'
				WHEN 'blob_chunks' THEN 'EXISTS (SELECT 1 FROM blobs b WHERE b.id = blob_id)'
				WHEN 'audit' THEN 'account_id IS NULL OR account_id = account_now()'
				ELSE 'account_id = account_now()' END AS key) k
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND (c.relname IN ('accounts', 'blob_chunks') OR EXISTS (SELECT 1 FROM pg_attribute a
				WHERE a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped))
	LOOP
		EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t.name);
		EXECUTE format('DROP POLICY IF EXISTS by_account ON %s', t.name);
		EXECUTE format('DROP POLICY IF EXISTS all_accounts ON %s', t.name);
		EXECUTE format('CREATE POLICY by_account ON %s TO asb_web USING (%s) WITH CHECK (%2$s)', t.name, t.key);
		EXECUTE format('CREATE POLICY all_accounts ON %s TO asb_owner, asb_live, asb_worker, asb_gate '
			'USING (true) WITH CHECK (true)', t.name);
	END LOOP;
END $$;

-- --- asb-web: writes intent, for one account ---------------------------------------------------------
GRANT SELECT ON accounts, account_members, boxes, runs, turns, questions, logs, execs, jobs, job_history,
	trace, log_chunk, blobs, blob_chunks, feed, egress, model_calls, idempotency, audit, throttle, hosts,
	schema_migrations, box_view, trace_view, run_facts, run_view TO asb_web;
GRANT INSERT (account_id, name, runtime, image, class, memory_bytes, cpus, disk_bytes, deadline_at, expires_at,
		purpose, language, packages, packages_from, sync_upload_id, egress, idle_ms),
	UPDATE (state, next_stream, deadline_at, used_at) ON boxes TO asb_web;
GRANT INSERT (account_id, name, box_id, title, task, agent, source, repos, upload_id, created_by) ON runs TO asb_web;
GRANT INSERT (account_id, run_id, box_id, n, lane, message, question_id, exec_id) ON turns TO asb_web;
GRANT UPDATE (answer, answered_by, answered_at) ON questions TO asb_web;
GRANT INSERT (account_id, run_id, exec_id) ON logs TO asb_web;
GRANT INSERT (id, account_id, name, box_id, run_id, stream, lane, argv, stdin, cwd, timeout_ms, log_id, language,
	code, code_sha256, background, files) ON execs TO asb_web;
GRANT USAGE ON SEQUENCE execs_id_seq TO asb_web;
GRANT SELECT, INSERT (account_id, name, box_id, op, request) ON looks TO asb_web;
-- the queue, but nothing of a lease: state, host of a running job, epoch, lease_*, attempts
GRANT INSERT (account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, priority, run_at, host, request_id),
	UPDATE (cancel_requested_at) ON jobs TO asb_web;
GRANT INSERT (account_id, name, kind, file_name, run_id, turn_id), UPDATE (size_bytes, sha256, complete, run_id),
	DELETE ON blobs
	TO asb_web;
GRANT INSERT ON blob_chunks TO asb_web;
GRANT SELECT, INSERT, DELETE, UPDATE (seen_at) ON sessions TO asb_web;
GRANT SELECT, INSERT, DELETE ON signin_codes TO asb_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON throttle, idempotency TO asb_web;
GRANT INSERT ON audit TO asb_web;
GRANT SELECT ON receipts, receipt_keys TO asb_web;
-- who may ask; that a key or token is good, and used, is told by functions before the account is known
GRANT SELECT, INSERT (account_id, user_id, name, title, prefix, key_sha256, scopes, created_by, expires_at),
	UPDATE (revoked_at) ON api_keys TO asb_web;
GRANT SELECT, INSERT (client_id, title, redirect_uris, fetched_at), UPDATE (title, redirect_uris, fetched_at)
	ON oauth_clients TO asb_web;
GRANT SELECT, INSERT (account_id, user_id, name, client_id, title, redirect_uri, scopes, resource),
	UPDATE (revoked_at, revoked_why) ON oauth_grants TO asb_web;
GRANT INSERT (account_id, grant_id, code_sha256, challenge) ON oauth_codes TO asb_web;
GRANT SELECT (grant_id, expires_at), INSERT (account_id, grant_id, kind, token_sha256, scopes, expires_at)
	ON oauth_tokens TO asb_web;

-- secrets are entered, replaced and removed here, and never read: of a row everything but what is sealed
GRANT SELECT (account_id, name, created_at, updated_at, last_used_at), INSERT (account_id, name, sealed),
	UPDATE (sealed, updated_at, last_used_at), DELETE ON secrets TO asb_web;
GRANT SELECT ON seal_keys TO asb_web;

-- --- asb-live: reads -----------------------------------------------------------------------------------
GRANT SELECT ON accounts, boxes, runs, turns, questions, logs, execs, looks, jobs, trace, log_chunk, feed, blobs, hosts,
	schema_migrations, box_view, trace_view, run_facts, run_view TO asb_live;
-- whether a stream's session is still good; and a wrong token counts on this door too
GRANT SELECT (id, account_id, seen_at, expires_at) ON sessions TO asb_live;
GRANT SELECT, INSERT, UPDATE ON throttle TO asb_live;
GRANT SELECT (id, expires_at, revoked_at) ON api_keys TO asb_live;
GRANT SELECT (id, grant_id, expires_at) ON oauth_tokens TO asb_live;
GRANT SELECT (id, revoked_at) ON oauth_grants TO asb_live;

-- --- asb-worker and its runners: make it true ------------------------------------------------------------
GRANT SELECT ON accounts, feed, schema_migrations TO asb_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON hosts, jobs TO asb_worker;
GRANT SELECT, INSERT, DELETE ON job_history, trace, log_chunk, blob_chunks TO asb_worker;
GRANT SELECT, INSERT, UPDATE ON boxes, turns, questions, logs, execs TO asb_worker;
GRANT SELECT, UPDATE (exit_code, reason, title, agent_session) ON runs TO asb_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON blobs TO asb_worker;
GRANT SELECT, UPDATE, DELETE ON looks TO asb_worker;
-- to let old rows go it sees their age and nothing else
GRANT SELECT (id, ts), DELETE ON audit TO asb_worker;
GRANT SELECT, DELETE ON egress, model_calls, idempotency, sessions, signin_codes, throttle TO asb_worker;
GRANT SELECT (expires_at), DELETE ON oauth_codes, oauth_tokens TO asb_worker;
GRANT SELECT (client_id, created_at), DELETE ON oauth_clients TO asb_worker;
GRANT SELECT (client_id, revoked_at) ON oauth_grants TO asb_worker;
GRANT USAGE ON SEQUENCE epoch_seq, execs_id_seq TO asb_worker;

-- --- asb-gate: whose box is this, what was it allowed -----------------------------------------------------
GRANT SELECT (id, account_id, name, state, host, slot, pid, pid_start, egress) ON boxes TO asb_gate;
GRANT SELECT (id, account_id, name, box_id, source, repos, state) ON runs TO asb_gate;
-- which turn a model call belongs to
GRANT SELECT (id, run_id, lane, state, n) ON turns TO asb_gate;
GRANT SELECT, INSERT ON egress, model_calls TO asb_gate;
GRANT SELECT ON schema_migrations TO asb_gate;
-- it alone opens secrets, tells the key they are sealed to, and notes that it used one
GRANT SELECT, UPDATE (last_used_at) ON secrets TO asb_gate;
GRANT SELECT, INSERT, UPDATE (told_at) ON seal_keys TO asb_gate;
-- it signs what has ended; what a receipt says comes of functions, which read the rows for it
GRANT SELECT, INSERT ON receipts, receipt_keys TO asb_gate;

-- --- before the account is known ---------------------------------------------------------------------------
-- What stands before each request is plpgsql, which keeps its plans.
-- The session whose token has this SHA-256, unless it has ended by either limit. Reads only: asb_web
-- moves seen_at itself, with the account set.
CREATE OR REPLACE FUNCTION session_lookup(token_hash bytea)
RETURNS TABLE (session_id bigint, account_id bigint, user_id bigint, expires_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	RETURN QUERY SELECT s.id, s.account_id, s.user_id, s.expires_at FROM sessions s
		WHERE s.token_sha256 = token_hash AND s.expires_at > now() AND s.seen_at > now() - interval '7 days';
END $$;
-- Uses up a sign-in code: whose it is, unless it is too old.
CREATE OR REPLACE FUNCTION signin_code_take(code_hash bytea) RETURNS TABLE (account_id bigint, user_id bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
	DELETE FROM signin_codes c WHERE c.code_sha256 = code_hash AND c.expires_at > now()
	RETURNING c.account_id, c.user_id
$$;
-- The account and user the operator's token stands for.
CREATE OR REPLACE FUNCTION operator_account() RETURNS TABLE (account_id bigint, user_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	RETURN QUERY SELECT m.account_id, m.user_id FROM account_members m JOIN accounts a ON a.id = m.account_id
		JOIN users u ON u.id = m.user_id
	WHERE a.name = 'operator' AND u.name = 'operator' AND m.role = 'owner';
END $$;
-- CREATE OR REPLACE keeps old rights but a first CREATE gives PUBLIC one
REVOKE ALL ON FUNCTION session_lookup(bytea), signin_code_take(bytea), operator_account(), account_now() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION account_now() TO asb_web, asb_live, asb_worker, asb_gate;
GRANT EXECUTE ON FUNCTION session_lookup(bytea), operator_account() TO asb_web, asb_live;
GRANT EXECUTE ON FUNCTION signin_code_take(bytea) TO asb_web;
REVOKE ALL ON FUNCTION key_use(bytea, text, text), token_use(bytea, text, text, text), code_take(bytea),
	refresh_take(bytea, text), token_drop(bytea, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION key_use(bytea, text, text), token_use(bytea, text, text, text) TO asb_web, asb_live;
GRANT EXECUTE ON FUNCTION code_take(bytea), refresh_take(bytea, text), token_drop(bytea, text), key_json(api_keys),
	grant_json(oauth_grants) TO asb_web;
-- boxes without an account are seen by nobody but asb-worker: a door takes one for the account it has set
REVOKE ALL ON FUNCTION pool_take(text, text, text, text, bigint, bigint, text, text, jsonb, bigint, text, bigint,
	text),
	pool_json() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pool_take(text, text, text, text, bigint, bigint, text, text, jsonb, bigint, text, bigint,
	text),
	pool_json() TO asb_web;
GRANT EXECUTE ON FUNCTION partitions_ensure() TO asb_worker;
REVOKE ALL ON FUNCTION receipt_body(text, text, bigint, bigint), receipts_due(bigint, bigint),
	receipts_behind(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION receipt_body(text, text, bigint, bigint), receipts_due(bigint, bigint),
	receipts_behind(bigint, bigint) TO asb_gate;
GRANT EXECUTE ON FUNCTION receipt_json(bigint) TO asb_web;
GRANT EXECUTE ON FUNCTION rfc3339(timestamptz), utf8_lossy(bytea), usage_number(jsonb, text), run_json(bigint),
	exec_json(bigint), look_json(bigint), sandbox_json(bigint), evidence_json(bigint), output_cut(bytea, boolean)
	TO asb_web, asb_live, asb_worker;
