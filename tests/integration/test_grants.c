/*
 * Each role does what it must and is refused what it must not: the privilege separation, tried.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "testdb.h"

#define MAY "00000"
#define DENIED "42501" /* also a row that WITH CHECK refuses */

struct attempt {
	const char *role, *sql, *state;
};

static const struct attempt attempts[] = {
	/* web writes intent */
	{"asb_web", "SELECT id, state FROM runs", MAY},
	{"asb_web", "INSERT INTO jobs (account_id, kind, lane) VALUES (1, 'turn', 'drive')", MAY},
	{"asb_web", "UPDATE jobs SET cancel_requested_at = now()", MAY},
	{"asb_web", "UPDATE jobs SET lease_until = now() + interval '1 day'", DENIED},
	{"asb_web", "UPDATE jobs SET lease_owner = 'me'", DENIED},
	{"asb_web", "UPDATE jobs SET epoch = 1", DENIED},
	{"asb_web", "UPDATE jobs SET state = 'queued'", DENIED},
	{"asb_web",
		"INSERT INTO jobs (account_id, kind, lane, epoch) VALUES (1, 'turn', 'drive', 9)",
		DENIED},
	{"asb_web", "DELETE FROM jobs", DENIED},
	{"asb_web", "SELECT nextval('epoch_seq')", DENIED},
	{"asb_web", "UPDATE turns SET state = 'done'", DENIED},
	{"asb_web", "UPDATE runs SET state = 'done'", DENIED},
	{"asb_web", "UPDATE questions SET answer = 'x', answered_by = 'y'", MAY},
	{"asb_web", "UPDATE questions SET text = 'x'", DENIED},
	{"asb_web",
		"INSERT INTO trace (account_id, run_id, seq, turn, kind, text) VALUES "
		"(1,1,1,1,'say','x')",
		DENIED},
	{"asb_web", "DELETE FROM log_chunk", DENIED},
	{"asb_web", "INSERT INTO feed (id, account_id, kind) VALUES (1, 1, 'run')", DENIED},
	{"asb_web", "SELECT emit(1, 1, 1, 'run', '{}')", DENIED},
	{"asb_web", "SELECT partitions_ensure()", DENIED},
	{"asb_web", "UPDATE boxes SET next_stream = next_stream + 1", MAY},
	{"asb_web", "UPDATE boxes SET host = 'h'", DENIED},
	{"asb_web", "UPDATE boxes SET used_at = now()", MAY},
	{"asb_web", "UPDATE boxes SET egress = 'packages'", DENIED},
	{"asb_web", "UPDATE boxes SET installed = '[]'", DENIED},
	{"asb_web", "UPDATE boxes SET seal = '{}'", DENIED},
	{"asb_web", "SELECT sandbox_json(id) FROM boxes", MAY},
	{"asb_web", "UPDATE execs SET code = 'x'", DENIED},
	{"asb_web", "SELECT look_json(id) FROM looks", MAY},
	{"asb_web", "UPDATE looks SET result = '{}'", DENIED},
	{"asb_web", "DELETE FROM looks", DENIED},
	{"asb_live", "SELECT look_json(id) FROM looks", MAY},
	{"asb_live", "UPDATE looks SET result = '{}'", DENIED},
	{"asb_worker", "UPDATE looks SET result = '{}' WHERE state = 'done'", MAY},
	{"asb_worker",
		"INSERT INTO looks (account_id, name, box_id, op, request) VALUES (1, 'l', 1, "
		"'list', '{}')",
		DENIED},
	{"asb_gate", "SELECT id FROM looks", DENIED},
	{"asb_web",
		"INSERT INTO audit (caller, address, method, path, status, ms, action, request_id)"
		" VALUES ('none', '127.0.0.1', 'POST', '/x', 401, 1, 'x', 'rq')",
		MAY},
	{"asb_web", "UPDATE audit SET caller = 'x'", DENIED},
	{"asb_web", "DELETE FROM audit", DENIED},
	{"asb_web", "SELECT account_id, user_id FROM operator_account()", MAY},
	{"asb_web", "SELECT session_id FROM session_lookup('\\x00')", MAY},
	{"asb_web", "SELECT id FROM users", DENIED},
	{"asb_web", "CREATE TABLE mine (n int)", DENIED},
	{"asb_web",
		"CREATE FUNCTION account_now() RETURNS bigint LANGUAGE sql AS 'SELECT 2::bigint'",
		DENIED},
	{"asb_web", "ALTER TABLE runs DISABLE ROW LEVEL SECURITY", DENIED},
	{"asb_web", "SET ROLE asb_owner", DENIED},
	{"asb_web", "SET ROLE asb_worker", DENIED},
	/* keys and connected clients: hashes are for functions to look up */
	{"asb_web", "SELECT id FROM key_use('\\x00', 'a', 'c')", MAY},
	{"asb_web", "SELECT id FROM token_use('\\x00', 'r', 'a', 'c')", MAY},
	{"asb_web", "UPDATE api_keys SET revoked_at = now()", MAY},
	{"asb_web", "UPDATE api_keys SET scopes = 'admin'", DENIED},
	{"asb_web", "UPDATE api_keys SET key_sha256 = 'x'", DENIED},
	{"asb_web", "DELETE FROM api_keys", DENIED},
	{"asb_web", "UPDATE oauth_grants SET scopes = 'admin'", DENIED},
	{"asb_web", "SELECT token_sha256 FROM oauth_tokens", DENIED},
	{"asb_web", "UPDATE oauth_tokens SET expires_at = now()", DENIED},
	{"asb_web", "SELECT challenge FROM oauth_codes", DENIED},
	{"asb_live", "SELECT id FROM key_use('\\x00', 'a', 'c')", MAY},
	{"asb_live", "SELECT key_sha256 FROM api_keys", DENIED},
	{"asb_live", "SELECT token_sha256 FROM oauth_tokens", DENIED},
	{"asb_live", "SELECT * FROM code_take('\\x00')", DENIED},
	{"asb_live", "SELECT * FROM refresh_take('\\x00', 'c')", DENIED},
	{"asb_worker", "SELECT id FROM key_use('\\x00', 'a', 'c')", DENIED},
	{"asb_worker", "SELECT key_sha256 FROM api_keys", DENIED},
	{"asb_worker", "DELETE FROM oauth_tokens WHERE expires_at < now() - interval '1 d'", MAY},
	{"asb_worker", "DELETE FROM oauth_codes WHERE expires_at < now() - interval '1 d'", MAY},
	{"asb_worker",
		"DELETE FROM oauth_clients c WHERE c.created_at < now() AND NOT EXISTS (SELECT "
		"FROM "
		"oauth_grants g WHERE g.client_id = c.client_id AND g.revoked_at IS NULL)",
		MAY},
	{"asb_worker", "SELECT token_sha256 FROM oauth_tokens", DENIED},
	{"asb_gate", "SELECT id FROM key_use('\\x00', 'a', 'c')", DENIED},
	{"asb_gate", "SELECT id FROM api_keys", DENIED},
	/* receipts are the gate's to sign, and hashes are all it sees of a log */
	{"asb_web", "SELECT receipt_json(id) FROM receipts", MAY},
	{"asb_web",
		"INSERT INTO receipts (account_id, name, exec_id, key, body, signature) VALUES (1, "
		"'r', 1, 'k', '{}', '\\x00')",
		DENIED},
	{"asb_web", "INSERT INTO receipt_keys (key) VALUES ('k')", DENIED},
	{"asb_web", "SELECT receipt_body('r', 'k', 1, NULL)", DENIED},
	{"asb_worker",
		"INSERT INTO receipts (account_id, name, exec_id, key, body, signature) VALUES (1, "
		"'r', 1, 'k', '{}', '\\x00')",
		DENIED},
	{"asb_worker", "INSERT INTO receipt_keys (key) VALUES ('k')", DENIED},
	{"asb_worker", "SELECT receipt_body('r', 'k', 1, NULL)", DENIED},
	{"asb_gate", "SELECT receipt_body('r', 'k', 1, NULL)", MAY},
	{"asb_gate", "SELECT * FROM receipts_due(0, 0)", MAY},
	{"asb_gate", "SELECT body FROM log_chunk", DENIED},
	{"asb_gate", "UPDATE receipts SET body = '{}'", DENIED},
	{"asb_gate", "DELETE FROM receipts", DENIED},
	/* live reads */
	{"asb_live", "SELECT run_json(id), r.task FROM runs r", MAY},
	{"asb_live", "SELECT seq FROM log_chunk", MAY},
	{"asb_live", "SELECT sandbox_json(b.id), evidence_json(1) FROM boxes b", MAY},
	{"asb_live", "UPDATE boxes SET used_at = now()", DENIED},
	{"asb_live", "SELECT session_id FROM session_lookup('\\x00')", MAY},
	{"asb_live", "SELECT token_sha256 FROM sessions", DENIED},
	{"asb_live", "UPDATE runs SET title = 'x'", DENIED},
	{"asb_live", "INSERT INTO jobs (account_id, kind, lane) VALUES (1, 'turn', 'drive')",
		DENIED},
	{"asb_live", "DELETE FROM trace", DENIED},
	{"asb_live",
		"INSERT INTO audit (caller, address, method, path, status, ms, action, request_id)"
		" VALUES ('none', '127.0.0.1', 'POST', '/x', 401, 1, 'x', 'rq')",
		DENIED},
	/* the worker makes it true */
	{"asb_worker", "UPDATE jobs SET lease_until = now()", MAY},
	{"asb_worker", "SELECT nextval('epoch_seq')", MAY},
	{"asb_worker", "SELECT 1 FROM jobs FOR SHARE", MAY},
	{"asb_worker", "SELECT partitions_ensure()", MAY},
	{"asb_worker", "SELECT token_sha256 FROM sessions",
		MAY}, /* deletes old ones, so must see them */
	{"asb_worker", "UPDATE sessions SET account_id = 1", DENIED},
	{"asb_worker",
		"INSERT INTO sessions (account_id, user_id, token_sha256, expires_at)"
		" VALUES (1, 1, '\\x01', now())",
		DENIED},
	{"asb_worker", "UPDATE accounts SET name = 'x'", DENIED},
	{"asb_worker", "SELECT caller FROM audit", DENIED},
	{"asb_worker", "UPDATE audit SET caller = 'x'", DENIED},
	{"asb_worker", "DELETE FROM audit WHERE ts < now() - interval '1 d'", MAY},
	{"asb_worker", "UPDATE trace SET text = 'x'", DENIED},
	{"asb_worker", "UPDATE log_chunk SET body = ''", DENIED},
	{"asb_worker", "UPDATE runs SET task = 'x'", DENIED},
	{"asb_worker", "ALTER TABLE jobs ADD x int", DENIED},
	/* the gate knows whose box it is and writes what it decided */
	{"asb_gate", "SELECT id, account_id, name, egress FROM boxes", MAY},
	{"asb_gate", "SELECT packages FROM boxes", DENIED},
	{"asb_gate", "UPDATE boxes SET egress = 'packages'", DENIED},
	{"asb_gate", "SELECT repos FROM runs", MAY},
	{"asb_gate", "SELECT task FROM runs", DENIED},
	{"asb_gate", "SELECT message FROM turns", DENIED},
	{"asb_gate",
		"INSERT INTO egress (account_id, box_id, route, target, allowed, reason)"
		" SELECT account_id, id, 'git', 'h/x', false, 'policy' FROM boxes",
		MAY},
	{"asb_gate", "UPDATE egress SET allowed = true", DENIED},
	{"asb_gate", "UPDATE boxes SET state = 'gone'", DENIED},
	{"asb_gate", "SELECT id FROM jobs", DENIED},
	{"asb_gate", "SELECT id FROM sessions", DENIED},
	/* backup reads everything and writes nothing */
	{"asb_backup", "SELECT token_sha256 FROM sessions", MAY},
	{"asb_backup", "SELECT id FROM runs", MAY},
	{"asb_backup", "UPDATE runs SET title = 'x'", DENIED},
};

static void test_each_attempt(void **state)
{
	char code[6];
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *a = &attempts[i];

		(void)testdb_try(a->role, 1, a->sql, code);
		if (strcmp(code, a->state) != 0) {
			print_error("%s: %s: %s, not %s\n", a->role, a->sql, code, a->state);
			bad++;
		}
	}
	assert_int_equal(bad, 0);
}

static void test_no_role_is_more_than_it_says(void **state)
{
	(void)state;
	assert_int_equal(testdb_i64("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'asb\\_%%' "
				    "AND rolname <> "
				    "'asb_super' AND (rolsuper OR rolcreatedb OR rolcreaterole OR "
				    "rolreplication)"),
		0);
	assert_string_equal(testdb_text("SELECT string_agg(rolname, ' ') FROM pg_roles WHERE "
					"rolbypassrls AND NOT rolsuper"),
		"asb_backup");
	/* every function of the owner's that runs as the owner has its search_path pinned */
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM pg_proc WHERE prosecdef AND pronamespace = "
			   "'public'::regnamespace AND NOT coalesce(proconfig::text LIKE "
			   "'%%search_path=public, pg_temp%%', false)"),
		0);
	assert_true(testdb_i64("SELECT count(*) FROM pg_proc WHERE prosecdef AND pronamespace = "
			       "'public'::regnamespace") >= 6);
	/* and nobody else's schema or function may be PUBLIC's to run */
	assert_int_equal(testdb_i64("SELECT count(*) FROM pg_proc p, aclexplode(coalesce(p.proacl, "
				    "acldefault('f', p.proowner))) a WHERE p.pronamespace = "
				    "'public'::regnamespace "
				    "AND a.grantee = 0"),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_attempt),
		cmocka_unit_test(test_no_role_is_more_than_it_says),
	};

	testdb_exec("INSERT INTO boxes (account_id, name, image, class, memory_bytes, cpus, "
		    "disk_bytes, deadline_at,"
		    " expires_at) VALUES (1, 'box-1', 'base', 's', 1, 1, 1, now(), now())");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
