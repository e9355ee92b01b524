-- name: migrate_find
SELECT sha256 FROM schema_migrations WHERE n = $1::int;

-- name: migrate_record
INSERT INTO schema_migrations (n, name, sha256) VALUES ($1::int, $2::text, $3::text);

-- name: migrate_newest
SELECT coalesce(max(n), 0) FROM schema_migrations;
