-- What the gate knows of a box it serves, and the row it leaves of each decision.

-- name: gate_box
SELECT b.id, b.account_id, b.slot, coalesce(r.id, 0), coalesce(r.repos, '[]')::text
FROM boxes b
LEFT JOIN LATERAL (SELECT id, repos FROM runs WHERE box_id = b.id ORDER BY id DESC LIMIT 1) r ON true
WHERE b.name = $1::text AND b.slot IS NOT NULL AND b.state IN ('creating', 'ready', 'destroying');

-- name: gate_egress_add
INSERT INTO egress (account_id, box_id, run_id, route, target, allowed, reason, bytes_up, bytes_down)
VALUES ($1::bigint, $2::bigint, nullif($3::bigint, 0), $4::text, $5::text, $6::boolean, $7::text,
	$8::bigint, $9::bigint);
