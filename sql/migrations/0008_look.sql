-- Looks: what a caller asked to see of a box's files, and what was seen. Answers are let go after an
-- hour: the files are the box's, not ours to keep.
CREATE TABLE looks (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL UNIQUE, -- 'look-' + 16
	box_id bigint NOT NULL REFERENCES boxes,
	op text NOT NULL CHECK (op IN ('list', 'read', 'search', 'diff', 'get')),
	request jsonb NOT NULL,
	state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'failed')),
	result jsonb,
	code text, reason text, detail text, -- of one that failed: style's class, the word, a sentence
	epoch bigint,
	created_at timestamptz NOT NULL DEFAULT now(),
	finished_at timestamptz
);
CREATE INDEX looks_created ON looks (created_at);
CREATE INDEX looks_queued ON looks (box_id) WHERE state = 'queued';

CREATE FUNCTION look_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('feed', 'k' || NEW.id);
	RETURN NULL;
END $$;
CREATE TRIGGER looks_wake AFTER UPDATE OF state ON looks FOR EACH ROW
	WHEN (NEW.state IN ('done', 'failed')) EXECUTE FUNCTION look_changed();
CREATE TRIGGER looks_final BEFORE UPDATE ON looks FOR EACH ROW
	WHEN (OLD.state IN ('done', 'failed') AND NEW.state IS DISTINCT FROM OLD.state)
	EXECUTE FUNCTION terminal_is_final('done', 'failed');

-- Into a box that has ended nobody looks any more.
CREATE FUNCTION box_ends_looks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE looks SET state = 'failed', code = 'conflict', reason = 'box_ended',
		detail = 'the box has ended', finished_at = now()
	WHERE box_id = NEW.id AND state = 'queued';
	RETURN NULL;
END $$;
CREATE TRIGGER boxes_end_looks AFTER UPDATE OF state ON boxes FOR EACH ROW
	WHEN (NEW.state IN ('gone', 'failed') AND NEW.state IS DISTINCT FROM OLD.state)
	EXECUTE FUNCTION box_ends_looks();

CREATE FUNCTION look_json(look bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (SELECT (jsonb_build_object('look', l.name, 'op', l.op, 'state', l.state,
			'sandbox_id', CASE WHEN b.purpose = 'sandbox' THEN b.name END,
			'session', (SELECT r.name FROM runs r WHERE r.box_id = b.id LIMIT 1))
		|| coalesce(l.result, '{}'))::json
	FROM looks l JOIN boxes b ON b.id = l.box_id WHERE l.id = look);
END $$;

-- What get_files puts together, for an hour.
ALTER TABLE blobs DROP CONSTRAINT blobs_kind_check;
ALTER TABLE blobs ADD CONSTRAINT blobs_kind_check
	CHECK (kind IN ('upload', 'patch', 'bundle', 'artifact', 'files'));
