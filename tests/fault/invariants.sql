-- Violations of security.md's invariants as rows (invariant, what); none is what a healthy site has.
-- :settle is the number of seconds a transient state may last before it counts as stuck.

-- I3: nothing is said to run that nothing runs
SELECT 'I3' AS invariant, format('turn %s of %s is %s without a job', t.n, r.name, t.state) AS what
FROM turns t JOIN runs r ON r.id = t.run_id
WHERE t.state IN ('queued', 'starting', 'running')
	AND NOT EXISTS (SELECT FROM jobs j WHERE j.turn_id = t.id)
UNION ALL
SELECT 'I3', format('job %s %s belongs to an ended turn', j.id, j.kind)
FROM jobs j JOIN turns t ON t.id = j.turn_id
WHERE t.state NOT IN ('queued', 'starting', 'running', 'asked') -- asked: its results are being saved
UNION ALL
SELECT 'I3', format('run %s is %s but its last turn is %s', r.name, r.state, t.state)
FROM runs r JOIN turns t ON t.run_id = r.id AND t.n = r.last_turn AND t.lane = 'drive'
WHERE r.state <> CASE t.state WHEN 'asked' THEN 'waiting' ELSE t.state END
UNION ALL
SELECT 'I3', format('turn of %s is active in a box that is %s', r.name, b.state)
FROM turns t JOIN runs r ON r.id = t.run_id JOIN boxes b ON b.id = t.box_id
WHERE t.state IN ('starting', 'running', 'asked') AND b.state IN ('gone', 'failed')
	AND t.n = r.last_turn AND coalesce(b.gone_at, now()) < now() - make_interval(secs => :settle)
UNION ALL
SELECT 'I3', format('box %s is %s past its deadline', name, state)
FROM boxes WHERE state IN ('creating', 'destroying') AND deadline_at < now() - make_interval(secs => :settle)
UNION ALL
SELECT 'I3', format('job %s %s has a lease that ended %s ago', id, kind, now() - lease_until)
FROM jobs WHERE state = 'running' AND lease_until < now() - make_interval(secs => :settle)
-- I4: whatever was written carries no older epoch than what it belongs to
UNION ALL
SELECT 'I4', format('job %s has epoch %s, its turn %s', j.id, j.epoch, t.epoch)
FROM jobs j JOIN turns t ON t.id = j.turn_id
WHERE j.state = 'running' AND t.epoch > j.epoch
-- I5: logs and traces have no gap and no repeat
UNION ALL
SELECT 'I5', format('log %s: chunk %s follows %s', log_id, seq, before)
FROM (SELECT log_id, seq, lag(seq, 1, 0::bigint) OVER w AS before FROM log_chunk
	WINDOW w AS (PARTITION BY log_id ORDER BY seq)) c
WHERE seq <> before + 1
UNION ALL
SELECT 'I5', format('log %s: chunk %s stands for bytes from %s, the one before ended at %s', log_id, seq, src_off, ended)
FROM (SELECT log_id, seq, src_off, lag(src_off + src_len, 1, 0::bigint) OVER w AS ended FROM log_chunk
	WINDOW w AS (PARTITION BY log_id ORDER BY seq)) c
WHERE src_off <> ended
UNION ALL
SELECT 'I5', format('log %s: chunk %s begins at line %s, expected %s', log_id, seq, first_line, expected)
FROM (SELECT log_id, seq, first_line, lag(first_line + nlines, 1, 0::bigint) OVER w AS expected FROM log_chunk
	WINDOW w AS (PARTITION BY log_id ORDER BY seq)) c
WHERE first_line <> expected
UNION ALL
SELECT 'I5', format('run %s: trace %s follows %s', run_id, seq, before)
FROM (SELECT run_id, seq, lag(seq, 1, 0::bigint) OVER w AS before FROM trace
	WINDOW w AS (PARTITION BY run_id ORDER BY seq)) t
WHERE seq <> before + 1
-- I9: a slot is held by live boxes only, and by one
UNION ALL
SELECT 'I9', format('slot %s of %s is held by %s boxes', slot, host, count(*))
FROM boxes WHERE state NOT IN ('gone', 'failed') AND slot IS NOT NULL GROUP BY host, slot HAVING count(*) > 1;
