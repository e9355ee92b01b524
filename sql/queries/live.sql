-- What asb-live reads. Every statement is short and bounded: the program waits for each of them.

-- name: live_focus
-- The run in focus: absent and another account's are the same to the caller.
SELECT r.id, r.box_id, l.id
FROM runs r JOIN logs l ON l.run_id = r.id AND l.exec_id IS NULL
WHERE r.name = $1::text AND r.account_id = $2::bigint;

-- name: live_bounds
-- Oldest and newest numbers there are; 0 for none.
SELECT (SELECT coalesce(min(id), 0) FROM feed),
	(SELECT coalesce(max(id), 0) FROM feed),
	(SELECT coalesce(min(seq), 0) FROM trace WHERE run_id = $1::bigint),
	(SELECT coalesce(max(seq), 0) FROM trace WHERE run_id = $1::bigint),
	(SELECT coalesce(min(seq), 0) FROM log_chunk WHERE log_id = $2::bigint),
	(SELECT coalesce(max(seq), 0) FROM log_chunk WHERE log_id = $2::bigint);

-- name: live_feed_page
-- All accounts' rows: there is one read for all streams, which take what is theirs by account_id.
-- A run's row goes out as RUN as it is now, a box's with what a list shows of it; what the row itself says
-- (data: the state of then) wins.
SELECT f.id, f.kind, f.account_id, coalesce(f.run_id, 0), coalesce(f.box_id, 0),
	(CASE f.kind
		WHEN 'run' THEN (SELECT v.json::jsonb - 'text' FROM run_view v WHERE v.id = f.run_id)
		WHEN 'box' THEN (SELECT jsonb_build_object('class', b.class, 'image', b.image) FROM boxes b
			WHERE b.id = f.box_id)
		ELSE (SELECT jsonb_build_object('session', r.name, 'title', r.title) FROM runs r WHERE r.id = f.run_id)
		END
		|| f.data || jsonb_build_object('seq', f.id, 'ts', rfc3339(f.ts)))::text
FROM (SELECT * FROM feed WHERE id > $1::bigint ORDER BY id LIMIT 256) f
ORDER BY f.id;

-- name: live_activity
-- What lists show of runs while they go on.
SELECT r.account_id, json_build_object('session', r.name, 'last', f.last, 'usage', f.usage,
	'trace_rows', f.trace_rows, 'log_bytes', f.log_bytes, 'log_lines', f.log_lines)::text
FROM runs r JOIN run_facts f ON f.id = r.id WHERE r.id = ANY ($1::bigint[]);

-- name: live_trace_page
-- At most 256 rows and (but for a first row that is longer alone) 256 KiB.
SELECT seq, json::text, found
FROM (
	SELECT p.*, sum(size) OVER (ORDER BY seq) AS upto, count(*) OVER () AS found
	FROM (SELECT * FROM trace_view WHERE run_id = $1::bigint AND seq > $2::bigint ORDER BY seq LIMIT 256) p
) q
WHERE upto - size < 262144
ORDER BY seq;

-- name: live_log_page
-- At most 256 chunks and 256 KiB of bodies; without bodies ($3) only what a notice needs.
SELECT seq, stream, first_line, nlines,
	rfc3339(ts), own,
	CASE WHEN $3::boolean THEN body ELSE ''::bytea END, found
FROM (
	SELECT p.*, sum(octet_length(body)) OVER (ORDER BY seq) AS upto, octet_length(body) AS own,
		count(*) OVER () AS found
	FROM (SELECT * FROM log_chunk WHERE log_id = $1::bigint AND seq > $2::bigint
		ORDER BY seq LIMIT 256) p
) q
WHERE upto - own < 262144
ORDER BY seq;

-- name: live_feed_head
SELECT coalesce(max(id), 0) FROM feed;

-- name: live_trace_heads
SELECT i, coalesce((SELECT seq FROM trace WHERE run_id = i ORDER BY seq DESC LIMIT 1), 0)
FROM unnest($1::bigint[]) i;

-- name: live_log_heads
SELECT i, coalesce((SELECT seq FROM log_chunk WHERE log_id = i ORDER BY seq DESC LIMIT 1), 0)
FROM unnest($1::bigint[]) i;

-- name: live_callers
-- Which of the sessions, keys and access tokens are still good, and for how many ms; NULL: with no end.
SELECT kind, id, ceil(extract(epoch FROM ends_at - now()) * 1000)::bigint
FROM (SELECT 'session', id, least(expires_at, seen_at + interval '7 days') FROM sessions WHERE id = ANY ($1::bigint[])
	UNION ALL
	SELECT 'key', id, expires_at FROM api_keys WHERE id = ANY ($2::bigint[]) AND revoked_at IS NULL
	UNION ALL
	SELECT 'oauth', t.id, t.expires_at FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id
	WHERE t.id = ANY ($3::bigint[]) AND g.revoked_at IS NULL) callers (kind, id, ends_at)
WHERE ends_at IS NULL OR ends_at > now();

-- name: live_run_states
SELECT id, state, last_turn FROM runs WHERE id = ANY ($1::bigint[]);

-- name: live_run_lines
-- What a run does, in a line.
SELECT r.id, 'run:' || r.state || coalesce(' ' || (f.last ->> 'text'), '')
FROM runs r JOIN run_facts f ON f.id = r.id WHERE r.id = ANY ($1::bigint[]);

-- name: live_exec_states
-- With the answer where it has ended; of a sandbox's also why there is no result.
SELECT id, state, CASE WHEN state IN ('done', 'failed')
	THEN (CASE WHEN run_id IS NULL THEN evidence_json(id) ELSE exec_json(id) END)::text END,
	CASE WHEN run_id IS NULL AND state = 'failed' AND NOT timed_out AND NOT oom THEN coalesce(reason, '') END
FROM execs WHERE id = ANY ($1::bigint[]);

-- name: live_run_snapshot
-- The run as a patch from feed number $2, and its open question.
SELECT (r.run::jsonb || jsonb_build_object('seq', $2::bigint))::text,
	CASE WHEN json_typeof(r.run -> 'question') = 'object' THEN json_build_object('seq', $2::bigint,
		'session', r.run -> 'session', 'question', r.run -> 'question' -> 'id',
		'text', r.run -> 'question' -> 'text', 'asked_at', r.run -> 'question' -> 'asked_at')::text END
FROM (SELECT run_json($1::bigint) AS run) r;

-- name: live_wait_run
SELECT id, name FROM runs WHERE account_id = $1::bigint AND (id = $2::bigint OR name = $3::text);

-- name: live_wait_exec
SELECT id, name FROM execs WHERE account_id = $1::bigint AND (id = $2::bigint OR name = $3::text);

-- name: live_wait_box
SELECT id, name FROM boxes WHERE account_id = $1::bigint AND purpose = 'sandbox'
	AND (id = $2::bigint OR name = $3::text);

-- name: live_box_states
-- With the answer where it has been made, and why where it failed.
SELECT id, state, CASE WHEN state <> 'creating' THEN sandbox_json(id)::text END, reason, detail
FROM boxes WHERE id = ANY ($1::bigint[]);
