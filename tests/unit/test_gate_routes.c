/*
 * The gate's route table: which requests of a box map to which upstream, and which are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "config.h"
#include "gate.h"
#include "pool.h"

static const struct config cfg = {
	.git_upstreams = "git.example=http://127.0.0.1:1/base/, other.example=https://up",
	.model_upstream = "http://127.0.0.1:2/",
	.model_key = "sk-test-key",
};
static const struct config with_upstream = {
	.git_upstreams = "", .model_upstream = "http://127.0.0.1:2/", .model_key = ""};
static const struct gate_caller who = {
	.box = "box-x",
	.turn_id = 1,
	.egress = "run",
	.repos = "[{\"repo\":\"owner/name\"},{\"repo\":\"a/b\",\"host\":\"other.example\"}]",
};

struct route_case {
	const char *method, *path, *query;
	const char *url; /* NULL: refused, or answered locally */
	const char *reason;
};

static void paths_map_or_are_refused(void **state)
{
	static const struct route_case cases[] = {
		{"GET", "/git/git.example/owner/name.git/info/refs", "service=git-upload-pack",
			"http://127.0.0.1:1/base/owner/name.git/info/refs?service=git-upload-pack",
			NULL},
		{"POST", "/git/git.example/owner/name.git/git-upload-pack", "",
			"http://127.0.0.1:1/base/owner/name.git/git-upload-pack", NULL},
		{"POST", "/git/other.example/a/b.git/git-upload-pack", "",
			"https://up/a/b.git/git-upload-pack", NULL},
		{"GET", "/git/git.example/owner/name.git/info/refs", "service=git-receive-pack",
			NULL, "git_fetch_only"},
		{"POST", "/git/git.example/owner/name.git/git-receive-pack", "", NULL,
			"git_fetch_only"},
		{"GET", "/git/git.example/owner/name.git/HEAD", "", NULL, "git_fetch_only"},
		{"POST", "/git/git.example/owner/other.git/git-upload-pack", "", NULL,
			"repo_not_in_run"},
		{"POST", "/git/other.example/owner/name.git/git-upload-pack", "", NULL,
			"repo_not_in_run"},
		{"POST", "/git/git.example/a/b.git/git-upload-pack", "", NULL, "repo_not_in_run"},
		{"POST", "/git/evil.example/owner/name.git/git-upload-pack", "", NULL,
			"repo_not_in_run"},
		{"POST", "/git/git.example/owner/../name.git/git-upload-pack", "", NULL, ""},
		{"POST", "/git/git.example/owner%2fname.git/git-upload-pack", "", NULL, ""},
		{"POST", "/git/git.example//name.git/git-upload-pack", "", NULL, ""},
		{"POST", "/git/git.example/owner/name/git-upload-pack", "", NULL, ""},
		{"POST", "/model/v1/messages", "", "http://127.0.0.1:2/v1/messages", NULL},
		{"POST", "/model/v1/messages", "beta=true",
			"http://127.0.0.1:2/v1/messages?beta=true", NULL},
		{"POST", "/model/v1/messages/count_tokens", "",
			"http://127.0.0.1:2/v1/messages/count_tokens", NULL},
		{"POST", "/model/v1/messages/../files", "", NULL, "model_path"},
		{"POST", "/model/v1/messages/%2e%2e/files", "", NULL, "model_path"},
		{"POST", "/model/v1/files", "", NULL, "model_path"},
		{"POST", "/model/v1/messages", "key=mine", NULL, "model_path"},
		{"GET", "/model/v1/messages", "", NULL, "model_path"},
		{"POST", "/modelx/v1/messages", "", NULL, ""},
		{"HEAD", "/model/v1/messages", "", NULL, "model_path"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		const struct route_case *c = &cases[i];
		struct http_request req = {.method = c->method, .path = c->path, .query = c->query};
		const struct gate_route *route = gate_route_find(c->path);
		struct gate_target to = {0};
		struct err err = {0};

		assert_non_null(route);
		if (c->url) {
			assert_true(route->map(&cfg, pool, &who, &req, &to, &err));
			assert_string_equal(to.url, c->url);
		} else {
			assert_false(route->map(&cfg, pool, &who, &req, &to, &err));
			assert_int_equal(err.code, ERR_FORBIDDEN);
			assert_string_equal(err.reason, c->reason);
		}
	}
}

static void the_key_is_added_and_the_box_has_no_say(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct http_request req = {.method = "POST", .path = "/model/v1/messages", .query = ""};
	const struct gate_route *route = gate_route_find(req.path);
	struct gate_target to = {0};
	struct err err;

	(void)state;
	assert_true(route->map(&cfg, pool, &who, &req, &to, &err));
	assert_int_equal(to.nheaders, 1);
	assert_string_equal(to.headers[0], "x-api-key: sk-test-key");
	assert_true(gate_header_passes(route->pass_up, "Anthropic-Version", 17));
	assert_false(gate_header_passes(route->pass_up, "x-api-key", 9));
	assert_false(gate_header_passes(route->pass_up, "authorization", 13));
	assert_false(gate_header_passes(route->pass_up, "cookie", 6));
	assert_true(gate_header_passes(route->pass_down, "anthropic-ratelimit-tokens-limit", 32));
	assert_false(gate_header_passes(route->pass_down, "set-cookie", 10));
}

static void a_head_request_is_answered_here(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct http_request req = {.method = "HEAD", .path = "/model", .query = ""};
	struct gate_target to = {0};
	struct err err;

	(void)state;
	assert_true(gate_route_find(req.path)->map(&cfg, pool, &who, &req, &to, &err));
	assert_null(to.url);
	assert_int_equal(to.nheaders, 0);
}

static void a_model_call_wants_a_turn(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct gate_caller idle = {.box = "box-x", .repos = "[]"};
	struct http_request req = {.method = "POST", .path = "/model/v1/messages", .query = ""};
	struct gate_target to = {0};
	struct err err;

	(void)state;
	assert_true(gate_route_find(req.path)->map(&cfg, pool, &who, &req, &to, &err));
	assert_false(gate_route_find(req.path)->map(&cfg, pool, &idle, &req, &to, &err));
	assert_int_equal(err.code, ERR_FORBIDDEN);
	assert_string_equal(err.reason, "no_turn");
}

/* The endpoint says the key back: whole, cut anywhere, twice; what only begins like it stays. */
static void the_key_is_covered_however_it_comes(void **state)
{
	static const char said[] = "sk-te sk-test-key!sk-sk-test-keysk-test-ke",
			  want[] = "sk-te ***********!sk-***********sk-test-ke";

	(void)state;
	for (size_t at = 0; at <= strlen(said); at++) {
		struct model_call m = {.key = "sk-test-key", .key_n = 11};
		CLEANUP(buf) struct buf all = BUF_INIT(256);
		const char *piece[] = {said, said + at};
		size_t size[] = {at, strlen(said) - at};

		buf_init(&m.held, 64);
		for (int i = 0; i < 2; i++) {
			CLEANUP(buf) struct buf out = BUF_INIT(256);

			model_call_body(&m, piece[i], size[i], &out);
			assert_true(size[i] + 11 >= out.len);
			assert_null(strstr(out.data, "test-key"));
			(void)buf_add(&all, out.data, out.len);
		}
		assert_null(model_call_end(&m, &all));
		assert_string_equal(all.data, want);
		buf_done(&m.held);
	}
}

static void without_a_key_the_route_says_what_to_set(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct config none = {.git_upstreams = "", .model_upstream = "", .model_key = ""};
	struct http_request req = {.method = "POST", .path = "/model/v1/messages", .query = ""};
	struct gate_target to = {0};
	struct err err;

	(void)state;
	assert_false(gate_route_find(req.path)->map(&none, pool, &who, &req, &to, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.fix, "ANTHROPIC_API_KEY"));
	/* the account's own goes before the site's, and does where the site has none */
	{
		struct gate_caller own = who;
		const struct config *both[] = {&cfg, &with_upstream};

		own.model_key = "sk-own-key";
		for (size_t i = 0; i < 2; i++) {
			to = (struct gate_target){0};
			assert_true(gate_route_find(req.path)->map(
				both[i], pool, &own, &req, &to, &err));
			assert_string_equal(to.headers[0], "x-api-key: sk-own-key");
			assert_string_equal(to.key, "sk-own-key");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_map_or_are_refused),
		cmocka_unit_test(the_key_is_added_and_the_box_has_no_say),
		cmocka_unit_test(a_head_request_is_answered_here),
		cmocka_unit_test(a_model_call_wants_a_turn),
		cmocka_unit_test(the_key_is_covered_however_it_comes),
		cmocka_unit_test(without_a_key_the_route_says_what_to_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
