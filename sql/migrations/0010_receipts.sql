-- Receipts: what ran, what came out and when, made of rows alone and signed by the site, so that it can be
-- shown to someone who was not there. docs/receipts.md.

-- The site's public keys, newest last. A receipt of long ago is checked with the key of then.
CREATE TABLE receipt_keys (
	key text PRIMARY KEY, -- 'ed25519:' + base64 of the 32 bytes
	created_at timestamptz NOT NULL DEFAULT now()
);

-- One for each exec that somebody asked for and for each turn, once it has ended.
CREATE TABLE receipts (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL UNIQUE, -- 'receipt-' + 16
	exec_id bigint UNIQUE REFERENCES execs,
	turn_id bigint UNIQUE REFERENCES turns,
	key text NOT NULL REFERENCES receipt_keys,
	body text NOT NULL, -- canonical JSON, byte for byte what was signed
	signature bytea NOT NULL CHECK (octet_length(signature) = 64),
	created_at timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT receipts_of_one CHECK (num_nonnulls(exec_id, turn_id) = 1)
);

CREATE FUNCTION receipt_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'receipt % is signed and final', OLD.name USING ERRCODE = 'AS409';
END $$;
CREATE TRIGGER receipts_final BEFORE UPDATE ON receipts FOR EACH ROW EXECUTE FUNCTION receipt_is_final();

CREATE FUNCTION sha256_hex(b bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT
AS $$ SELECT encode(sha256(b), 'hex') $$;

-- What is in a log of the time after `since` up to `upto`, by stream. No more than the first 64 MiB of a stream
-- are hashed, and how many were is said beside the hash.
CREATE FUNCTION receipt_output(log bigint, since timestamptz, upto timestamptz) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_object_agg(n.name, jsonb_build_object('bytes', coalesce(s.bytes, 0),
		'hashed_bytes', coalesce(s.hashed, 0), 'sha256', sha256_hex(coalesce(s.body, ''))))
	FROM (VALUES (1, 'stdout'), (2, 'stderr')) n (stream, name)
	LEFT JOIN (
		SELECT c.stream, sum(length(c.body)) AS bytes, sum(length(c.body)) FILTER (WHERE c.total <= 67108864) AS hashed,
			string_agg(c.body, ''::bytea ORDER BY c.seq) FILTER (WHERE c.total <= 67108864) AS body
		FROM (SELECT l.stream, l.seq, l.body, sum(length(l.body)) OVER (PARTITION BY l.stream ORDER BY l.seq) AS total
			FROM log_chunk l WHERE l.log_id = log AND l.ts > since AND l.ts <= upto) c
		GROUP BY c.stream) s ON s.stream = n.stream
$$;

-- What the box said of its seal when it was last proved, and what the host's kernel said; whoever wrote it,
-- nothing longer than a line goes in.
CREATE FUNCTION receipt_seal(b boxes) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_build_object('proved_at', coalesce(b.seal ->> 'at', rfc3339(b.ready_at)),
		'sealed', coalesce(p.probe -> 'sealed' = 'true', false), 'egress', b.egress, 'host_nics', b.readback #>> '{spawn,nics}',
		'box_nics', left(p.probe ->> 'nics', 200), 'tcp', left(p.probe ->> 'tcp', 200),
		'udp', left(p.probe ->> 'udp', 200), 'dns', left(p.probe ->> 'dns', 200),
		'metadata', left(p.probe ->> 'metadata', 200), 'host', left(p.probe ->> 'host', 200))
	FROM (SELECT coalesce(b.seal -> 'probe', b.readback -> 'probe') AS probe) p
$$;

-- The body of a receipt, of an exec or of a turn with its agent's exec. jsonb's text is canonical: one order of
-- members, one spelling of a value. No fractions in it: they have several.
CREATE FUNCTION receipt_body(receipt text, key text, of_exec bigint, of_turn bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
	SELECT jsonb_build_object('format', 'agent-sandbox receipt 1', 'receipt', receipt, 'key', key,
		'of', CASE WHEN t.id IS NULL THEN 'exec' ELSE 'turn' END, 'session', r.name, 'turn', t.n, 'exec', e.name,
		'ran', jsonb_build_object('agent', CASE WHEN t.id IS NOT NULL THEN r.agent END,
			'message_sha256', sha256_hex(convert_to(t.message, 'UTF8')), 'language', e.language,
			'code_sha256', e.code_sha256, 'argv_sha256', sha256_hex(convert_to(e.argv::text, 'UTF8')),
			'stdin_sha256', sha256_hex(e.stdin), 'files_sha256', sha256_hex(convert_to(e.files::text, 'UTF8')),
			'cwd', e.cwd, 'background', e.background),
		'box', jsonb_build_object('name', b.name, 'image', b.image, 'template', b.template, 'class', b.class,
			'runtime', b.runtime, 'isolation', b.isolation, 'kernel', b.guest_kernel,
			'boot_id', b.guest_boot_id, 'host_boot_id', b.host_boot_id),
		'packages', coalesce(b.installed, '[]'),
		'tree', jsonb_build_object('repos', CASE r.source WHEN 'git' THEN r.repos ELSE '[]' END,
			'sha256', CASE WHEN coalesce(r.upload_id, b.sync_upload_id) IS NOT NULL THEN coalesce((SELECT u.sha256
				FROM blobs u WHERE u.id = coalesce(r.upload_id, b.sync_upload_id)), 'no longer known') END),
		'limits', jsonb_build_object('memory_bytes', b.memory_bytes, 'cpus', b.cpus, 'disk_bytes', b.disk_bytes,
			'timeout_ms', e.timeout_ms),
		'seal', receipt_seal(b),
		'epoch', coalesce(t.epoch, e.epoch),
		'outcome', jsonb_build_object('state', coalesce(t.state, e.state),
			'reason', CASE WHEN t.id IS NULL THEN e.reason ELSE t.reason END,
			'exit_code', CASE WHEN t.id IS NULL THEN e.exit_code ELSE t.exit_code END,
			'signal', CASE WHEN t.id IS NULL THEN e.signal ELSE t.signal END,
			'timed_out', e.timed_out, 'oom', e.oom, 'duration_ms', (extract(epoch FROM
				coalesce(t.finished_at, e.finished_at) - CASE WHEN t.id IS NULL THEN e.started_at ELSE t.started_at END)
				* 1000)::bigint,
			'patch_sha256', (SELECT p.sha256 FROM blobs p WHERE p.id = t.patch_id)),
		'output', CASE WHEN t.id IS NULL THEN receipt_output(e.log_id, '-infinity', 'infinity')
			ELSE receipt_output((SELECT l.id FROM logs l WHERE l.run_id = t.run_id AND l.exec_id IS NULL),
				coalesce((SELECT max(o.finished_at) FROM turns o WHERE o.run_id = t.run_id AND o.lane = t.lane
					AND o.n < t.n), '-infinity'), t.finished_at) END,
		'created_at', rfc3339(coalesce(t.created_at, e.created_at)),
		'started_at', rfc3339(CASE WHEN t.id IS NULL THEN e.started_at ELSE t.started_at END),
		'finished_at', rfc3339(coalesce(t.finished_at, e.finished_at)), 'signed_at', rfc3339(now()))::text
	FROM (SELECT of_exec AS exec_id, NULL::bigint AS turn_id WHERE of_turn IS NULL
		UNION ALL SELECT w.exec_id, w.id FROM turns w WHERE w.id = of_turn) x
	LEFT JOIN turns t ON t.id = x.turn_id
	LEFT JOIN execs e ON e.id = x.exec_id
	JOIN boxes b ON b.id = coalesce(t.box_id, e.box_id)
	LEFT JOIN runs r ON r.id = coalesce(t.run_id, e.run_id)
$$;

-- What has ended and has no receipt yet, at most 100: execs that somebody asked for with an id above after_exec,
-- turns above after_turn. A turn whose job is still there may get its patch yet.
CREATE FUNCTION receipts_due(after_exec bigint, after_turn bigint)
RETURNS TABLE (account_id bigint, exec_id bigint, turn_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
	(SELECT e.account_id, e.id, NULL::bigint FROM execs e
		WHERE e.id > after_exec AND e.lane LIKE 'exec:%' AND e.state IN ('done', 'failed')
			AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.exec_id = e.id)
		ORDER BY e.id LIMIT 100)
	UNION ALL
	(SELECT t.account_id, NULL, t.id FROM turns t
		WHERE t.id > after_turn AND t.state IN ('asked', 'done', 'failed', 'stopped', 'lost')
			AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.turn_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.turn_id = t.id)
		ORDER BY t.id LIMIT 100)
$$;

-- Below which ids there is nothing left to sign, nor will be.
CREATE FUNCTION receipts_behind(after_exec bigint, after_turn bigint)
RETURNS TABLE (exec_id bigint, turn_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
	SELECT coalesce((SELECT min(e.id) - 1 FROM execs e WHERE e.id > after_exec AND e.lane LIKE 'exec:%'
			AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.exec_id = e.id)), after_exec),
		coalesce((SELECT min(t.id) - 1 FROM turns t WHERE t.id > after_turn
			AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.turn_id = t.id)), after_turn)
$$;

-- The receipt as it is handed out: the body's members for people to read, and the signature with the bytes that
-- it signs, which is what counts.
CREATE FUNCTION receipt_json(receipt bigint) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT (left(c.body, -1) || ', "signature": "'
		|| translate(encode(c.signature || convert_to(c.body, 'UTF8'), 'base64'), E'\n', '') || '"}')::json
	FROM receipts c WHERE c.id = receipt
$$;
