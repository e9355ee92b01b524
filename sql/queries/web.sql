-- Who asks, how often they failed, what they did, and what they were told the first time.

-- name: session_find
SELECT session_id, account_id, user_id FROM session_lookup($1::bytea);

-- name: operator_find
SELECT account_id, user_id FROM operator_account();

-- name: web_account
SELECT name FROM accounts WHERE id = $1::bigint;

-- name: session_add
INSERT INTO sessions (account_id, user_id, token_sha256, expires_at)
VALUES ($1::bigint, $2::bigint, $3::bytea, now() + interval '30 days')
RETURNING id;

-- name: session_touch
UPDATE sessions SET seen_at = now() WHERE id = $1::bigint AND seen_at < now() - interval '1 minute';

-- name: session_drop
DELETE FROM sessions WHERE id = $1::bigint;

-- name: signin_code_add
WITH old AS (DELETE FROM signin_codes WHERE expires_at < now())
INSERT INTO signin_codes (code_sha256, account_id, user_id) VALUES ($1::bytea, $2::bigint, $3::bigint)
RETURNING rfc3339(expires_at);

-- name: signin_code_take
SELECT account_id, user_id FROM signin_code_take($1::bytea);

-- name: throttle_fail
INSERT INTO throttle AS t (address, failures) VALUES ($1::text, 1)
ON CONFLICT (address) DO UPDATE SET
	failures = CASE WHEN t.since < now() - interval '10 minutes' THEN 1 ELSE least(t.failures + 1, 1000000) END,
	since = CASE WHEN t.since < now() - interval '10 minutes' THEN now() ELSE t.since END
RETURNING failures, ceil(extract(epoch FROM since + interval '10 minutes' - now()))::bigint AS retry_s;

-- name: audit_add
INSERT INTO audit (account_id, caller, address, method, path, status, ms, action, subject, request_id)
VALUES (nullif($1::bigint, 0), $2::text, $3::text, $4::text, $5::text, $6::int, $7::int, $8::text, $9::text, $10::text);

-- name: idempotency_claim
INSERT INTO idempotency (account_id, key, route, body_sha256, status, response)
VALUES ($1::bigint, $2::text, $3::text, $4::bytea, 0, '')
ON CONFLICT (account_id, key) DO NOTHING
RETURNING 1;

-- name: idempotency_find
SELECT route = $3::text AND body_sha256 = $4::bytea AS same, status, response
FROM idempotency WHERE account_id = $1::bigint AND key = $2::text;

-- A key that was made of what was asked, and what it began: it goes unless that run goes on, or is done since
-- less than $3 ms and has its box still.
-- name: idempotency_forget
DELETE FROM idempotency i
WHERE i.account_id = $1::bigint AND i.key = $2::text
	AND NOT EXISTS (SELECT 1 FROM runs r JOIN boxes b ON b.id = r.box_id
		WHERE r.account_id = i.account_id AND r.name = i.response AND (r.state NOT IN ('done', 'failed', 'stopped', 'lost')
			OR r.state = 'done' AND r.finished_at > now() - $3::bigint * interval '1 ms'
				AND b.state NOT IN ('destroying', 'gone', 'failed')));

-- name: idempotency_store
UPDATE idempotency SET status = $3::int, response = $4::text WHERE account_id = $1::bigint AND key = $2::text;

-- name: web_health
SELECT coalesce(max(n), 0) FROM schema_migrations;

-- name: web_metrics
SELECT 'asb_runs' AS name, state, count(*) AS n FROM runs GROUP BY state
UNION ALL SELECT 'asb_boxes', state, count(*) FROM boxes GROUP BY state
UNION ALL SELECT 'asb_jobs', state, count(*) FROM jobs GROUP BY state
UNION ALL SELECT 'asb_log_bytes', '', coalesce(sum(c.upto), 0)::bigint FROM logs l, LATERAL
	(SELECT src_off + src_len AS upto FROM log_chunk WHERE log_id = l.id ORDER BY seq DESC LIMIT 1) c
UNION ALL SELECT 'asb_feed', '', coalesce(max(id), 0) FROM feed
ORDER BY 1, 2;

-- The log of a run, or of an exec; how many lines it has, the last one counting once it has begun; and its
-- last chunk.
-- name: web_log_find
SELECT l.id, coalesce((SELECT c.first_line + c.nlines + (get_byte(c.body, length(c.body) - 1) <> 10)::int
	FROM log_chunk c WHERE c.log_id = l.id AND length(c.body) > 0 ORDER BY c.seq DESC LIMIT 1), 0),
	coalesce((SELECT c.seq FROM log_chunk c WHERE c.log_id = l.id ORDER BY c.seq DESC LIMIT 1), 0)
FROM logs l
WHERE l.account_id = $1::bigint
	AND CASE WHEN $2::text IS NOT NULL
		THEN l.run_id = (SELECT r.id FROM runs r WHERE r.name = $2::text AND r.account_id = $1::bigint) AND l.exec_id IS NULL
		ELSE l.exec_id = (SELECT e.id FROM execs e WHERE e.name = $3::text AND e.account_id = $1::bigint) END;

-- Chunks after $2 up to $3: at most 512 and (but for a first one that is longer alone) 512 KiB.
-- name: web_log_chunks
SELECT seq, stream, first_line, body, (extract(epoch FROM ts) * 1000)::bigint, line_ms::text, first_line + nlines
FROM (SELECT p.*, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
	FROM (SELECT seq, stream, first_line, nlines, ts, body, line_ms FROM log_chunk
		WHERE log_id = $1::bigint AND seq > $2::bigint AND seq <= $3::bigint ORDER BY seq LIMIT 512) p) q
WHERE before < 524288
ORDER BY seq;

-- Lines before the end of the first chunk from $2 on.
-- name: web_log_line_at
SELECT first_line + nlines FROM log_chunk WHERE log_id = $1::bigint AND seq >= $2::bigint ORDER BY seq LIMIT 1;
