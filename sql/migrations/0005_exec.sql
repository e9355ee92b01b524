-- An exec's row on the way of `true` and back: what runs for each, runs once a connection or not at all.

-- The triggers look before they call: a function of plpgsql is compiled by each new connection.
DROP TRIGGER turns_final ON turns;
CREATE TRIGGER turns_final BEFORE UPDATE ON turns FOR EACH ROW
	WHEN (OLD.state IN ('asked', 'done', 'failed', 'stopped', 'lost') AND NEW.state IS DISTINCT FROM OLD.state)
	EXECUTE FUNCTION terminal_is_final('asked', 'done', 'failed', 'stopped', 'lost');
DROP TRIGGER execs_final ON execs;
CREATE TRIGGER execs_final BEFORE UPDATE ON execs FOR EACH ROW
	WHEN (OLD.state IN ('done', 'failed') AND NEW.state IS DISTINCT FROM OLD.state)
	EXECUTE FUNCTION terminal_is_final('done', 'failed');
DROP TRIGGER boxes_final ON boxes;
CREATE TRIGGER boxes_final BEFORE UPDATE ON boxes FOR EACH ROW
	WHEN (OLD.state IN ('gone', 'failed') AND NEW.state IS DISTINCT FROM OLD.state)
	EXECUTE FUNCTION terminal_is_final('gone', 'failed');
DROP TRIGGER execs_wake ON execs;
CREATE TRIGGER execs_wake AFTER UPDATE OF state ON execs FOR EACH ROW
	WHEN (NEW.state IN ('done', 'failed')) EXECUTE FUNCTION exec_changed();

-- stdout and stderr up to 256 KiB each, of the first 1,024 chunks of the log; `truncated` says when there is
-- more. plpgsql keeps the plan; a function of one SQL statement is planned at each call.
CREATE OR REPLACE FUNCTION exec_json(exec bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (WITH c AS (
		SELECT l.stream, l.seq, l.body, sum(length(l.body)) OVER (PARTITION BY l.stream ORDER BY l.seq) AS upto
		FROM log_chunk l WHERE l.log_id = (SELECT e.log_id FROM execs e WHERE e.id = exec) AND l.seq <= 1025
	)
	SELECT json_build_object('exec', e.name, 'session', r.name, 'state', e.state, 'exit_code', e.exit_code,
		'signal', e.signal, 'timed_out', e.timed_out, 'oom', e.oom,
		'stdout', utf8_lossy(coalesce((SELECT string_agg(c.body, ''::bytea ORDER BY c.seq) FROM c
			WHERE c.stream = 1 AND c.upto <= 262144 AND c.seq <= 1024), '')),
		'stderr', utf8_lossy(coalesce((SELECT string_agg(c.body, ''::bytea ORDER BY c.seq) FROM c
			WHERE c.stream = 2 AND c.upto <= 262144 AND c.seq <= 1024), '')),
		'truncated', EXISTS (SELECT 1 FROM c WHERE c.upto > 262144 OR c.seq > 1024),
		'duration_ms', (extract(epoch FROM e.finished_at - e.started_at) * 1000)::bigint,
		'reason', e.reason, 'created_at', rfc3339(e.created_at), 'started_at', rfc3339(e.started_at),
		'finished_at', rfc3339(e.finished_at))
	FROM execs e LEFT JOIN runs r ON r.id = e.run_id WHERE e.id = exec);
END $$;
