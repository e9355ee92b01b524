/*
 * Idempotency-Key through the router: the same request gets the first answer, another is refused,
 * failures leave no key, fifty at once make one run, and uploads take part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

static struct answer ask(
	struct pool *pool, const char *path, const char *key, const char *type, const char *body)
{
	const char *const headers[] = {
		HOST, BEARER, type, pool_printf(pool, "Idempotency-Key: %s", key), NULL};

	return testweb_ask(pool, "POST", path, headers, body, strlen(body));
}

static int64_t runs(void)
{
	return testdb_i64("SELECT count(*) FROM runs");
}

static void test_same_request(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a = ask(pool, "/delegate.json", "k1", JSON, "{\"task\":\"x\"}"), b;
	int64_t n = runs();

	(void)state;
	assert_int_equal(a.status, 202);
	b = ask(pool, "/delegate.json", "k1", JSON, "{\"task\":\"x\"}");
	assert_int_equal(b.status, 202);
	assert_string_equal(b.body, a.body);
	assert_non_null(strstr(b.head, "Idempotent-Replayed: true"));
	assert_null(strstr(a.head, "Idempotent-Replayed"));
	assert_int_equal(runs(), n);
}

static void test_other_request(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;
	int64_t n;

	(void)state;
	assert_int_equal(ask(pool, "/delegate.json", "k2", JSON, "{\"task\":\"x\"}").status, 202);
	n = runs();
	a = ask(pool, "/delegate.json", "k2", JSON, "{\"task\":\"y\"}");
	assert_int_equal(a.status, 422);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "idempotency");
	a = ask(pool, "/teardown.json", "k2", JSON, "{\"task\":\"x\"}");
	assert_int_equal(a.status, 422);
	assert_int_equal(ask(pool, "/delegate.json", "k 2", JSON, "{\"task\":\"x\"}").status, 422);
	assert_int_equal(runs(), n);
	assert_int_equal(ask(pool, "/delegate.json", "k3", JSON, "{\"task\":\"y\"}").status, 202);
	assert_int_equal(runs(), n + 1);
}

static void test_failure_keeps_no_key(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	assert_int_equal(ask(pool, "/delegate.json", "k4", JSON, "{\"task\":\"\"}").status, 422);
	assert_int_equal(
		ask(pool, "/teardown.json", "k4", JSON, "{\"session\":\"run-x\"}").status, 404);
	assert_int_equal(testdb_i64("SELECT count(*) FROM idempotency WHERE key = 'k4'"), 0);
	assert_int_equal(ask(pool, "/delegate.json", "k4", JSON, "{\"task\":\"x\"}").status, 202);
}

static void test_wait_is_waited_again(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a = ask(pool, "/delegate.json", "k5", JSON, "{\"task\":\"x\",\"wait_ms\":5}"),
		      b;

	(void)state;
	b = ask(pool, "/delegate.json", "k5", JSON, "{\"task\":\"x\",\"wait_ms\":5}");
	assert_non_null(a.internal);
	assert_string_equal(b.internal, a.internal);
}

static void test_upload(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *tar = "Content-Type: application/x-tar";
	struct answer a = ask(pool, "/upload", "k6", tar, "bytes"), b;

	(void)state;
	assert_int_equal(a.status, 201);
	b = ask(pool, "/upload", "k6", tar, "bytes");
	assert_int_equal(b.status, 201);
	assert_string_equal(a.body, b.body);
	assert_int_equal(ask(pool, "/upload", "k6", tar, "other").status, 422);
	assert_int_equal(ask(pool, "/upload", "k7", tar, "bytes").status, 201);
}

/* Keys belong to an account: another's does not get in the way, and its answer is not shown. */
static void test_scope(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	testdb_exec(
		"INSERT INTO idempotency (account_id, key, route, body_sha256, status, response)"
		" VALUES (999, 'k8', 'POST /delegate.json', sha256('x'), 202, 'secret')");
	assert_int_equal(ask(pool, "/delegate.json", "k8", JSON, "{\"task\":\"x\"}").status, 202);
}

static void test_fifty_at_once(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	int64_t n = runs();
	pid_t pids[50];
	int status;

	(void)state;
	testweb_done();
	for (size_t i = 0; i < 50; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i])
			_exit(ask(pool, "/delegate.json", "k9", JSON, "{\"task\":\"once\"}")
							.status == 202
					? 0
					: 1);
	}
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(runs(), n + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_request),
		cmocka_unit_test(test_other_request),
		cmocka_unit_test(test_failure_keeps_no_key),
		cmocka_unit_test(test_wait_is_waited_again),
		cmocka_unit_test(test_upload),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_fifty_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
