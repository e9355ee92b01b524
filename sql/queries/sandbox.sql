-- Sandboxes: made, used and destroyed by name.

-- Its box out of the pool, else a new one.
-- name: sandbox_create
WITH p AS (
	SELECT id, name FROM pool_take($3::text, $4::text, $17::text, $5::text, $9::bigint, $10::bigint, 'sandbox',
		$11::text, $12::jsonb, $13::bigint, 'sealed', $14::bigint, $16::text)
), n AS (
	INSERT INTO boxes (account_id, name, runtime, image, class, memory_bytes, cpus, disk_bytes, deadline_at,
		expires_at, purpose, language, packages, sync_upload_id, egress, idle_ms, packages_from)
	SELECT $1::bigint, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::int, $8::bigint,
		now() + $9::bigint * interval '1 ms', now() + $10::bigint * interval '1 ms', 'sandbox', $11::text,
		$12::jsonb, $13::bigint, 'sealed', $14::bigint, $16::text
	WHERE NOT EXISTS (SELECT FROM p) RETURNING id, name
), b AS (
	SELECT id, name FROM p UNION ALL SELECT id, name FROM n
), j AS (
	INSERT INTO jobs (account_id, kind, box_id, lane, request_id)
	SELECT $1::bigint, 'create', b.id, 'admin', $15::text FROM b RETURNING id
)
SELECT b.id, j.id, b.name FROM b, j;

-- Whoever uses a sandbox holds its row, so that running in it and destroying it go one after the other.
-- With $3 also how many processes it has in the background.
-- name: sandbox_use
UPDATE boxes SET used_at = CASE WHEN state IN ('creating', 'ready') THEN now() ELSE used_at END
WHERE account_id = $1::bigint AND name = $2::text AND purpose = 'sandbox'
RETURNING id, state, reason, detail, language, sync_upload_id IS NOT NULL, CASE WHEN $3::boolean THEN (SELECT count(*)
	FROM execs e WHERE e.box_id = boxes.id AND e.background AND e.state IN ('queued', 'running')) ELSE 0 END;

-- The box goes before its create job has ended, which is told.
-- name: sandbox_destroying
WITH b AS (
	UPDATE boxes SET state = 'destroying', deadline_at = now() + $2::bigint * interval '1 ms'
	WHERE id = $1::bigint AND state NOT IN ('destroying', 'gone', 'failed') RETURNING id
)
UPDATE jobs SET cancel_requested_at = now() FROM b
WHERE jobs.box_id = b.id AND jobs.kind = 'create' AND jobs.cancel_requested_at IS NULL;

-- What a process of a sandbox has written from byte $4 of its log on: 64 KiB of chunks, the first one whole
-- where it alone is more. Where what is kept is as long as what the box wrote, the first is cut at $4.
-- name: sandbox_process
WITH e AS (
	SELECT e.*, b.name AS sandbox FROM execs e JOIN boxes b ON b.id = e.box_id
	WHERE e.account_id = $1::bigint AND b.name = $2::text AND b.purpose = 'sandbox' AND e.name = $3::text
), c AS (
	SELECT l.stream, l.seq, l.src_off + l.src_len AS upto, CASE
			WHEN l.src_off < $4::bigint AND length(l.body) = l.src_len
			THEN substr(l.body, ($4::bigint - l.src_off)::int + 1) ELSE l.body END AS body
	FROM e, LATERAL (SELECT * FROM log_chunk WHERE log_id = e.log_id AND src_off + src_len > $4::bigint
		ORDER BY seq LIMIT 513) l
), s AS (
	SELECT c.*, sum(length(c.body)) OVER (ORDER BY c.seq) - length(c.body) AS before, row_number() OVER (ORDER BY c.seq) AS n
	FROM c
), p AS (
	SELECT * FROM s WHERE before < 65536 AND n <= 512
)
SELECT json_build_object('sandbox_id', e.sandbox, 'process_id', e.name, 'state', e.state,
	'running', e.state IN ('queued', 'running'), 'stdout', utf8_lossy(coalesce((SELECT
		string_agg(p.body, ''::bytea ORDER BY p.seq) FROM p WHERE p.stream = 1), '')),
	'stderr', utf8_lossy(coalesce((SELECT string_agg(p.body, ''::bytea ORDER BY p.seq) FROM p
		WHERE p.stream = 2), '')),
	'offset', $4::bigint, 'next_offset', coalesce((SELECT max(p.upto) FROM p), $4::bigint),
	'more', (SELECT count(*) FROM s) > (SELECT count(*) FROM p),
	'exit_code', e.exit_code, 'signal', e.signal, 'timed_out', e.timed_out, 'oom', e.oom, 'reason', e.reason,
	'language', e.language, 'background', e.background, 'started_at', rfc3339(e.started_at),
	'finished_at', rfc3339(e.finished_at))
FROM e;

-- What was run in a sandbox, the newest first, and the sandbox itself.
-- name: sandbox_processes
SELECT json_build_object('sandbox', sandbox_json(b.id),
	'total', (SELECT count(*) FROM execs e WHERE e.box_id = b.id AND e.language IS NOT NULL),
	'processes', coalesce((SELECT json_agg(json_build_object('process_id', e.name, 'state', e.state,
			'exit_code', e.exit_code, 'signal', e.signal, 'timed_out', e.timed_out, 'oom', e.oom, 'reason', e.reason,
			'language', e.language, 'background', e.background, 'checks', e.checks,
			'code', left(utf8_lossy(substr(e.code, 1, 32000)), 8000), 'code_bytes', length(e.code),
			'files', (SELECT coalesce(json_agg(k ORDER BY k), '[]') FROM jsonb_object_keys(coalesce(e.files, '{}')) k),
			'duration_ms', (extract(epoch FROM e.finished_at - e.started_at) * 1000)::bigint,
			'receipt', EXISTS (SELECT FROM receipts r WHERE r.exec_id = e.id),
			'created_at', rfc3339(e.created_at), 'started_at', rfc3339(e.started_at),
			'finished_at', rfc3339(e.finished_at)) ORDER BY e.id DESC)
		FROM (SELECT * FROM execs e WHERE e.box_id = b.id AND e.language IS NOT NULL
			ORDER BY e.id DESC LIMIT $3::bigint) e), '[]'))
FROM boxes b WHERE b.account_id = $2::bigint AND b.name = $1::text AND b.purpose = 'sandbox';

-- name: read_sandbox
SELECT sandbox_json(b.id) FROM boxes b
WHERE b.account_id = $2::bigint AND b.name = $1::text AND b.purpose = 'sandbox';

-- Those that live; or one, which may have ended.
-- name: read_sandboxes
SELECT json_build_object('sandboxes', coalesce(json_agg(sandbox_json(b.id) ORDER BY b.id DESC), '[]'))
FROM boxes b WHERE b.account_id = $2::bigint AND b.purpose = 'sandbox'
	AND CASE WHEN $1::text IS NULL THEN b.state NOT IN ('gone', 'failed') ELSE b.name = $1::text END;

