-- Statements of asb-worker's own: its host's row, what it looks for by the clock, and hints.

-- name: worker_notify_log
SELECT pg_notify('log', $1::text);

-- name: worker_host_get
SELECT boot_id, (extract(epoch FROM now() - seen_at) * 1000)::bigint FROM hosts WHERE name = $1::text;

-- name: worker_host_put
INSERT INTO hosts (name, boot_id, slots, isolation)
VALUES ($1::text, $2::text, $3::int, $4::text)
ON CONFLICT (name) DO UPDATE SET boot_id = excluded.boot_id, slots = excluded.slots, seen_at = now(),
	isolation = CASE WHEN hosts.boot_id = excluded.boot_id THEN hosts.isolation ELSE excluded.isolation END;

-- name: worker_host_seen
-- and what its last box that became ready has proved since the host started
UPDATE hosts h SET seen_at = now(), isolation = coalesce((SELECT b.isolation FROM boxes b
	WHERE b.host = h.name AND b.host_boot_id = h.boot_id AND b.guest_boot_id IS NOT NULL
	ORDER BY b.id DESC LIMIT 1), isolation)
WHERE name = $1::text;

-- name: worker_host_boxes
SELECT b.id, b.name, b.state, b.slot, b.pid, b.pid_start,
	EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.state = 'running')
FROM boxes b WHERE b.host = $1::text AND b.state NOT IN ('gone', 'failed');

-- name: worker_box_is_live
SELECT 1 FROM boxes WHERE name = $1::text AND host = $2::text AND state NOT IN ('gone', 'failed');

-- name: worker_sweep_stuck
-- A runner that makes a box, for a sandbox or a turn, ends that in time by itself; it may have begun late.
SELECT id, state FROM boxes
WHERE state IN ('creating', 'destroying') AND deadline_at < now() AND (host = $1::text OR host IS NULL)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = boxes.id
		AND (j.kind = 'destroy' OR j.kind IN ('create', 'turn') AND j.state = 'running'));

-- name: worker_sweep_expired
SELECT id FROM boxes
WHERE state IN ('ready', 'stopped', 'pooled', 'creating') AND expires_at < now()
	AND (host = $1::text OR host IS NULL)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = boxes.id AND j.kind = 'destroy');

-- Sandboxes that nobody has used: since the last run or look, or the end of the last run that was waited for.
-- What runs in the background does not keep one.
-- name: worker_sweep_idle
SELECT b.id FROM boxes b
WHERE b.purpose = 'sandbox' AND b.host = $1::text AND b.state = 'ready'
	AND coalesce(b.used_at, b.ready_at) < now() - b.idle_ms * interval '1 ms'
	AND NOT EXISTS (SELECT 1 FROM execs e WHERE e.box_id = b.id AND NOT e.background
		AND (e.state IN ('queued', 'running') OR e.finished_at >= now() - b.idle_ms * interval '1 ms'))
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.kind = 'destroy');

-- name: worker_sweep_unanswered
SELECT DISTINCT r.box_id FROM runs r JOIN boxes b ON b.id = r.box_id
	JOIN turns t ON t.run_id = r.id AND t.n = r.last_turn
WHERE b.host = $1::text AND b.state NOT IN ('gone', 'failed') AND r.state = 'waiting' AND t.state = 'asked'
	AND t.finished_at < now() - make_interval(secs => $2::bigint / 1000.0)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.kind = 'destroy');

-- name: worker_sweep_overdue
-- Turns that nobody ended although their deadline is long past: the runner would have, had it lived.
SELECT DISTINCT t.box_id FROM turns t JOIN boxes b ON b.id = t.box_id
WHERE t.state IN ('starting', 'running') AND t.deadline_at < now() - interval '60 s'
	AND (b.host = $1::text OR b.host IS NULL)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.box_id = b.id AND j.kind = 'destroy');

-- name: worker_sweep_partitions
SELECT partitions_ensure();

-- name: worker_sweep_idempotency
DELETE FROM idempotency WHERE created_at < now() - interval '24 h';

-- name: worker_sweep_throttle
DELETE FROM throttle WHERE since < now() - interval '10 min';

-- name: worker_sweep_sessions
DELETE FROM sessions WHERE expires_at < now() OR seen_at < now() - interval '7 d';

-- Codes and tokens that are long over, and clients that nobody has connected within a day of their coming.
-- name: worker_sweep_access
WITH codes AS (DELETE FROM oauth_codes WHERE expires_at < now() - interval '1 d'),
	tokens AS (DELETE FROM oauth_tokens WHERE expires_at < now() - interval '1 d')
DELETE FROM oauth_clients c WHERE c.created_at < now() - interval '1 d'
	AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.client_id AND g.revoked_at IS NULL);

-- The oldest rows of a table, no more than a batch, and of them those past their days: ids rise with time,
-- so that a look costs the same whatever the table holds.
-- name: worker_sweep_audit
WITH oldest AS (SELECT id, ts FROM audit ORDER BY id LIMIT 5000)
DELETE FROM audit a USING oldest o WHERE a.id = o.id AND o.ts < now() - make_interval(days => $1::int);

-- name: worker_sweep_egress
WITH oldest AS (SELECT id, ts FROM egress ORDER BY id LIMIT 5000)
DELETE FROM egress e USING oldest o WHERE e.id = o.id AND o.ts < now() - make_interval(days => $1::int);

-- name: worker_sweep_model_calls
WITH oldest AS (SELECT id, ts FROM model_calls ORDER BY id LIMIT 5000)
DELETE FROM model_calls m USING oldest o WHERE m.id = o.id AND o.ts < now() - make_interval(days => $1::int);
