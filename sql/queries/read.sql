-- What the doors give out, as one json column; no row where there is no such thing for this account.
-- The shapes are made in 0002_read.sql and 0004_screens.sql.

-- name: read_run
SELECT json FROM run_view WHERE account_id = $2::bigint AND name = $1::text;

-- A process of a sandbox, which has no run, is told as what run answers.
-- name: read_exec
SELECT CASE WHEN e.run_id IS NULL THEN evidence_json(e.id) ELSE exec_json(e.id) END FROM execs e WHERE e.account_id = $2::bigint AND e.name = $1::text;

-- RUN with all of its task, its turns and questions (the last 100 each), its box looked at closely, the end
-- of its trace (200 rows or 1 MiB) and the numbers a stream goes on from. A run with several trees has a patch
-- and a bundle of each: the newest, in the order in which the trees were first saved.
-- name: read_watch
WITH s AS (
	SELECT DISTINCT ON (b.kind, b.file_name) b.*, regexp_replace(b.file_name, '\.(patch|bundle)$', '') AS tree,
		min(b.id) OVER (PARTITION BY b.kind, b.file_name) AS first
	FROM blobs b WHERE b.run_id = (SELECT id FROM runs WHERE account_id = $2::bigint AND name = $1::text)
		AND b.kind IN ('patch', 'bundle') AND b.complete
	ORDER BY b.kind, b.file_name, b.id DESC
)
SELECT (v.json::jsonb || jsonb_build_object(
	'task', r.task,
	'box', (SELECT b.json::jsonb || b.detail FROM box_view b WHERE b.id = r.box_id),
	'turns', coalesce((SELECT jsonb_agg(jsonb_build_object('turn', t.n, 'state', t.state, 'reason', t.reason,
			'exit_code', t.exit_code, 'detail', t.detail, 'message', left(t.message, 2000),
			'created_at', rfc3339(t.created_at), 'started_at', rfc3339(t.started_at),
			'finished_at', rfc3339(t.finished_at), 'usage', t.usage) ORDER BY t.n)
		FROM (SELECT * FROM turns WHERE run_id = r.id AND lane = 'drive' ORDER BY n DESC LIMIT 100) t), '[]'),
	'questions', coalesce((SELECT jsonb_agg(jsonb_build_object('id', q.id, 'text', q.text,
			'asked_at', rfc3339(q.asked_at), 'answer', q.answer, 'answered_by', q.answered_by,
			'answered_at', rfc3339(q.answered_at),
			'turn', (SELECT t.n FROM turns t WHERE t.id = q.turn_id)) ORDER BY q.id)
		FROM (SELECT * FROM questions WHERE run_id = r.id ORDER BY id DESC LIMIT 100) q), '[]'),
	'trace', coalesce((SELECT jsonb_agg(t.json ORDER BY t.seq) FROM (
			SELECT seq, json, sum(size) OVER (ORDER BY seq DESC) - size AS before
			FROM (SELECT * FROM trace_view WHERE run_id = r.id ORDER BY seq DESC LIMIT 200) p) t
		WHERE t.before < 1048576), '[]'),
	'patches', coalesce((SELECT jsonb_agg(jsonb_build_object('blob', b.name, 'tree', b.tree, 'size_bytes', b.size_bytes,
			'files', b.files, 'added', b.added, 'removed', b.removed) ORDER BY b.first)
		FROM s b WHERE b.kind = 'patch'), '[]'),
	'bundles', coalesce((SELECT jsonb_agg(jsonb_build_object('blob', b.name, 'tree', b.tree,
			'size_bytes', b.size_bytes) ORDER BY b.first)
		FROM s b WHERE b.kind = 'bundle'), '[]'),
	'feed', coalesce((SELECT max(f.id) FROM feed f WHERE f.account_id = r.account_id), 0)))::json
FROM runs r JOIN run_view v ON v.id = r.id WHERE r.account_id = $2::bigint AND r.name = $1::text;

-- Rows of a run's trace before seq $3, at most $4 and 1 MiB (but for a first one that is longer alone).
-- name: read_trace
SELECT (SELECT json_build_object(
		'rows', coalesce(json_agg(t.json ORDER BY t.seq), '[]'),
		'first_seq', min(t.seq),
		'more', coalesce(min(t.seq) > 1, false))
	FROM (SELECT p.seq, p.json, sum(p.size) OVER (ORDER BY p.seq DESC) - p.size AS before
		FROM (SELECT v.seq, v.json, v.size FROM trace_view v
			WHERE v.run_id = r.id AND v.seq < $3::bigint ORDER BY v.seq DESC LIMIT $4::bigint) p) t
	WHERE t.before < 1048576)
FROM runs r WHERE r.account_id = $2::bigint AND r.name = $1::text;

-- Runs whose box lives and the newest others, 100 in all; boxes that live.
-- name: read_fleet
SELECT json_build_object(
	'runs', coalesce((SELECT json_agg(v.json ORDER BY v.id DESC) FROM run_view v WHERE v.id = ANY (ARRAY(
		SELECT u.id FROM (
			SELECT r.id, 0 AS old FROM boxes b JOIN runs r ON r.box_id = b.id
			WHERE b.account_id = $1::bigint AND b.state NOT IN ('gone', 'failed')
			UNION ALL
			(SELECT r.id, 1 FROM runs r WHERE r.account_id = $1::bigint ORDER BY r.id DESC LIMIT 100)) u
		GROUP BY u.id ORDER BY min(u.old), u.id DESC LIMIT 100))), '[]'),
	'boxes', coalesce((SELECT json_agg(b.json ORDER BY b.id) FROM box_view b
		WHERE b.account_id = $1::bigint AND b.state NOT IN ('gone', 'failed')), '[]'),
	'feed', coalesce((SELECT max(f.id) FROM feed f WHERE f.account_id = $1::bigint), 0));

-- name: read_monitor
SELECT json_build_object(
	'runs', (SELECT coalesce(json_object_agg(x.state, x.n), '{}') FROM (SELECT state, count(*) AS n FROM runs
		WHERE account_id = $1::bigint GROUP BY state) x),
	'boxes', (SELECT coalesce(json_object_agg(x.state, x.n), '{}') FROM (SELECT state, count(*) AS n FROM boxes
		WHERE account_id = $1::bigint GROUP BY state) x),
	'jobs', (SELECT coalesce(json_object_agg(x.state, x.n), '{}') FROM (SELECT state, count(*) AS n FROM jobs
		WHERE account_id = $1::bigint GROUP BY state) x),
	'per_box', coalesce((SELECT json_agg(b.json::jsonb || b.detail ORDER BY b.id) FROM box_view b
		WHERE b.account_id = $1::bigint AND b.state NOT IN ('gone', 'failed')), '[]'));

-- What a run's box asked the gate for, and what it was allowed; newest first.
-- name: read_egress
SELECT json_build_object(
	'rows', coalesce((SELECT json_agg(json_build_object('ts', rfc3339(e.ts), 'route', e.route, 'target', e.target,
			'allowed', e.allowed, 'reason', e.reason, 'bytes_up', e.bytes_up, 'bytes_down', e.bytes_down)
			ORDER BY e.id DESC)
		FROM (SELECT * FROM egress WHERE box_id = r.box_id ORDER BY id DESC LIMIT 200) e), '[]'),
	'model_calls', coalesce((SELECT json_agg(json_build_object('ts', rfc3339(m.ts),
			'turn', (SELECT t.n FROM turns t WHERE t.id = m.turn_id), 'path', m.path, 'model', m.model,
			'status', m.status, 'error', m.error, 'input_tokens', m.input_tokens,
			'output_tokens', m.output_tokens, 'cache_read_tokens', m.cache_read_tokens,
			'cache_write_tokens', m.cache_write_tokens, 'ms', m.ms) ORDER BY m.id DESC)
		FROM (SELECT * FROM model_calls WHERE run_id = r.id ORDER BY id DESC LIMIT 200) m), '[]'))
FROM runs r WHERE r.account_id = $2::bigint AND r.name = $1::text;
