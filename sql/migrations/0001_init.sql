-- The rows of the house. Every row belongs to an account; every thing outside PostgreSQL is named
-- after a row that was committed first. Roles, grants and row-level security are in grants.sql.

CREATE SEQUENCE epoch_seq; -- the one fencing number of the site: nextval in each claim

CREATE TABLE accounts (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE,
	created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE users (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE,
	created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE account_members (
	account_id bigint NOT NULL REFERENCES accounts,
	user_id bigint NOT NULL REFERENCES users,
	role text NOT NULL CHECK (role IN ('owner', 'member')),
	PRIMARY KEY (account_id, user_id)
);

CREATE TABLE hosts (
	name text PRIMARY KEY,
	boot_id text NOT NULL,
	slots int NOT NULL,
	isolation text NOT NULL, -- class of the runtime that doctor proved
	seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE blobs (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL UNIQUE, -- 'blob-' + 16 random characters: what the doors say
	kind text NOT NULL CHECK (kind IN ('upload', 'patch', 'bundle', 'artifact')),
	run_id bigint, -- set once it belongs to a run
	turn_id bigint,
	file_name text NOT NULL, -- sanitised, for Content-Disposition only
	size_bytes bigint NOT NULL DEFAULT 0,
	sha256 text,
	complete boolean NOT NULL DEFAULT false,
	created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX blobs_run ON blobs (run_id, kind);
CREATE TABLE blob_chunks (
	blob_id bigint NOT NULL REFERENCES blobs ON DELETE CASCADE,
	n int NOT NULL, -- from 0; each but the last is 256 KiB
	body bytea NOT NULL,
	PRIMARY KEY (blob_id, n)
);
ALTER TABLE blob_chunks ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE boxes (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL UNIQUE, -- 'box-' + 16
	state text NOT NULL DEFAULT 'creating'
		CHECK (state IN ('pooled', 'creating', 'ready', 'stopped', 'destroying', 'gone', 'failed')),
	reason text, -- why gone or failed; run reasons' words
	runtime text NOT NULL DEFAULT 'qemu',
	isolation text, -- hardware-vm | emulated-vm | container, as proved
	image text NOT NULL,
	class text NOT NULL CHECK (class IN ('s', 'm', 'l')),
	template text, -- cache key it was cloned from; null: cold boot
	memory_bytes bigint NOT NULL,
	cpus int NOT NULL,
	disk_bytes bigint NOT NULL,
	host text, -- set by the claim that creates it
	slot int,  -- uid slot on the host
	pid int, pid_start bigint, -- the shim: pid and its start time in clock ticks
	host_boot_id text,
	guest_boot_id text, guest_kernel text,
	readback jsonb, -- what the kernel said of limits and isolation before ready
	next_stream int NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT now(),
	ready_at timestamptz,
	deadline_at timestamptz NOT NULL, -- of the present transient state (creating, destroying)
	expires_at timestamptz NOT NULL,  -- destroyed then at the latest
	gone_at timestamptz
);
CREATE UNIQUE INDEX boxes_slot ON boxes (host, slot) WHERE state NOT IN ('gone', 'failed');
CREATE INDEX boxes_live ON boxes (host) WHERE state NOT IN ('gone', 'failed');

CREATE TABLE runs (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL UNIQUE, -- 'run-' + 16
	box_id bigint NOT NULL REFERENCES boxes,
	title text NOT NULL,
	task text NOT NULL,
	agent text NOT NULL,
	source text NOT NULL CHECK (source IN ('none', 'upload', 'git')),
	repos jsonb NOT NULL DEFAULT '[]', -- [{"repo":"owner/name","ref":..,"dir":"name"}]
	upload_id bigint REFERENCES blobs,
	-- follows the last drive-lane turn (trigger): its state, with asked shown as waiting
	state text NOT NULL DEFAULT 'queued' CHECK (state IN
		('queued', 'starting', 'running', 'waiting', 'done', 'failed', 'stopped', 'lost')),
	exit_code int,
	reason text,
	last_turn int NOT NULL DEFAULT 0,
	created_by text NOT NULL, -- the caller: 'operator', 'session:ID', ...
	created_at timestamptz NOT NULL DEFAULT now(),
	started_at timestamptz,
	finished_at timestamptz
);
CREATE INDEX runs_account ON runs (account_id, id DESC);
CREATE INDEX runs_box ON runs (box_id);

CREATE TABLE turns (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	run_id bigint NOT NULL REFERENCES runs,
	box_id bigint NOT NULL REFERENCES boxes,
	n int NOT NULL, -- from 1
	lane text NOT NULL DEFAULT 'drive' CHECK (lane IN ('drive', 'ask')),
	message text NOT NULL, -- the task, the answer, the follow-up
	question_id bigint, -- the question this turn answers
	state text NOT NULL DEFAULT 'queued' CHECK (state IN
		('queued', 'starting', 'running', 'asked', 'done', 'failed', 'stopped', 'lost')),
	reason text CHECK (reason IN ('ok', 'agent_error', 'oom', 'guest_panic', 'timeout', 'max_duration',
		'operator', 'protocol', 'agent_lost', 'box_lost', 'worker_lost', 'host_reboot', 'policy',
		'tree', 'provision')),
	detail text, -- a sentence for people, sanitised
	exit_code int,
	signal int,
	epoch bigint,
	exec_id bigint, -- the agent's exec; a turn that answers continues its predecessor's
	patch_id bigint REFERENCES blobs,
	bundle_id bigint REFERENCES blobs,
	created_at timestamptz NOT NULL DEFAULT now(),
	started_at timestamptz,
	deadline_at timestamptz,
	finished_at timestamptz,
	UNIQUE (run_id, n)
);
CREATE UNIQUE INDEX turns_one_active ON turns (box_id, lane) WHERE state IN ('queued', 'starting', 'running');

CREATE TABLE questions (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	run_id bigint NOT NULL REFERENCES runs,
	turn_id bigint NOT NULL REFERENCES turns,
	box_ref text NOT NULL, -- boxd's id of it
	text text NOT NULL,    -- sanitised
	asked_at timestamptz NOT NULL DEFAULT now(),
	answer text,
	answered_by text,
	answered_at timestamptz,
	UNIQUE (run_id, box_ref)
);

CREATE TABLE logs (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	run_id bigint REFERENCES runs, -- one log a run ...
	exec_id bigint,                -- ... and one an evidence exec
	created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX logs_run ON logs (run_id) WHERE exec_id IS NULL;
CREATE UNIQUE INDEX logs_exec ON logs (exec_id) WHERE exec_id IS NOT NULL;

CREATE TABLE execs (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL UNIQUE, -- 'exec-' + 16
	box_id bigint NOT NULL REFERENCES boxes,
	run_id bigint REFERENCES runs,
	stream int NOT NULL, -- on the box's channel, from boxes.next_stream, never used twice
	lane text NOT NULL,  -- drive | exec:ID
	argv jsonb NOT NULL,
	stdin bytea,
	cwd text,
	timeout_ms bigint,
	log_id bigint NOT NULL REFERENCES logs,
	log_base bigint NOT NULL DEFAULT 0, -- log_chunk.src_off of this exec's byte 0
	state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'failed')),
	reason text,
	exit_code int,
	signal int,
	timed_out boolean NOT NULL DEFAULT false,
	oom boolean NOT NULL DEFAULT false,
	usage jsonb,
	epoch bigint,
	created_at timestamptz NOT NULL DEFAULT now(),
	started_at timestamptz,
	finished_at timestamptz,
	UNIQUE (box_id, stream)
);

-- The hot queue: live rows only; an ended job leaves by DELETE into job_history.
CREATE TABLE jobs (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL,
	kind text NOT NULL, -- a row of workers/kinds.c
	box_id bigint, run_id bigint, turn_id bigint, exec_id bigint,
	lane text NOT NULL, -- drive | ask | exec:ID | admin: one running job per box and lane
	payload jsonb NOT NULL DEFAULT '{}',
	state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running')),
	priority smallint NOT NULL DEFAULT 0,
	run_at timestamptz NOT NULL DEFAULT now(),
	attempts int NOT NULL DEFAULT 0, -- failures of the job's own, not expired leases
	host text, -- null: any host may claim it
	epoch bigint,
	lease_owner text,
	lease_until timestamptz,
	deadline_at timestamptz,
	cancel_requested_at timestamptz,
	request_id text,
	last_error text,
	created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200,
	autovacuum_vacuum_cost_delay = 0);
CREATE INDEX jobs_ready ON jobs (priority, run_at, id) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running'; -- lease_until is in no index: renewals stay HOT
CREATE UNIQUE INDEX jobs_one_per_lane ON jobs (box_id, lane) WHERE state = 'running';
CREATE UNIQUE INDEX jobs_turn ON jobs (turn_id) WHERE turn_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_destroy ON jobs (box_id) WHERE kind = 'destroy';
CREATE TABLE job_history (LIKE jobs, outcome text NOT NULL, finished_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX job_history_finished ON job_history USING brin (finished_at);
CREATE INDEX job_history_box ON job_history (box_id);

-- One row per event of a run; seq from 1 without gaps, given out by the lease holder.
CREATE TABLE trace (
	account_id bigint NOT NULL,
	run_id bigint NOT NULL,
	seq bigint NOT NULL,
	turn int NOT NULL,
	ts timestamptz NOT NULL DEFAULT now(),
	kind text NOT NULL CHECK (kind IN
		('say', 'thinking', 'tool', 'result', 'error', 'question', 'answer', 'usage', 'system')),
	ref text, -- pairs a result with its tool
	text text NOT NULL,
	data jsonb NOT NULL DEFAULT '{}',
	PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);

-- Bytes as the box wrote them, known secrets replaced. A chunk ends at a newline unless 16 KiB or
-- 200 ms have passed.
CREATE TABLE log_chunk (
	account_id bigint NOT NULL,
	log_id bigint NOT NULL,
	seq bigint NOT NULL,       -- from 1 without gaps
	stream smallint NOT NULL,  -- 1 stdout, 2 stderr
	first_line bigint NOT NULL, -- number of the line its first byte belongs to, from 0
	nlines int NOT NULL,       -- newlines in it
	src_off bigint NOT NULL, src_len int NOT NULL, -- bytes of the box's output it stands for
	ts timestamptz NOT NULL DEFAULT now(),
	body bytea NOT NULL,
	line_ms int[] NOT NULL DEFAULT '{}', -- per newline: ms before ts that it came
	PRIMARY KEY (log_id, seq)
) PARTITION BY RANGE (log_id);
ALTER TABLE log_chunk ALTER COLUMN body SET COMPRESSION lz4;

-- What changed, in commit order, for the fleet view. emit() is called by deferred triggers only, so
-- that its lock is the last one a transaction takes and is held for the commit alone.
CREATE TABLE feed (
	id bigint PRIMARY KEY,
	account_id bigint NOT NULL,
	run_id bigint,
	box_id bigint,
	kind text NOT NULL, -- run | question | answered | box
	data jsonb NOT NULL DEFAULT '{}',
	ts timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX feed_account ON feed (account_id, id);
CREATE SEQUENCE feed_seq;
CREATE FUNCTION emit(account bigint, run bigint, box bigint, kind text, data jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE i bigint;
BEGIN
	PERFORM pg_advisory_xact_lock(7001); -- id order = commit order
	i := nextval('feed_seq');
	INSERT INTO feed (id, account_id, run_id, box_id, kind, data) VALUES (i, account, run, box, kind, data);
	PERFORM pg_notify('feed', coalesce('r' || run, 'b' || box));
	RETURN i;
END $$;

CREATE TABLE sessions (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	user_id bigint NOT NULL REFERENCES users,
	token_sha256 bytea NOT NULL UNIQUE,
	created_at timestamptz NOT NULL DEFAULT now(),
	seen_at timestamptz NOT NULL DEFAULT now(), -- idle limit 7 d
	expires_at timestamptz NOT NULL             -- absolute limit 30 d
);
CREATE TABLE throttle (
	address text PRIMARY KEY,
	failures int NOT NULL,
	since timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE idempotency (
	account_id bigint NOT NULL,
	key text NOT NULL,
	route text NOT NULL,
	body_sha256 bytea NOT NULL,
	status int NOT NULL,
	response text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (account_id, key)
);
CREATE TABLE audit (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	ts timestamptz NOT NULL DEFAULT now(),
	account_id bigint,
	caller text NOT NULL,
	address text NOT NULL,
	method text NOT NULL, path text NOT NULL, status int NOT NULL, ms int NOT NULL,
	action text NOT NULL,
	subject text, -- the run, box or blob it was about
	request_id text NOT NULL
);
CREATE TABLE egress (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	ts timestamptz NOT NULL DEFAULT now(),
	account_id bigint NOT NULL,
	box_id bigint NOT NULL REFERENCES boxes,
	run_id bigint,
	route text NOT NULL,  -- git | model | ...
	target text NOT NULL, -- canonical host[:port] or host/path
	allowed boolean NOT NULL,
	reason text NOT NULL,
	bytes_up bigint NOT NULL DEFAULT 0,
	bytes_down bigint NOT NULL DEFAULT 0
);
CREATE INDEX egress_box ON egress (box_id, id);

-- --- rules ---------------------------------------------------------------------------------------

-- A row in a terminal state never changes again, whoever asks.
CREATE FUNCTION terminal_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.state = ANY (TG_ARGV) AND NEW.state IS DISTINCT FROM OLD.state THEN
		RAISE EXCEPTION '% % is % and final', TG_TABLE_NAME, OLD.id, OLD.state USING ERRCODE = 'AS409';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER turns_final BEFORE UPDATE ON turns FOR EACH ROW
	EXECUTE FUNCTION terminal_is_final('asked', 'done', 'failed', 'stopped', 'lost');
CREATE TRIGGER execs_final BEFORE UPDATE ON execs FOR EACH ROW
	EXECUTE FUNCTION terminal_is_final('done', 'failed');
CREATE TRIGGER boxes_final BEFORE UPDATE ON boxes FOR EACH ROW
	EXECUTE FUNCTION terminal_is_final('gone', 'failed');

-- The trigger functions that write other tables run as the owner (SECURITY DEFINER): nobody else needs
-- the right to write runs.state or the feed, and a trigger function cannot be called by hand.

-- runs.state follows the last drive-lane turn.
CREATE FUNCTION run_follows_turn() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE to_state text := CASE NEW.state WHEN 'asked' THEN 'waiting' ELSE NEW.state END;
BEGIN
	IF NEW.lane <> 'drive' OR (TG_OP = 'UPDATE' AND NEW.state = OLD.state) THEN
		RETURN NULL;
	END IF;
	UPDATE runs SET state = to_state, exit_code = NEW.exit_code, reason = NEW.reason, last_turn = NEW.n,
		started_at = coalesce(started_at, NEW.started_at),
		finished_at = CASE WHEN to_state IN ('done', 'failed', 'stopped', 'lost') THEN now() END
	WHERE id = NEW.run_id AND last_turn <= NEW.n;
	RETURN NULL;
END $$;
CREATE TRIGGER turns_run AFTER INSERT OR UPDATE ON turns FOR EACH ROW EXECUTE FUNCTION run_follows_turn();

CREATE FUNCTION turn_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.lane = 'drive' AND (TG_OP = 'INSERT' OR NEW.state <> OLD.state) THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NEW.box_id, 'run', jsonb_build_object(
			'state', CASE NEW.state WHEN 'asked' THEN 'waiting' ELSE NEW.state END,
			'exit_code', NEW.exit_code, 'reason', NEW.reason, 'turn', NEW.n));
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER turns_feed AFTER INSERT OR UPDATE ON turns DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION turn_changed();

CREATE FUNCTION question_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NULL, 'question',
			jsonb_build_object('question', NEW.id, 'text', left(NEW.text, 2000)));
	ELSIF OLD.answer IS NULL AND NEW.answer IS NOT NULL THEN
		PERFORM emit(NEW.account_id, NEW.run_id, NULL, 'answered',
			jsonb_build_object('question', NEW.id, 'by', NEW.answered_by));
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER questions_feed AFTER INSERT OR UPDATE ON questions DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION question_changed();

-- A question is answered once, whoever asks.
CREATE FUNCTION answer_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.answer IS NOT NULL AND NEW.answer IS DISTINCT FROM OLD.answer THEN
		RAISE EXCEPTION 'question % was answered already', OLD.id USING ERRCODE = 'AS409';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER questions_final BEFORE UPDATE ON questions FOR EACH ROW EXECUTE FUNCTION answer_is_final();

CREATE FUNCTION box_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
		PERFORM emit(NEW.account_id, NULL, NEW.id, 'box', jsonb_build_object('box', NEW.name,
			'state', NEW.state, 'reason', NEW.reason));
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER boxes_feed AFTER INSERT OR UPDATE ON boxes DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION box_changed();

-- An evidence exec wakes whoever waits for it; it is not news for the fleet.
CREATE FUNCTION exec_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.state IN ('done', 'failed') THEN
		PERFORM pg_notify('feed', 'x' || NEW.id);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER execs_wake AFTER UPDATE OF state ON execs FOR EACH ROW EXECUTE FUNCTION exec_changed();

CREATE FUNCTION job_wakes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('jobs', '');
	RETURN NULL;
END $$;
CREATE TRIGGER jobs_wake AFTER INSERT OR UPDATE OF cancel_requested_at ON jobs
	FOR EACH STATEMENT EXECUTE FUNCTION job_wakes();

-- Partitions of 1,000 runs and logs, made ahead; no DEFAULT one, for DETACH CONCURRENTLY refuses it.
-- Made apart and attached, because that locks out neither readers nor writers of the whole table.
CREATE FUNCTION partitions_ensure() RETURNS int LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
	made int := 0;
	t text;
	part text;
	top bigint;
	lo bigint;
BEGIN
	PERFORM pg_advisory_xact_lock(7002);
	FOREACH t IN ARRAY ARRAY['trace', 'log_chunk'] LOOP
		EXECUTE format('SELECT coalesce(max(id), 0) FROM %I', CASE t WHEN 'trace' THEN 'runs' ELSE 'logs' END)
			INTO top;
		FOR i IN 0..1 LOOP
			lo := (top / 1000 + i) * 1000;
			part := t || '_p' || lo / 1000;
			CONTINUE WHEN to_regclass(part) IS NOT NULL;
			EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, t);
			-- nobody reaches a partition but through its parent's policies
			EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', part);
			EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
				t, part, lo, lo + 1000);
			made := made + 1;
		END LOOP;
	END LOOP;
	RETURN made;
END $$;
SELECT partitions_ensure();
CREATE FUNCTION partitions_trigger() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	PERFORM partitions_ensure();
	RETURN NULL;
END $$;
-- Often, because the row that should have done it may have been rolled back.
CREATE TRIGGER runs_partitions AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.id % 100 = 0)
	EXECUTE FUNCTION partitions_trigger();
CREATE TRIGGER logs_partitions AFTER INSERT ON logs FOR EACH ROW WHEN (NEW.id % 100 = 0)
	EXECUTE FUNCTION partitions_trigger();

-- One account, one user, until accounts come.
INSERT INTO accounts (name) VALUES ('operator');
INSERT INTO users (name) VALUES ('operator');
INSERT INTO account_members SELECT a.id, u.id, 'owner' FROM accounts a, users u;
