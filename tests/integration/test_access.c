/*
 * Who may ask, and how: hosts, tokens, the throttle, and for every action that changes something
 * all combinations of Sec-Fetch-Site, Origin, CSRF token and content type, generated from the table
 * of actions. A legal cell gets past the doors to the action's own check; an illegal one does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "action.h"
#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OWN "Origin: http://127.0.0.1:8380"

static int fresh(void **state)
{
	(void)state;
	testdb_exec("TRUNCATE throttle");
	return 0;
}

enum token { TOKEN_NONE, TOKEN_WRONG, TOKEN_RIGHT };

struct cell {
	const char *site, *origin; /* NULL: not sent */
	enum token token;
	const char *type;
};

static bool is_legal(const struct cell *c, const struct action *a)
{
	bool same = c->site ? !strcmp(c->site, "Sec-Fetch-Site: same-origin") : c->origin != NULL;
	bool own = !c->origin || !strcmp(c->origin, OWN);
	const char *type = c->type ? strchr(c->type, ' ') + 1 : "";

	/* signing in has no session yet, so no token and, outside browsers, no origin */
	if (a->needs == NEEDS_NOBODY)
		return (!c->site || same) && own && !strcmp(type, a->type);
	return same && own && c->token == TOKEN_RIGHT && !strcmp(type, a->type);
}

static void try_cell(
	const struct action *a, const struct cell *c, const char *cookie, const char *csrf)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *headers[8];
	struct answer got;
	size_t n = 0;

	headers[n++] = HOST;
	headers[n++] = cookie;
	if (c->site)
		headers[n++] = c->site;
	if (c->origin)
		headers[n++] = c->origin;
	if (c->token == TOKEN_RIGHT)
		headers[n++] = csrf;
	if (c->token == TOKEN_WRONG)
		headers[n++] = "X-CSRF-Token: "
			       "0123456789012345678901234567890123456789012345678901234567890123";
	if (c->type)
		headers[n++] = c->type;
	headers[n] = NULL;
	/* a field that no action has: what gets past the doors is refused with 422 and changes
	 * nothing */
	got = a->streams ? testweb_ask(pool, a->method, pool_printf(pool, "%s?no_such=1", a->path),
				   headers, "x", 1)
			 : testweb_ask(pool, a->method, a->path, headers, "{\"no_such\":1}", 13);
	if (is_legal(c, a) ? got.status != 422 : got.status != 403 && got.status != 400)
		fail_msg("%s: %s, %s, token %d, %s: %d %s", a->name, c->site ? c->site : "-",
			c->origin ? c->origin : "-", c->token, c->type ? c->type : "-", got.status,
			got.body);
}

static void test_csrf_matrix(void **state)
{
	static const char *const sites[] = {NULL, "Sec-Fetch-Site: same-origin",
		"Sec-Fetch-Site: same-site", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none"};
	static const char *const origins[] = {NULL, OWN, "Origin: http://evil.example",
		"Origin: null", "Origin: http://127.0.0.1:9999"};
	static const char *const types[] = {NULL, JSON, "Content-Type: application/x-tar",
		"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded"};
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie, *csrf;
	int actions_seen = 0;

	(void)state;
	testweb_sign_in(pool, &cookie, &csrf);
	for (size_t i = 0; actions[i]; i++) {
		int cells = 0, legal = 0;

		if (!actions[i]->mutates) {
			assert_string_equal(actions[i]->method, "GET");
			continue;
		}
		assert_string_equal(actions[i]->method, "POST");
		for (size_t s = 0; s < COUNT(sites); s++)
			for (size_t o = 0; o < COUNT(origins); o++)
				for (int t = TOKEN_NONE; t <= TOKEN_RIGHT; t++)
					for (size_t y = 0; y < COUNT(types); y++) {
						struct cell c = {sites[s], origins[o],
							(enum token)t, types[y]};

						try_cell(actions[i], &c, cookie, csrf);
						legal += is_legal(&c, actions[i]);
						cells++;
					}
		assert_int_equal(cells, 375);
		assert_in_range(legal, 3, 15);
		actions_seen++;
	}
	assert_int_equal(actions_seen, 17);
	assert_int_equal(testdb_i64("SELECT count(*) FROM runs"), 0);
	assert_int_equal(testdb_i64("SELECT count(*) FROM boxes"), 0);
}

/* One session's CSRF token does not do for another's. */
static void test_csrf_token_is_the_sessions(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie1, *csrf1, *cookie2, *csrf2;
	struct answer a;

	(void)state;
	testweb_sign_in(pool, &cookie1, &csrf1);
	testweb_sign_in(pool, &cookie2, &csrf2);
	a = testweb_ask(pool, "POST", "/teardown.json",
		(const char *const[]){HOST, OWN, JSON, cookie1, csrf2, NULL},
		"{\"session\":\"run-x\"}", 19);
	assert_int_equal(a.status, 403);
	a = testweb_ask(pool, "POST", "/teardown.json",
		(const char *const[]){HOST, OWN, JSON, cookie1, csrf1, NULL},
		"{\"session\":\"run-x\"}", 19);
	assert_int_equal(a.status, 404);
}

static void test_hosts(void **state)
{
	static const struct {
		const char *host;
		int status;
	} cases[] = {
		{"Host: 127.0.0.1:8380", 200},
		{"Host: 127.0.0.1", 200},
		{"Host: localhost:8380", 200},
		{"Host: [::1]:8380", 200},
		{"Host: LOCALHOST", 200},
		{"Host: evil.example", 403},
		{"Host: 127.0.0.1:9999", 403},
		{"Host: 127.0.0.1.evil.example", 403},
		{"Host: 127.0.0.1:8380.evil.example", 403},
		{"Host: localhost.evil.example:8380", 403},
		{"Host: ", 403},
	};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t k = 0; actions[k]; k++) {
			struct answer a = testweb_ask(pool, "GET", "/healthz",
				(const char *const[]){cases[i].host, NULL}, NULL, 0);

			if (a.status != cases[i].status)
				fail_msg("%s: %d", cases[i].host, a.status);
			if (cases[i].status == 403) {
				a = testweb_ask(pool, actions[k]->method, actions[k]->path,
					(const char *const[]){cases[i].host, BEARER, JSON, NULL},
					"{}", 2);
				assert_int_equal(a.status, 403);
			}
		}
}

static void test_who(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie, *csrf;
	struct answer a;

	(void)state;
	testweb_sign_in(pool, &cookie, &csrf);
	a = testweb_ask(pool, "GET", "/fleet.json", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	assert_non_null(strstr(a.head, "WWW-Authenticate: Bearer"));
	a = testweb_ask(
		pool, "GET", "/fleet.json", (const char *const[]){HOST, cookie, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.head, csrf));
	a = testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, cookie, BEARER, NULL}, NULL, 0);
	assert_int_equal(a.status, 403);
	a = testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, "Cookie: asb_dev=wrongwrongwrong", NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	a = testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, "Cookie: other=1", BEARER, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	a = testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, BEARER, "Origin: http://evil.example", NULL}, NULL, 0);
	assert_int_equal(a.status, 403);
	a = testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, "Authorization: Basic eDp5", NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
}

static void test_sessions_end(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie, *csrf, *other, *other_csrf;
	struct answer a;

	(void)state;
	testweb_sign_in(pool, &cookie, &csrf);
	testweb_sign_in(pool, &other, &other_csrf);
	a = testweb_ask(pool, "POST", "/logout.json",
		(const char *const[]){HOST, OWN, JSON, cookie, csrf, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.head, "Clear-Site-Data"));
	a = testweb_ask(
		pool, "GET", "/fleet.json", (const char *const[]){HOST, cookie, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	a = testweb_ask(
		pool, "GET", "/fleet.json", (const char *const[]){HOST, other, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	testdb_exec("UPDATE sessions SET seen_at = now() - interval '8 days'");
	a = testweb_ask(
		pool, "GET", "/fleet.json", (const char *const[]){HOST, other, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	testdb_exec(
		"UPDATE sessions SET seen_at = now(), expires_at = now() - interval '1 second'");
	a = testweb_ask(
		pool, "GET", "/fleet.json", (const char *const[]){HOST, other, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	assert_int_equal(
		testdb_i64(
			"SELECT count(*) FROM sessions WHERE encode(token_sha256, 'hex') ~ 'asb'"),
		0);
}

static void test_cookie_of_https(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *body = "{\"token\":\"" TESTWEB_TOKEN "\"}";
	struct answer a;

	(void)state;
	a = testweb_ask(pool, "POST", "/login.json", (const char *const[]){HOST, JSON, NULL}, body,
		strlen(body));
	assert_non_null(strstr(a.head, "Set-Cookie: asb_dev="));
	assert_null(strstr(a.head, "; Secure"));
	testweb_config.url = "https://asb.example";
	a = testweb_ask(pool, "POST", "/login.json",
		(const char *const[]){"Host: asb.example", JSON, NULL}, body, strlen(body));
	testweb_config.url = TESTWEB_URL;
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.head, "Set-Cookie: __Host-asb="));
	assert_non_null(
		strstr(a.head, "; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000; Secure\r\n"));
	assert_non_null(strstr(a.head, "Strict-Transport-Security: "));
}

static struct answer wrong_token(struct pool *pool, const char *address)
{
	return testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, "Authorization: Bearer wrong", address, NULL}, NULL, 0);
}

static void test_throttle(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *body = "{\"token\":\"wrong\"}";
	struct answer a;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(wrong_token(pool, "REMOTE_ADDR=192.0.2.1").status, 401);
	a = wrong_token(pool, "REMOTE_ADDR=192.0.2.1");
	assert_int_equal(a.status, 429);
	assert_non_null(strstr(a.head, "Retry-After: "));
	a = testweb_ask(pool, "POST", "/login.json",
		(const char *const[]){HOST, JSON, "REMOTE_ADDR=192.0.2.1", NULL}, body,
		strlen(body));
	assert_int_equal(a.status, 429);
	/* a right token passes, and another address is not held */
	a = testweb_ask(pool, "GET", "/fleet.json",
		(const char *const[]){HOST, BEARER, "REMOTE_ADDR=192.0.2.1", NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_int_equal(wrong_token(pool, "REMOTE_ADDR=192.0.2.2").status, 401);
	testdb_exec("UPDATE throttle SET since = since - interval '11 minutes'");
	assert_int_equal(wrong_token(pool, "REMOTE_ADDR=192.0.2.1").status, 401);
}

static void test_throttle_of_a_network(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			wrong_token(pool, pool_printf(pool, "REMOTE_ADDR=2001:db8::%d", i + 1))
				.status,
			401);
	assert_int_equal(wrong_token(pool, "REMOTE_ADDR=2001:db8::ffff").status, 429);
	assert_int_equal(wrong_token(pool, "REMOTE_ADDR=2001:db8:0:1::1").status, 401);
}

static void test_login_counts(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *body = "{\"token\":\"wrong\"}";
	const char *const headers[] = {HOST, JSON, "REMOTE_ADDR=192.0.2.9", NULL};

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			testweb_ask(pool, "POST", "/login.json", headers, body, strlen(body))
				.status,
			401);
	assert_int_equal(
		testweb_ask(pool, "POST", "/login.json", headers, body, strlen(body)).status, 429);
}

static struct answer by_code(struct pool *pool, const char *code, const char *address)
{
	const char *body = pool_printf(pool, "{\"code\":\"%s\"}", code);

	return testweb_ask(pool, "POST", "/login.json",
		(const char *const[]){HOST, JSON, address, NULL}, body, strlen(body));
}

static void test_signin_codes(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *code, *cookie, *csrf, *set;
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "POST", "/signin_code.json", "{}");
	assert_int_equal(a.status, 201);
	code = testweb_get(pool, &a, "code");
	assert_int_equal(strlen(code), 26);
	assert_string_equal(testweb_get(pool, &a, "url"),
		pool_printf(pool, TESTWEB_URL "/dashboard/signin#code=%s", code));
	assert_true(testdb_i64("SELECT (expires_at BETWEEN now() + interval '9 minutes' AND now() +"
			       " interval '10 minutes')::int FROM signin_codes") == 1);
	/* nowhere at rest */
	assert_int_equal(testdb_i64("SELECT count(*) FROM signin_codes WHERE code_sha256 = "
				    "sha256('%s')",
				 code),
		1);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit WHERE audit::text ~ '%s'", code), 0);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit WHERE action = 'signin_code' AND status = "
			   "201 AND caller = 'operator'"),
		1);
	a = by_code(pool, code, "REMOTE_ADDR=192.0.2.20");
	assert_int_equal(a.status, 200);
	set = strstr(a.head, "Set-Cookie: ") + strlen("Set-Cookie: ");
	cookie = pool_printf(pool, "Cookie: %.*s", (int)strcspn(set, ";"), set);
	csrf = pool_printf(pool, "X-CSRF-Token: %s", testweb_get(pool, &a, "csrf"));
	a = testweb_ask(
		pool, "GET", "/session.json", (const char *const[]){HOST, cookie, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit WHERE action = 'login' AND status = "
			   "200 AND subject = 'code'"),
		1);
	/* once */
	a = by_code(pool, code, "REMOTE_ADDR=192.0.2.20");
	assert_int_equal(a.status, 401);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "code");
	/* a session makes none, and none is kept for a key */
	a = testweb_ask(pool, "POST", "/signin_code.json",
		(const char *const[]){HOST, OWN, JSON, cookie, csrf, NULL}, "{}", 2);
	assert_int_equal(a.status, 403);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "operator_only");
	a = testweb_ask(pool, "POST", "/signin_code.json",
		(const char *const[]){HOST, BEARER, JSON, "Idempotency-Key: k1", NULL}, "{}", 2);
	assert_int_equal(a.status, 422);
	assert_int_equal(testdb_i64("SELECT count(*) FROM signin_codes"), 0);
}

static void test_signin_codes_end(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;
	const char *code;

	(void)state;
	a = testweb_operator(pool, "POST", "/signin_code.json", "{}");
	code = testweb_get(pool, &a, "code");
	testdb_exec("UPDATE signin_codes SET expires_at = now()");
	assert_int_equal(by_code(pool, code, "REMOTE_ADDR=192.0.2.21").status, 401);
	/* the next one sweeps it */
	a = testweb_operator(pool, "POST", "/signin_code.json", "{}");
	assert_int_equal(testdb_i64("SELECT count(*) FROM signin_codes"), 1);
	for (int i = 0; i < 19; i++)
		assert_int_equal(by_code(pool, "wrong", "REMOTE_ADDR=192.0.2.21").status, 401);
	assert_int_equal(by_code(pool, "wrong", "REMOTE_ADDR=192.0.2.21").status, 429);
	/* a right one passes all the same */
	assert_int_equal(
		by_code(pool, testweb_get(pool, &a, "code"), "REMOTE_ADDR=192.0.2.21").status, 200);
	a = testweb_ask(pool, "POST", "/login.json", (const char *const[]){HOST, JSON, NULL},
		"{\"code\":\"x\",\"token\":\"y\"}", 24);
	assert_int_equal(a.status, 422);
	a = testweb_ask(
		pool, "POST", "/login.json", (const char *const[]){HOST, JSON, NULL}, "{}", 2);
	assert_int_equal(a.status, 422);
}

static void test_metrics_are_local(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	a = testweb_ask(pool, "GET", "/metrics", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.body, "# TYPE asb_runs gauge\n"));
	assert_non_null(strstr(a.body, "asb_feed "));
	a = testweb_ask(pool, "GET", "/metrics",
		(const char *const[]){HOST, "REMOTE_ADDR=192.0.2.1", NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	a = testweb_ask(pool, "GET", "/metrics",
		(const char *const[]){HOST, "X-Forwarded-For: 1.2.3.4", NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	a = testweb_ask(pool, "GET", "/metrics",
		(const char *const[]){HOST, BEARER, "REMOTE_ADDR=192.0.2.1", NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_csrf_matrix, fresh),
		cmocka_unit_test_setup(test_csrf_token_is_the_sessions, fresh),
		cmocka_unit_test_setup(test_hosts, fresh),
		cmocka_unit_test_setup(test_who, fresh),
		cmocka_unit_test_setup(test_sessions_end, fresh),
		cmocka_unit_test_setup(test_cookie_of_https, fresh),
		cmocka_unit_test_setup(test_throttle, fresh),
		cmocka_unit_test_setup(test_throttle_of_a_network, fresh),
		cmocka_unit_test_setup(test_login_counts, fresh),
		cmocka_unit_test_setup(test_signin_codes, fresh),
		cmocka_unit_test_setup(test_signin_codes_end, fresh),
		cmocka_unit_test_setup(test_metrics_are_local, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
