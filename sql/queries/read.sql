-- What the doors give out, as one json column; no row where there is no such thing for this account.
-- The shapes are made in 0002_read.sql.

-- name: read_run
SELECT run_json(r.id) FROM runs r WHERE r.account_id = $2::bigint AND r.name = $1::text;

-- name: read_exec
SELECT exec_json(e.id) FROM execs e WHERE e.account_id = $2::bigint AND e.name = $1::text;

-- RUN with the last 200 rows of its trace, and the numbers a stream goes on from.
-- name: read_watch
SELECT (run_json(r.id)::jsonb || jsonb_build_object(
	'trace', coalesce((SELECT jsonb_agg(jsonb_build_object('seq', t.seq, 'turn', t.turn, 'ts', rfc3339(t.ts),
			'kind', t.kind, 'ref', t.ref, 'text', t.text, 'data', t.data) ORDER BY t.seq)
		FROM (SELECT seq, turn, ts, kind, ref, text, data FROM trace WHERE run_id = r.id
			ORDER BY seq DESC LIMIT 200) t), '[]'),
	'feed', coalesce((SELECT max(f.id) FROM feed f WHERE f.account_id = r.account_id), 0)))::json
FROM runs r WHERE r.account_id = $2::bigint AND r.name = $1::text;

-- Runs whose box lives and the newest others, 100 in all; boxes that live.
-- name: read_fleet
SELECT json_build_object(
	'runs', coalesce((SELECT json_agg(run_json(x.id) ORDER BY x.id DESC) FROM (
		SELECT r.id FROM runs r JOIN boxes b ON b.id = r.box_id WHERE r.account_id = $1::bigint
		ORDER BY b.state IN ('gone', 'failed'), r.id DESC LIMIT 100) x), '[]'),
	'boxes', coalesce((SELECT json_agg(box_json(b.id) ORDER BY b.id) FROM boxes b
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
	'per_box', coalesce((SELECT json_agg(json_build_object('name', b.name, 'state', b.state, 'class', b.class,
		'isolation', b.isolation, 'session', (SELECT r.name FROM runs r WHERE r.box_id = b.id ORDER BY r.id DESC LIMIT 1),
		'run_state', (SELECT r.state FROM runs r WHERE r.box_id = b.id ORDER BY r.id DESC LIMIT 1),
		'created_at', rfc3339(b.created_at), 'expires_at', rfc3339(b.expires_at)) ORDER BY b.id)
		FROM boxes b WHERE b.account_id = $1::bigint AND b.state NOT IN ('gone', 'failed')), '[]'));
