/*
 * Secrets from the page to the model: entered at the doors, sealed in their row, opened by the real
 * asb-gate for the calls of that account's boxes alone, replaced, removed. The model's endpoint
 * knows one key and says which came; the site's own is another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "gatesite.h"
#include "pool.h"
#include "secret.h"
#include "testdb.h"
#include "testweb.h"

#define OWN "sk-ant-the-key-of-this-account"
#define WRONG "sk-ant-a-key-that-is-no-good"
#define SITE "sk-ant-the-key-of-this-site"
#define SEED "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

static struct pool *pool;
static const char *dir;
static pid_t endpoint;
static uint32_t next_stream;

static int setup(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	pool = pool_new();
	dir = gatesite_dir(pool);
	gatesite_start_logged(pool, dir,
		(const char *const[]){pool_printf(pool, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d/",
					      gatesite_model(pool, dir, OWN, &endpoint)),
			"ANTHROPIC_API_KEY=" SITE, "ASB_SEAL_KEY=" SEED, "ASB_LOG_LEVEL=debug",
			NULL});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)kill(endpoint, SIGKILL);
	(void)waitpid(endpoint, NULL, 0);
	gatesite_stop(dir);
	testweb_done();
	pool_free(pool);
	return 0;
}

static int none(void **state)
{
	(void)state;
	testdb_exec("DELETE FROM secrets");
	/* the gate tells its key when it has a database */
	for (int i = 0; i < 400 && !testdb_i64("SELECT count(*) FROM seal_keys"); i++)
		(void)poll(NULL, 0, 50);
	return 0;
}

static struct answer set(const char *value)
{
	return testweb_operator(pool, "POST", "/secret_set.json",
		pool_printf(pool, "{\"name\":\"anthropic_api_key\",\"value\":\"%s\"}", value));
}

static struct answer delegate(void)
{
	return testweb_operator(pool, "POST", "/delegate.json",
		"{\"task\":\"x\",\"agent\":\"claude\",\"image\":\"base\"}");
}

/* What the box gets for a call of the model. */
static const char *model_call(void)
{
	static const char body[] = "{\"model\":\"claude-x\",\"messages\":[{\"role\":\"user\","
				   "\"content\":\"hello\"}]}";
	struct gate_peer p;
	const char *answer;

	gate_peer_open(&p, dir, GATE_UID);
	answer = gate_peer_ask(&p, pool, GATE_STREAM(++next_stream),
		pool_printf(pool,
			"POST /model/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
			"application/json\r\nContent-Length: %zu\r\n\r\n%s",
			strlen(body), body),
		NULL);
	gate_peer_close(&p);
	return answer;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void test_entered_listed_removed(void **state)
{
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "GET", "/secrets.json", NULL);
	assert_string_equal(testweb_get(pool, &a, "secrets.0.name"), "anthropic_api_key");
	assert_string_equal(testweb_get(pool, &a, "secrets.0.set"), "false");
	assert_string_equal(testweb_get(pool, &a, "secrets.0.site"), "false");
	assert_string_equal(testweb_get(pool, &a, "secrets.0.updated_at"), "");
	/* an agent without its key: no box is made, and the answer says where it is entered */
	a = delegate();
	assert_int_equal(a.status, 409);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "secret_unset");
	assert_string_equal(testweb_get(pool, &a, "error.context.secret"), "anthropic_api_key");
	assert_string_equal(
		testweb_get(pool, &a, "error.context.url"), TESTWEB_URL "/dashboard/keys");
	assert_non_null(strstr(testweb_get(pool, &a, "error.fix"), "/dashboard/keys"));
	a = testweb_operator(pool, "GET", "/site.json", NULL);
	assert_non_null(strstr(a.body, "No key for its model is set"));
	a = set(OWN);
	assert_int_equal(a.status, 200);
	assert_null(strstr(a.body, "sk-ant"));
	a = testweb_operator(pool, "GET", "/secrets.json", NULL);
	assert_string_equal(testweb_get(pool, &a, "secrets.0.set"), "true");
	assert_int_equal(strlen(testweb_get(pool, &a, "secrets.0.updated_at")), 24);
	assert_string_equal(testweb_get(pool, &a, "secrets.0.last_used_at"), "");
	assert_null(strstr(a.body, "sk-ant"));
	assert_int_equal(delegate().status, 202);
	a = testweb_operator(pool, "GET", "/site.json", NULL);
	assert_null(strstr(a.body, "No key for its model is set"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(testweb_operator(pool, "POST", "/secret_delete.json",
					 "{\"name\":\"anthropic_api_key\"}")
					 .status,
			200);
	assert_int_equal(delegate().status, 409);
	/* what has happened is told, not what was said */
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit WHERE action LIKE 'secret\\_%%' AND "
			   "subject = 'anthropic_api_key' AND status = 200"),
		3);
}

static void test_what_is_none(void **state)
{
	static const char *const bad[] = {"", " ", "two words", "a\\nb", "caf\\u00e9"};
	const char *const keyed[] = {HOST, BEARER, JSON, "Idempotency-Key: k", NULL};
	const char *body = "{\"name\":\"anthropic_api_key\",\"value\":\"" OWN "\"}";
	char longer[SECRET_VALUE_MAX + 2];
	struct answer a;

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		a = set(bad[i]);
		if (a.status != 422 || strstr(a.body, "two words"))
			fail_msg("%s: %d %s", bad[i], a.status, a.body);
	}
	a = set(longer);
	assert_int_equal(a.status, 422);
	assert_null(strstr(a.body, "xxxx"));
	a = testweb_operator(
		pool, "POST", "/secret_set.json", "{\"name\":\"other\",\"value\":\"" OWN "\"}");
	assert_int_equal(a.status, 422);
	assert_null(strstr(a.body, OWN));
	a = testweb_ask(pool, "POST", "/secret_set.json", keyed, body, strlen(body));
	assert_int_equal(a.status, 422);
	assert_int_equal(testdb_i64("SELECT count(*) FROM secrets"), 0);
	/* before the gate has told its key there is nothing to seal to */
	testdb_exec("ALTER TABLE seal_keys RENAME TO seal_keys_away");
	testdb_exec("CREATE TABLE seal_keys (LIKE seal_keys_away)");
	testdb_exec("GRANT SELECT ON seal_keys TO asb_web");
	testweb_done();
	a = set(OWN);
	assert_int_equal(a.status, 503);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "seal_key");
	testdb_exec("DROP TABLE seal_keys");
	testdb_exec("ALTER TABLE seal_keys_away RENAME TO seal_keys");
	testweb_done();
	assert_int_equal(set(OWN).status, 200);
}

static void test_at_rest(void **state)
{
	struct db *web = testdb_open("asb_web"), *live = testdb_open("asb_live"),
		  *worker = testdb_open("asb_worker");
	struct err err;

	(void)state;
	assert_int_equal(set(OWN).status, 200);
	/* nowhere in clear, and for nobody but the gate even sealed */
	assert_int_equal(testdb_i64("SELECT position('sk-ant'::bytea IN sealed) FROM secrets"), 0);
	assert_int_equal(
		testdb_i64("SELECT (SELECT count(*) FROM audit a WHERE a::text ~ 'sk-ant') + "
			   "(SELECT count(*) FROM idempotency i WHERE i::text ~ 'sk-ant')"),
		0);
	assert_true(db_exec(web, "SET app.account_id = '1'", &err));
	assert_true(db_exec(web, "SELECT name, updated_at FROM secrets", &err));
	assert_false(db_exec(web, "SELECT sealed FROM secrets", &err));
	assert_false(db_exec(web, "UPDATE secrets SET name = name WHERE sealed IS NULL", &err));
	assert_false(db_exec(web, "UPDATE secrets SET account_id = 1", &err));
	assert_false(db_exec(web, "INSERT INTO seal_keys (key) VALUES ('x')", &err));
	assert_false(db_exec(live, "SELECT name FROM secrets", &err));
	assert_false(db_exec(worker, "SELECT name FROM secrets", &err));
	db_free(web);
	db_free(live);
	db_free(worker);
}

static void test_the_gate_uses_it(void **state)
{
	struct answer a;

	(void)state;
	/* the site's own, which the endpoint does not know */
	assert_true(begins(model_call(), "HTTP/1.1 401"));
	assert_int_equal(set(OWN).status, 200);
	assert_true(begins(model_call(), "HTTP/1.1 200"));
	a = testweb_operator(pool, "GET", "/secrets.json", NULL);
	assert_int_equal(strlen(testweb_get(pool, &a, "secrets.0.last_used_at")), 24);
	/* replaced: from the next call on, and the use of the one before is not its */
	assert_int_equal(set(WRONG).status, 200);
	a = testweb_operator(pool, "GET", "/secrets.json", NULL);
	assert_string_equal(testweb_get(pool, &a, "secrets.0.last_used_at"), "");
	assert_true(begins(model_call(), "HTTP/1.1 401"));
	assert_int_equal(set(OWN).status, 200);
	assert_true(begins(model_call(), "HTTP/1.1 200"));
	testdb_exec("DELETE FROM secrets");
	assert_true(begins(model_call(), "HTTP/1.1 401"));
}

static void test_a_row_that_was_moved(void **state)
{
	CLEANUP(buf) struct buf hex = BUF_INIT(4096);
	const char *key = testdb_text("SELECT key FROM seal_keys"), *answer, *before;
	unsigned char *sealed;
	struct err err;
	size_t n;

	(void)state;
	/* what is good in the row of another account, in this one's place */
	assert_true(secret_seal(pool, key, 2, "anthropic_api_key", OWN, &sealed, &n, &err));
	for (size_t i = 0; i < n; i++)
		(void)buf_addf(&hex, "%02x", sealed[i]);
	testdb_exec("INSERT INTO secrets (account_id, name, sealed) VALUES (1, "
		    "'anthropic_api_key', '\\x%s')",
		hex.data);
	before = gatesite_file(pool, dir, "requests");
	answer = model_call();
	assert_true(begins(answer, "HTTP/1.1 403"));
	assert_non_null(strstr(answer, "X-Gate-Reason: secret_unreadable"));
	assert_null(strstr(answer, "sk-ant"));
	/* nor is the site's key taken instead: nobody was asked */
	assert_string_equal(gatesite_file(pool, dir, "requests"), before);
	assert_int_equal(set(OWN).status, 200);
	assert_true(begins(model_call(), "HTTP/1.1 200"));
}

/* A modern client's call of delegate. */
static struct answer tool(const char *capabilities, const char *more)
{
	const char *const headers[] = {HOST, BEARER, JSON, "MCP-Protocol-Version: 2026-07-28",
		"Mcp-Method: tools/call", "Mcp-Name: delegate", NULL};
	const char *body = pool_printf(pool,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"delegate\",\"arguments\":{\"task\":\"x\",\"agent\":\"claude\",\"image\":"
		"\"base\","
		"\"wait_ms\":0},\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{%s}}%s}}",
		capabilities, more);

	return testweb_ask(pool, "POST", "/mcp", headers, body, strlen(body));
}

static void test_a_client_is_sent_to_the_page(void **state)
{
	static const char by_url[] = "\"elicitation\":{\"url\":{}}";
	static const char *const others[] = {
		"", "\"elicitation\":{}", "\"elicitation\":{\"form\":{}}"};
	static const char back[] = ",\"inputResponses\":{\"secret\":{\"action\":\"accept\"}}";
	struct answer a;

	(void)state;
	a = tool(by_url, "");
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "result.resultType"), "input_required");
	assert_string_equal(
		testweb_get(pool, &a, "result.inputRequests.secret.method"), "elicitation/create");
	assert_string_equal(
		testweb_get(pool, &a, "result.inputRequests.secret.params.mode"), "url");
	assert_string_equal(testweb_get(pool, &a, "result.inputRequests.secret.params.url"),
		TESTWEB_URL "/dashboard/keys");
	assert_string_equal(
		testweb_get(pool, &a, "result.inputRequests.secret.params.requestedSchema"), "");
	/* others read the address; nobody is given a form */
	for (size_t i = 0; i < 3; i++) {
		a = tool(others[i], "");
		assert_string_equal(testweb_get(pool, &a, "result.isError"), "true");
		assert_non_null(strstr(testweb_get(pool, &a, "result.content.0.text"),
			TESTWEB_URL "/dashboard/keys"));
		assert_null(strstr(a.body, "inputRequests"));
	}
	/* back without it: told in words, and not sent again */
	a = tool(by_url, back);
	assert_string_equal(testweb_get(pool, &a, "result.isError"), "true");
	/* back with it */
	assert_int_equal(set(OWN).status, 200);
	a = tool(by_url, back);
	assert_string_equal(testweb_get(pool, &a, "result.resultType"), "complete");
	assert_string_equal(testweb_get(pool, &a, "result.isError"), "false");
	assert_non_null(strstr(testweb_get(pool, &a, "result.structuredContent.session"), "run-"));
}

static void test_it_is_nowhere(void **state)
{
	const char *log = gatesite_file(pool, dir, "log");

	(void)state;
	assert_non_null(strstr(log, "allowed=1 reason=allowed"));
	assert_null(strstr(log, "sk-ant"));
	assert_null(strstr(gatesite_file(pool, dir, "requests"), "sk-ant"));
	assert_int_equal(
		testdb_i64("SELECT (SELECT count(*) FROM egress e WHERE e::text ~ 'sk-ant') + "
			   "(SELECT count(*) FROM model_calls m WHERE m::text ~ 'sk-ant')"),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_entered_listed_removed, none),
		cmocka_unit_test_setup(test_what_is_none, none),
		cmocka_unit_test_setup(test_at_rest, none),
		cmocka_unit_test_setup(test_the_gate_uses_it, none),
		cmocka_unit_test_setup(test_a_row_that_was_moved, none),
		cmocka_unit_test_setup(test_a_client_is_sent_to_the_page, none),
		cmocka_unit_test(test_it_is_nowhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
