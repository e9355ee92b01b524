-- Receipts: asb-gate signs what has ended, asb-web hands out.

-- name: receipt_key_add
INSERT INTO receipt_keys (key) VALUES ($1::text) ON CONFLICT (key) DO NOTHING;

-- name: receipt_due
SELECT account_id, coalesce(exec_id, 0), coalesce(turn_id, 0) FROM receipts_due($1::bigint, $2::bigint);

-- name: receipt_behind
SELECT exec_id, turn_id FROM receipts_behind($1::bigint, $2::bigint);

-- name: receipt_body
SELECT receipt_body($1::text, $2::text, nullif($3::bigint, 0), nullif($4::bigint, 0));

-- One that is there already stays: whoever was first has signed it.
-- name: receipt_add
INSERT INTO receipts (account_id, name, exec_id, turn_id, key, body, signature)
VALUES ($1::bigint, $2::text, nullif($3::bigint, 0), nullif($4::bigint, 0), $5::text, $6::text, $7::bytea)
ON CONFLICT DO NOTHING;

-- name: receipt_key_newest
SELECT key FROM receipt_keys ORDER BY created_at DESC, key LIMIT 1;

-- Whether it has ended, and its receipt where there is one.
-- name: receipt_of_exec
SELECT e.state IN ('done', 'failed'), receipt_json(c.id)
FROM execs e LEFT JOIN receipts c ON c.exec_id = e.id
WHERE e.account_id = $1::bigint AND e.name = $2::text AND e.lane LIKE 'exec:%';

-- The last turn where $3 is 0.
-- name: receipt_of_turn
SELECT t.state IN ('asked', 'done', 'failed', 'stopped', 'lost'), receipt_json(c.id)
FROM runs r JOIN turns t ON t.run_id = r.id LEFT JOIN receipts c ON c.turn_id = t.id
WHERE r.account_id = $1::bigint AND r.name = $2::text AND (t.n = $3::bigint OR $3::bigint = 0)
ORDER BY t.n DESC LIMIT 1;
