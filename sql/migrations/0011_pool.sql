-- Boxes made ahead, and what is left out of the way of an exec's end.

-- Who ends an exec says so itself (exec.sql): three statements, where a trigger in plpgsql is compiled by each
-- connection that fires it, which a runner's does once.
DROP TRIGGER execs_wake ON execs;
DROP FUNCTION exec_changed();

-- A box of the pool is nobody's until it is claimed, and whoever makes or ends it works for nobody either.
ALTER TABLE boxes
	ALTER COLUMN account_id DROP NOT NULL,
	ADD COLUMN image_key text,        -- what the image's name meant when it was made for the pool
	ADD COLUMN pooled_at timestamptz, -- paused in the pool since then; null: not made there, or made anew since
	ADD COLUMN claimed_at timestamptz,
	ADD CONSTRAINT boxes_owner CHECK (account_id IS NOT NULL OR state NOT IN ('ready', 'stopped'));
CREATE INDEX boxes_pool ON boxes (image, class) WHERE account_id IS NULL;
ALTER TABLE jobs ALTER COLUMN account_id DROP NOT NULL;
ALTER TABLE job_history ALTER COLUMN account_id DROP NOT NULL;

CREATE OR REPLACE FUNCTION box_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.account_id IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.state <> OLD.state) THEN
		PERFORM emit(NEW.account_id, NULL, NEW.id, 'box', jsonb_build_object('box', NEW.name,
			'state', NEW.state, 'reason', NEW.reason));
	END IF;
	RETURN NULL;
END $$;

-- Takes a box out of the pool for the account that is set: it is its owner's from here on, with a deadline and a life of its
-- own, and whose runner lets it go on. No row: there is none that would hold for all of that life. Runs as the
-- owner of the tables, since nobody else sees a row without an account.
CREATE FUNCTION pool_take(for_runtime text, for_image text, for_key text, for_class text,
	creating_ms bigint, max_ms bigint, for_purpose text, for_language text, for_packages jsonb, upload bigint,
	for_egress text, for_idle_ms bigint, for_packages_from text) RETURNS TABLE (id bigint, name text)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	RETURN QUERY UPDATE boxes b SET state = 'creating', account_id = account_now(), created_at = now(), claimed_at = now(),
		deadline_at = now() + creating_ms * interval '1 ms', expires_at = now() + max_ms * interval '1 ms',
		purpose = for_purpose, language = for_language, packages = for_packages, sync_upload_id = upload,
		egress = for_egress, idle_ms = for_idle_ms,
		packages_from = for_packages_from
	WHERE b.id = (SELECT p.id FROM boxes p
		WHERE account_now() IS NOT NULL AND p.account_id IS NULL AND p.state = 'pooled' AND p.runtime = for_runtime AND p.image = for_image
			AND p.image_key = for_key AND p.class = for_class AND p.expires_at >= now() + max_ms * interval '1 ms'
			AND NOT EXISTS (SELECT FROM jobs j WHERE j.box_id = p.id AND j.kind = 'destroy')
		ORDER BY p.id LIMIT 1 FOR UPDATE SKIP LOCKED)
	RETURNING b.id, b.name;
END $$;

-- What the pool holds, and how often it was there when it was wanted.
CREATE FUNCTION pool_json() RETURNS json LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	RETURN (SELECT json_build_object(
		'pooled', (SELECT count(*) FROM boxes WHERE account_id IS NULL AND state = 'pooled'),
		'creating', (SELECT count(*) FROM boxes WHERE account_id IS NULL AND state = 'creating'),
		'boxes', coalesce((SELECT json_agg(json_build_object('image', g.image, 'class', g.class, 'runtime', g.runtime,
				'pooled', g.pooled, 'creating', g.creating, 'oldest_at', rfc3339(g.oldest)) ORDER BY g.image, g.class)
			FROM (SELECT b.image, b.class, b.runtime, count(*) FILTER (WHERE b.state = 'pooled') AS pooled,
					count(*) FILTER (WHERE b.state = 'creating') AS creating, min(b.pooled_at) AS oldest
				FROM boxes b WHERE b.account_id IS NULL AND b.state IN ('pooled', 'creating')
				GROUP BY b.image, b.class, b.runtime) g), '[]'),
		-- of the newest 1,000 boxes
		'last_hour', (SELECT json_build_object('claimed', count(*) FILTER (WHERE b.claimed_at IS NOT NULL),
				'claims_failed', count(*) FILTER (WHERE b.claimed_at IS NOT NULL AND b.pooled_at IS NULL),
				'cloned', count(*) FILTER (WHERE b.claimed_at IS NULL))
			FROM (SELECT * FROM boxes ORDER BY boxes.id DESC LIMIT 1000) b
			WHERE b.account_id IS NOT NULL AND b.created_at > now() - interval '1 hour')));
END $$;
