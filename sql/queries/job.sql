-- The queue. A lease is (id, epoch) with state running; whoever writes as a lease holder says both.

-- The subselect with its literal LIMIT is run once and keeps a generic plan. `placed` is false where
-- another host took the box between our snapshot and our write. Of a box that is to be destroyed nothing
-- else is begun any more; a process in one that is being made waits here for as long as that takes, which
-- its maker and its deadline bound, and holds no runner meanwhile.
-- name: job_claim
-- retry
WITH c AS (
	UPDATE jobs SET state = 'running', epoch = nextval('epoch_seq'), host = $1::text, lease_owner = $2::text,
		lease_until = now() + $4::bigint * interval '1 ms'
	WHERE id = (SELECT j.id FROM jobs j
		WHERE j.state = 'queued' AND j.run_at <= now() AND j.kind = ANY ($3::text[])
			AND (j.host IS NULL OR j.host = $1::text)
			AND NOT EXISTS (SELECT 1 FROM boxes b WHERE b.id = j.box_id
				AND (b.host <> $1::text OR b.state = 'creating' AND j.kind = 'exec'))
			AND NOT EXISTS (SELECT 1 FROM jobs r
				WHERE r.state = 'running' AND r.box_id = j.box_id AND r.lane = j.lane)
			AND (j.kind = 'destroy' OR NOT EXISTS (SELECT 1 FROM jobs d
				WHERE d.box_id = j.box_id AND d.kind = 'destroy'))
		ORDER BY j.priority, j.run_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED)
	RETURNING id, epoch, account_id, kind, lane, box_id, run_id, turn_id, exec_id, payload, attempts,
		request_id, cancel_requested_at
), p AS (
	UPDATE boxes b SET host = $1::text FROM c WHERE b.id = c.box_id AND b.host IS NULL RETURNING b.id
)
SELECT c.id, c.epoch, c.account_id, c.kind, c.lane, c.box_id, c.run_id, c.turn_id, c.exec_id, c.payload::text,
	c.attempts, c.request_id, c.cancel_requested_at IS NOT NULL,
	b.id IS NULL OR b.host IS NOT NULL OR EXISTS (SELECT 1 FROM p) AS placed
FROM c LEFT JOIN boxes b ON b.id = c.box_id;

-- name: job_load
SELECT id, epoch, account_id, kind, lane, box_id, run_id, turn_id, exec_id, payload::text, attempts, request_id,
	cancel_requested_at IS NOT NULL
FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running';

-- Epochs are unique in a site, so two lists are enough to say which pairs.
-- name: job_renew
-- retry
UPDATE jobs SET lease_until = now() + $4::bigint * interval '1 ms'
WHERE id = ANY ($2::bigint[]) AND epoch = ANY ($3::bigint[]) AND lease_owner = $1::text AND state = 'running'
RETURNING id, epoch, cancel_requested_at IS NOT NULL;

-- name: job_fence
SELECT 1 FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE;

-- name: job_finish
WITH d AS (
	DELETE FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' RETURNING *
)
INSERT INTO job_history (id, account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, state, priority,
	run_at, attempts, host, epoch, lease_owner, lease_until, deadline_at, cancel_requested_at, request_id,
	last_error, created_at, outcome)
SELECT id, account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, state, priority, run_at, attempts,
	host, epoch, lease_owner, lease_until, deadline_at, cancel_requested_at, request_id, last_error, created_at,
	$3::text FROM d;

-- A job that its holder is writing with in this instant is left for the next look: who waited for it would renew
-- no lease meanwhile, and lose all that are good.
-- name: job_reap
-- retry
WITH x AS (
	UPDATE jobs SET state = 'queued', lease_owner = NULL, lease_until = NULL, last_error = 'lease expired'
	WHERE id = ANY (ARRAY(SELECT id FROM jobs WHERE state = 'running' AND lease_until < now()
		FOR UPDATE SKIP LOCKED)) RETURNING id
)
SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify('jobs', '')::text END FROM x;

-- name: job_release
-- retry
WITH x AS (
	UPDATE jobs SET state = 'queued', lease_owner = NULL, lease_until = NULL
	WHERE state = 'running' AND lease_owner = $1::text RETURNING id
)
SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify('jobs', '')::text END FROM x;

-- One that was claimed: after $3 ms, by any host unless $4 keeps it on this one.
-- name: job_hand_back
WITH x AS (
	UPDATE jobs SET state = 'queued', lease_owner = NULL, lease_until = NULL,
		run_at = now() + $3::bigint * interval '1 ms', host = CASE WHEN $4::boolean THEN host END
	WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' RETURNING id
)
SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify('jobs', '')::text END FROM x;

-- name: job_take_host
-- retry
WITH x AS (
	UPDATE jobs SET state = 'queued', lease_owner = NULL, lease_until = NULL
	WHERE state = 'running' AND host = $1::text RETURNING id
)
SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify('jobs', '')::text END FROM x;

-- name: job_cancelled
SELECT id, epoch FROM jobs
WHERE state = 'running' AND lease_owner = $1::text AND cancel_requested_at IS NOT NULL;

-- At most one of a box; before all else.
-- name: job_add_destroy
INSERT INTO jobs (account_id, kind, box_id, run_id, lane, payload, host, priority, request_id)
SELECT b.account_id, 'destroy', b.id, (SELECT r.id FROM runs r WHERE r.box_id = b.id LIMIT 1), 'admin',
	jsonb_build_object('reason', $2::text), b.host, -10, $3::text
FROM boxes b WHERE b.id = $1::bigint AND b.state NOT IN ('gone', 'failed')
ON CONFLICT (box_id) WHERE kind = 'destroy' DO NOTHING;

-- All other jobs of a box, by the destroy job of that box. The fence locks the destroy job first.
-- name: job_drop_box
WITH f AS (
	SELECT id FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' AND box_id = $3::bigint
	FOR SHARE
), d AS (
	DELETE FROM jobs j USING f WHERE j.box_id = $3::bigint AND j.id <> f.id RETURNING j.*
), h AS (
	INSERT INTO job_history (id, account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, state,
		priority, run_at, attempts, host, epoch, lease_owner, lease_until, deadline_at, cancel_requested_at,
		request_id, last_error, created_at, outcome)
	SELECT id, account_id, kind, box_id, run_id, turn_id, exec_id, lane, payload, state, priority, run_at,
		attempts, host, epoch, lease_owner, lease_until, deadline_at, cancel_requested_at, request_id,
		last_error, created_at, $4::text FROM d
)
SELECT count(*) FROM f;
