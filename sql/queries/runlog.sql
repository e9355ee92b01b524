-- name: runlog_append
-- Chunks of one flush and trace rows, under the fence (FOR SHARE: the reaper passes us by, and we do not wait for it).
-- The bodies come as one piece of bytes, cut here by $7 and $8, so that nothing is escaped; line_ms as the
-- text of an int[] (arrays of arrays must have equal lengths); ON CONFLICT makes sending it all again after
-- an unknown commit harmless.
WITH f AS (
	SELECT account_id FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), c AS (
	INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, src_off, src_len, ts, body, line_ms)
	SELECT f.account_id, $4::bigint, u.seq, u.stream, u.first_line, u.nlines, u.src_off, u.src_len,
		to_timestamp($3::bigint / 1000.0), substring($5::bytea FROM u.at + 1 FOR u.size), u.line_ms::int[]
	FROM f, unnest($6::bigint[], $7::int[], $8::int[], $9::smallint[], $10::bigint[], $11::int[], $12::bigint[],
		$13::int[], $14::text[]) AS u (seq, at, size, stream, first_line, nlines, src_off, src_len, line_ms)
	ON CONFLICT DO NOTHING
), t AS (
	INSERT INTO trace (account_id, run_id, seq, turn, ts, kind, ref, text, data)
	SELECT f.account_id, $15::bigint, (e->>0)::bigint, $16::int, to_timestamp($3::bigint / 1000.0), e->>1, e->>2,
		e->>3, coalesce(e->4, '{}')::jsonb
	FROM f, json_array_elements(('[' || $17::text || ']')::json) e
	ON CONFLICT DO NOTHING
)
SELECT count(*) FROM f;

-- name: runlog_tail
SELECT seq, first_line + nlines, src_off + src_len FROM log_chunk WHERE log_id = $1::bigint ORDER BY seq DESC LIMIT 1;

-- What the exec whose byte 0 stands at $2 has written to its stdout, after chunk $3.
-- name: runlog_stdout
SELECT seq, body, (extract(epoch FROM ts) * 1000)::bigint FROM log_chunk
WHERE log_id = $1::bigint AND src_off >= $2::bigint AND seq > $3::bigint AND stream = 1 ORDER BY seq LIMIT 128;
