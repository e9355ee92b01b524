-- The JSON that several statements give out, made in one place. All run as the caller, so that
-- row-level security and grants hold inside them.

CREATE FUNCTION rfc3339(t timestamptz) RETURNS text LANGUAGE sql STABLE
AS $$ SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- Bytes of a box as text: what is not UTF-8, and NUL, becomes U+FFFD. The usual case is the first line;
-- otherwise the hex digits are cut into runs of valid sequences and single bytes that are not.
CREATE FUNCTION utf8_lossy(b bytea) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
	BEGIN
		RETURN convert_from(b, 'UTF8');
	EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
		NULL;
	END;
	RETURN (SELECT coalesce(string_agg(CASE
			WHEN m[1] = '00' OR (length(m[1]) = 2 AND m[1] >= '80') THEN U&'\FFFD'
			ELSE convert_from(decode(m[1], 'hex'), 'UTF8') END, '' ORDER BY n), '')
		FROM regexp_matches(encode(b, 'hex'), '((?:0[1-9a-f]|[1-7].|(?:c[2-9a-f]|d.)[89ab].|e0[ab].[89ab].|'
			'(?:e[1-9a-cef][89ab].|ed[89].)[89ab].|(?:f0[9ab].|f[1-3][89ab].|f48.)[89ab].[89ab].)+|..)', 'g')
			WITH ORDINALITY AS r (m, n));
END $$;

CREATE FUNCTION box_json(box bigint) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object('name', b.name, 'state', b.state, 'reason', b.reason, 'runtime', b.runtime,
		'isolation', b.isolation, 'image', b.image, 'class', b.class, 'memory_bytes', b.memory_bytes,
		'cpus', b.cpus, 'disk_bytes', b.disk_bytes, 'guest_boot_id', b.guest_boot_id,
		'guest_kernel', b.guest_kernel, 'created_at', rfc3339(b.created_at), 'ready_at', rfc3339(b.ready_at),
		'expires_at', rfc3339(b.expires_at))
	FROM boxes b WHERE b.id = box
$$;

CREATE FUNCTION run_json(run bigint) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object('session', r.name, 'state', r.state,
		'text', 'run:' || r.state || CASE WHEN r.state IN ('done', 'failed') AND r.exit_code IS NOT NULL
			THEN ' exit=' || r.exit_code ELSE '' END,
		'turn', r.last_turn, 'exit_code', r.exit_code, 'reason', r.reason,
		'detail', (SELECT t.detail FROM turns t WHERE t.run_id = r.id AND t.n = r.last_turn),
		'title', r.title, 'agent', r.agent, 'source', r.source, 'box', box_json(r.box_id),
		'question', (SELECT json_build_object('id', q.id, 'text', q.text, 'asked_at', rfc3339(q.asked_at))
			FROM questions q WHERE q.run_id = r.id AND q.answer IS NULL AND r.state = 'waiting'
			ORDER BY q.id DESC LIMIT 1),
		'patch', (SELECT json_build_object('blob', b.name, 'size_bytes', b.size_bytes)
			FROM turns t JOIN blobs b ON b.id = t.patch_id WHERE t.run_id = r.id ORDER BY t.n DESC LIMIT 1),
		'bundle', (SELECT json_build_object('blob', b.name, 'size_bytes', b.size_bytes)
			FROM turns t JOIN blobs b ON b.id = t.bundle_id WHERE t.run_id = r.id ORDER BY t.n DESC LIMIT 1),
		'files', (SELECT coalesce(json_agg(json_build_object('blob', b.name, 'name', b.file_name,
				'size_bytes', b.size_bytes) ORDER BY b.file_name, b.id), '[]')
			FROM blobs b WHERE b.run_id = r.id AND b.kind = 'artifact' AND b.complete),
		'trace_rows', coalesce((SELECT t.seq FROM trace t WHERE t.run_id = r.id ORDER BY t.seq DESC LIMIT 1), 0),
		'log_bytes', coalesce((SELECT c.src_off + c.src_len FROM log_chunk c
			WHERE c.log_id = (SELECT l.id FROM logs l WHERE l.run_id = r.id AND l.exec_id IS NULL)
			ORDER BY c.seq DESC LIMIT 1), 0),
		'created_at', rfc3339(r.created_at), 'started_at', rfc3339(r.started_at),
		'finished_at', rfc3339(r.finished_at))
	FROM runs r WHERE r.id = run
$$;

-- stdout and stderr up to 256 KiB each; `truncated` says when there is more in the log.
CREATE FUNCTION exec_json(exec bigint) RETURNS json LANGUAGE sql STABLE AS $$
	WITH c AS (
		SELECT c.stream, c.seq, c.body, sum(length(c.body)) OVER (PARTITION BY c.stream ORDER BY c.seq) AS upto
		FROM log_chunk c WHERE c.log_id = (SELECT e.log_id FROM execs e WHERE e.id = exec)
	)
	SELECT json_build_object('exec', e.name, 'session', r.name, 'state', e.state, 'exit_code', e.exit_code,
		'signal', e.signal, 'timed_out', e.timed_out, 'oom', e.oom,
		'stdout', utf8_lossy(coalesce((SELECT string_agg(body, ''::bytea ORDER BY seq) FROM c
			WHERE stream = 1 AND upto <= 262144), '')),
		'stderr', utf8_lossy(coalesce((SELECT string_agg(body, ''::bytea ORDER BY seq) FROM c
			WHERE stream = 2 AND upto <= 262144), '')),
		'truncated', EXISTS (SELECT 1 FROM c WHERE upto > 262144),
		'duration_ms', (extract(epoch FROM e.finished_at - e.started_at) * 1000)::bigint,
		'reason', e.reason, 'created_at', rfc3339(e.created_at), 'started_at', rfc3339(e.started_at),
		'finished_at', rfc3339(e.finished_at))
	FROM execs e LEFT JOIN runs r ON r.id = e.run_id WHERE e.id = exec
$$;
