-- What the screens show, made in one place. Views and not functions: a statement over many runs is then
-- planned once, where a function inside a function is planned again for each row. All of it runs as the
-- caller, so that row-level security and grants hold inside.

-- Of a patch, counted when it was stored; null: of a time before that, or no patch.
ALTER TABLE blobs ADD COLUMN files int, ADD COLUMN added bigint, ADD COLUMN removed bigint;

-- A number of turns.usage; null where it is none.
CREATE FUNCTION usage_number(u jsonb, k text) RETURNS numeric LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN jsonb_typeof(u -> k) = 'number' THEN (u ->> k)::numeric END $$;

CREATE VIEW box_view WITH (security_invoker = true) AS
SELECT b.id, b.account_id, b.state,
	json_build_object('name', b.name, 'state', b.state, 'reason', b.reason, 'runtime', b.runtime,
		'isolation', b.isolation, 'image', b.image, 'class', b.class, 'memory_bytes', b.memory_bytes,
		'cpus', b.cpus, 'disk_bytes', b.disk_bytes, 'guest_boot_id', b.guest_boot_id,
		'guest_kernel', b.guest_kernel, 'created_at', rfc3339(b.created_at), 'ready_at', rfc3339(b.ready_at),
		'expires_at', rfc3339(b.expires_at), 'gone_at', rfc3339(b.gone_at)) AS json,
	-- what one looks at closely: what it may have at the most, what the kernel said of that, whose it is
	jsonb_build_object(
		'limits', jsonb_build_object('memory_bytes', b.memory_bytes, 'cpus', b.cpus, 'disk_bytes', b.disk_bytes,
			'lifetime_ms', (extract(epoch FROM b.expires_at - b.created_at) * 1000)::bigint),
		'readback', b.readback,
		'run', (SELECT jsonb_build_object('session', r.name, 'title', r.title, 'state', r.state)
			FROM runs r WHERE r.box_id = b.id ORDER BY r.id DESC LIMIT 1)) AS detail
FROM boxes b;

CREATE VIEW trace_view WITH (security_invoker = true) AS
SELECT t.run_id, t.seq, octet_length(t.text) + pg_column_size(t.data) AS size,
	json_build_object('seq', t.seq, 'turn', t.turn, 'ts', rfc3339(t.ts), 'kind', t.kind, 'ref', t.ref,
		'text', t.text, 'data', t.data) AS json
FROM trace t;

-- What of a run changes while it goes on, beside its state.
CREATE VIEW run_facts WITH (security_invoker = true) AS
SELECT r.id,
	(SELECT t.detail FROM turns t WHERE t.run_id = r.id AND t.n = r.last_turn) AS detail,
	(SELECT json_build_object('id', q.id, 'text', q.text, 'asked_at', rfc3339(q.asked_at))
		FROM questions q WHERE q.run_id = r.id AND q.answer IS NULL AND r.state = 'waiting'
		ORDER BY q.id DESC LIMIT 1) AS question,
	(SELECT json_build_object('input_tokens', sum(usage_number(t.usage, 'input_tokens')),
			'output_tokens', sum(usage_number(t.usage, 'output_tokens')),
			'cache_read_tokens', sum(usage_number(t.usage, 'cache_read_tokens')),
			'cache_write_tokens', sum(usage_number(t.usage, 'cache_write_tokens')),
			'cost_usd', sum(usage_number(t.usage, 'cost_usd')))
		FROM turns t WHERE t.run_id = r.id AND t.usage IS NOT NULL HAVING count(*) > 0) AS usage,
	-- among the last 100 rows, so that a run that says nothing for long costs no more
	(SELECT json_build_object('kind', t.kind, 'text', left(t.text, 160), 'ts', rfc3339(t.ts))
		FROM (SELECT kind, text, ts FROM trace WHERE run_id = r.id ORDER BY seq DESC LIMIT 100) t
		WHERE t.kind IN ('say', 'tool', 'error', 'question') LIMIT 1) AS last,
	(SELECT json_build_object('blob', b.name, 'size_bytes', b.size_bytes, 'files', b.files, 'added', b.added,
			'removed', b.removed)
		FROM turns t JOIN blobs b ON b.id = t.patch_id WHERE t.run_id = r.id ORDER BY t.n DESC LIMIT 1) AS patch,
	(SELECT json_build_object('blob', b.name, 'size_bytes', b.size_bytes)
		FROM turns t JOIN blobs b ON b.id = t.bundle_id WHERE t.run_id = r.id ORDER BY t.n DESC LIMIT 1) AS bundle,
	(SELECT coalesce(json_agg(json_build_object('blob', b.name, 'name', b.file_name,
			'size_bytes', b.size_bytes) ORDER BY b.file_name, b.id), '[]')
		FROM blobs b WHERE b.run_id = r.id AND b.kind = 'artifact' AND b.complete) AS files,
	coalesce((SELECT t.seq FROM trace t WHERE t.run_id = r.id ORDER BY t.seq DESC LIMIT 1), 0) AS trace_rows,
	coalesce((SELECT c.src_off + c.src_len FROM log_chunk c
		WHERE c.log_id = (SELECT l.id FROM logs l WHERE l.run_id = r.id AND l.exec_id IS NULL)
		ORDER BY c.seq DESC LIMIT 1), 0) AS log_bytes,
	-- the last line counts once it has begun
	coalesce((SELECT c.first_line + c.nlines + (get_byte(c.body, length(c.body) - 1) <> 10)::int FROM log_chunk c
		WHERE c.log_id = (SELECT l.id FROM logs l WHERE l.run_id = r.id AND l.exec_id IS NULL)
			AND length(c.body) > 0 ORDER BY c.seq DESC LIMIT 1), 0) AS log_lines
FROM runs r;

CREATE VIEW run_view WITH (security_invoker = true) AS
SELECT r.id, r.account_id, r.name, r.box_id,
	json_build_object('session', r.name, 'state', r.state,
		'text', 'run:' || r.state || CASE WHEN r.state IN ('done', 'failed') AND r.exit_code IS NOT NULL
			THEN ' exit=' || r.exit_code ELSE '' END,
		'turn', r.last_turn, 'exit_code', r.exit_code, 'reason', r.reason, 'detail', f.detail,
		'title', r.title, 'task', left(r.task, 2000), 'agent', r.agent, 'source', r.source,
		'repos', CASE r.source WHEN 'git' THEN r.repos ELSE '[]' END, 'created_by', r.created_by,
		'box', b.json, 'question', f.question, 'usage', f.usage, 'last', f.last, 'patch', f.patch,
		'bundle', f.bundle, 'files', f.files, 'trace_rows', f.trace_rows, 'log_bytes', f.log_bytes,
		'log_lines', f.log_lines, 'created_at', rfc3339(r.created_at), 'started_at', rfc3339(r.started_at),
		'finished_at', rfc3339(r.finished_at)) AS json
FROM runs r JOIN run_facts f ON f.id = r.id JOIN box_view b ON b.id = r.box_id;

CREATE OR REPLACE FUNCTION run_json(run bigint) RETURNS json LANGUAGE sql STABLE
AS $$ SELECT json FROM run_view WHERE id = run $$;
DROP FUNCTION box_json(bigint);

-- A run's patch is news too, where it is saved after the turn has ended. Its row says no state: that is
-- of the last turn, which this one may not be.
CREATE OR REPLACE FUNCTION turn_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.lane <> 'drive' THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NEW.box_id, 'run', jsonb_build_object(
			'state', CASE NEW.state WHEN 'asked' THEN 'waiting' ELSE NEW.state END,
			'exit_code', NEW.exit_code, 'reason', NEW.reason, 'turn', NEW.n));
	ELSIF NEW.patch_id IS DISTINCT FROM OLD.patch_id OR NEW.bundle_id IS DISTINCT FROM OLD.bundle_id THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NEW.box_id, 'run', '{}');
	END IF;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION question_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NULL, 'question', jsonb_build_object('question', NEW.id,
			'text', left(NEW.text, 2000), 'asked_at', rfc3339(NEW.asked_at)));
	ELSIF OLD.answer IS NULL AND NEW.answer IS NOT NULL THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NULL, 'answered', jsonb_build_object('question', NEW.id,
			'answer', left(NEW.answer, 2000), 'by', NEW.answered_by, 'answered_at', rfc3339(NEW.answered_at)));
	END IF;
	RETURN NULL;
END $$;

-- So is another title.
CREATE FUNCTION run_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.title <> OLD.title THEN
		PERFORM emit(NEW.account_id, NEW.id, NEW.box_id, 'run', '{}');
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER runs_feed AFTER UPDATE OF title ON runs DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION run_changed();
