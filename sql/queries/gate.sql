-- What the gate knows of a box it serves, and the row it leaves of each decision.

-- name: gate_box
SELECT b.id, b.account_id, b.slot, coalesce(r.id, 0), coalesce(r.repos, '[]')::text, coalesce(t.id, 0),
	b.egress
FROM boxes b
LEFT JOIN LATERAL (SELECT id, repos FROM runs WHERE box_id = b.id ORDER BY id DESC LIMIT 1) r ON true
LEFT JOIN LATERAL (SELECT id FROM turns WHERE run_id = r.id AND lane = 'drive'
	AND state IN ('starting', 'running') ORDER BY n DESC LIMIT 1) t ON true
WHERE b.name = $1::text AND b.slot IS NOT NULL AND b.state IN ('pooled', 'creating', 'ready', 'destroying');

-- name: gate_package_bytes
SELECT coalesce(sum(bytes_down), 0)::bigint FROM egress WHERE box_id = $1::bigint AND route LIKE 'pkg-%';

-- name: gate_egress_add
INSERT INTO egress (account_id, box_id, run_id, route, target, allowed, reason, bytes_up, bytes_down)
VALUES ($1::bigint, $2::bigint, nullif($3::bigint, 0), $4::text, $5::text, $6::boolean, $7::text,
	$8::bigint, $9::bigint);

-- name: gate_model_call_add
INSERT INTO model_calls (account_id, box_id, run_id, turn_id, path, model, status, error, input_tokens,
	output_tokens, cache_read_tokens, cache_write_tokens, first_ms, ms)
VALUES ($1::bigint, $2::bigint, nullif($3::bigint, 0), nullif($4::bigint, 0), $5::text, $6::text, $7::bigint, $8::text,
	nullif($9::bigint, -1), nullif($10::bigint, -1), nullif($11::bigint, -1), nullif($12::bigint, -1),
	nullif($13::bigint, -1), $14::bigint);
