-- Sandboxes: boxes that a caller asked for to run code in. A sandbox has no run; its name is the
-- sandbox_id that the doors say.

ALTER TABLE boxes
	ADD COLUMN purpose text NOT NULL DEFAULT 'run' CHECK (purpose IN ('run', 'sandbox')),
	ADD COLUMN language text,          -- of a sandbox: a row of lib/model/language.c
	ADD COLUMN packages jsonb,         -- as asked: ["requests==2.32.3"]
	ADD COLUMN installed jsonb,        -- what the window put in: [{"name","version"}]
	ADD COLUMN sync_upload_id bigint,  -- the tree it was made with; the upload itself may be gone since
	-- what the gate allows: git and the model of its run, package indexes, or nothing
	ADD COLUMN egress text NOT NULL DEFAULT 'run' CHECK (egress IN ('run', 'packages', 'sealed')),
	ADD COLUMN used_at timestamptz,    -- moved by each run and each look
	ADD COLUMN idle_ms bigint,         -- destroyed this long after used_at; null: never for that
	ADD COLUMN detail text,            -- why it ended or failed: a sentence for people, sanitised
	ADD COLUMN seal jsonb,             -- the last proof: {"at","readback","probe"}
	ADD CONSTRAINT boxes_sandbox CHECK (purpose = 'run' OR language IS NOT NULL AND egress <> 'run');
CREATE INDEX boxes_idle ON boxes (host) WHERE purpose = 'sandbox' AND state NOT IN ('gone', 'failed');

-- A run of a sandbox: `code` goes in as a file that its language runs, `files` lie beside it.
ALTER TABLE execs
	ADD COLUMN language text,
	ADD COLUMN code bytea,
	ADD COLUMN code_sha256 text,
	ADD COLUMN background boolean NOT NULL DEFAULT false,
	ADD COLUMN checks jsonb, -- what its output says of tests: lib/model/checks.h
	ADD COLUMN files jsonb; -- {"path": "text"}

-- What a sandbox is, for all doors. `network` says sealed only where that was proved.
CREATE FUNCTION sandbox_json(box bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (SELECT json_build_object('sandbox_id', b.name, 'state', b.state,
		'status', CASE WHEN b.state IN ('gone', 'failed') THEN 'destroyed' ELSE b.state END, 'language', b.language,
		'network', CASE WHEN b.state = 'ready' AND b.egress = 'sealed' AND b.seal IS NOT NULL
			THEN 'sealed: no network device in the box, and each try to reach out failed'
			WHEN b.state = 'creating' AND b.egress = 'packages' THEN 'packages: only indexes, until they are installed'
			WHEN b.state IN ('gone', 'failed') THEN 'none: the sandbox has ended'
			ELSE 'none: not handed out yet' END,
		'isolation', b.isolation, 'runtime', b.runtime, 'image', b.image,
		'workdir', CASE WHEN b.sync_upload_id IS NULL THEN '/workspace' ELSE '/workspace/tree' END,
		'limits', json_build_object('memory_bytes', b.memory_bytes, 'cpus', b.cpus, 'disk_bytes', b.disk_bytes,
			'idle_ms', b.idle_ms, 'lifetime_ms', (extract(epoch FROM b.expires_at - b.created_at) * 1000)::bigint),
		'packages', coalesce(b.packages, '[]'), 'installed', coalesce(b.installed, '[]'), 'seal', b.seal,
		'reason', b.reason, 'detail', b.detail, 'created_at', rfc3339(b.created_at),
		'ready_at', rfc3339(b.ready_at), 'used_at', rfc3339(b.used_at), 'expires_at', rfc3339(b.expires_at),
		'gone_at', rfc3339(b.gone_at))
	FROM boxes b WHERE b.id = box AND b.purpose = 'sandbox');
END $$;

-- The first 20,000 characters of what came, and a mark where that is not all.
CREATE FUNCTION output_cut(b bytea, more boolean) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	t text := utf8_lossy(b);
BEGIN
	IF length(t) <= 20000 AND NOT more THEN
		RETURN t;
	END IF;
	RETURN left(t, 20000) || E'\n[output cut after 20,000 characters: get_process_logs has the rest]\n';
END $$;

-- A run of a sandbox, as it is now. Four bytes a character at the most, so that 80,000 bytes of each stream
-- hold what is shown; and no more than the first 1,024 chunks are looked at.
CREATE FUNCTION evidence_json(exec bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (WITH c AS (
		SELECT l.stream, l.seq, l.body, sum(length(l.body)) OVER (PARTITION BY l.stream ORDER BY l.seq)
			- length(l.body) AS before
		FROM log_chunk l WHERE l.log_id = (SELECT e.log_id FROM execs e WHERE e.id = exec) AND l.seq <= 1025
	), s AS (
		SELECT n.stream, output_cut(coalesce(string_agg(c.body, ''::bytea ORDER BY c.seq)
				FILTER (WHERE c.before < 80000 AND c.seq <= 1024), ''),
			coalesce(bool_or(c.before >= 80000 OR c.seq > 1024), false)) AS text
		FROM (VALUES (1), (2)) n (stream) LEFT JOIN c ON c.stream = n.stream GROUP BY n.stream
	)
	SELECT json_build_object('sandbox_id', b.name, 'process_id', e.name, 'exec', e.name, 'state', e.state,
		'stdout', o.text, 'stderr', r.text, 'exit_code', e.exit_code, 'signal', e.signal,
		'success', CASE WHEN e.state IN ('done', 'failed')
			THEN e.state = 'done' AND e.exit_code IS NOT DISTINCT FROM 0 AND NOT e.timed_out END,
		'timed_out', e.timed_out, 'oom', e.oom, 'language', e.language, 'background', e.background,
		'truncated', length(o.text) > 20000 OR length(r.text) > 20000,
		'duration_ms', (extract(epoch FROM e.finished_at - e.started_at) * 1000)::bigint,
		'timeout_ms', e.timeout_ms, 'code_sha256', e.code_sha256, 'checks', e.checks, 'reason', e.reason,
		'created_at', rfc3339(e.created_at), 'started_at', rfc3339(e.started_at),
		'finished_at', rfc3339(e.finished_at))
	FROM execs e JOIN boxes b ON b.id = e.box_id, s o, s r
	WHERE e.id = exec AND o.stream = 1 AND r.stream = 2);
END $$;
