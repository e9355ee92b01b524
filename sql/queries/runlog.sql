-- The fence stands in the same statement (FOR SHARE: the reaper waits for us, not we for it), and
-- ON CONFLICT makes sending a batch again after an unknown commit harmless.

-- name: runlog_append_trace
WITH f AS (
	SELECT account_id FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), i AS (
	INSERT INTO trace (account_id, run_id, seq, turn, kind, ref, text, data)
	SELECT f.account_id, $3::bigint, u.seq, $4::int, u.kind, u.ref, u.text, coalesce(u.data, '{}')::jsonb
	FROM f, unnest($5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[]) u (seq, kind, ref, text, data)
	ON CONFLICT DO NOTHING RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM i);

-- line_ms comes as the text of an int[]: arrays of arrays must have equal lengths.
-- name: runlog_append_chunks
WITH f AS (
	SELECT account_id FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), i AS (
	INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, src_off, src_len, body, line_ms)
	SELECT f.account_id, $3::bigint, u.seq, u.stream, u.first_line, u.nlines, u.src_off, u.src_len, u.body,
		u.line_ms::int[]
	FROM f, unnest($4::bigint[], $5::smallint[], $6::bigint[], $7::int[], $8::bigint[], $9::int[], $10::bytea[],
		$11::text[]) u (seq, stream, first_line, nlines, src_off, src_len, body, line_ms)
	ON CONFLICT DO NOTHING RETURNING 1
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM i);

-- name: runlog_trace_tail
SELECT coalesce((SELECT seq FROM trace WHERE run_id = $1::bigint ORDER BY seq DESC LIMIT 1), 0);

-- name: runlog_tail
SELECT seq, first_line + nlines, src_off + src_len FROM log_chunk WHERE log_id = $1::bigint ORDER BY seq DESC LIMIT 1;
