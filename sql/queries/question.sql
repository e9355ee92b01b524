-- The box may say it twice (a runner was replaced in between): the row is there then and stays.
-- name: question_open
WITH f AS (
	SELECT account_id FROM jobs WHERE id = $1::bigint AND epoch = $2::bigint AND state = 'running' FOR SHARE
), q AS (
	INSERT INTO questions (account_id, run_id, turn_id, box_ref, text)
	SELECT f.account_id, $3::bigint, $4::bigint, $5::text, $6::text FROM f
	ON CONFLICT (run_id, box_ref) DO UPDATE SET box_ref = EXCLUDED.box_ref RETURNING id
)
SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM q), (SELECT id FROM q);
