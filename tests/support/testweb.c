/*
 * Requests in memory.
 */
#include "testweb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "access.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "log.h"
#include "mcp.h"
#include "pool.h"
#include "request.h"
#include "response.h"
#include "router.h"
#include "testdb.h"

struct config testweb_config = {
	.site = "test0000",
	.url = TESTWEB_URL,
	.cache_dir = "/nonexistent",
	.operator_token = TESTWEB_TOKEN,
	.box_image = "base",
	.box_memory_mb = 1024,
	.box_cpus = 1,
	.box_max_s = 86400,
	.box_runtime = "qemu",
	.git_upstreams = "git.example=http://127.0.0.1:1/git other.example=http://127.0.0.1:2/git",
	.model_key = "",
	.upload_max = 1000000,
	.starting_ms = 180000,
	.destroying_ms = 60000,
};

static struct pool *site_pool;
static struct site site;

struct site *testweb_site(void)
{
	struct err err;

	if (!site_pool) {
		site_pool = pool_new();
		log_init("test", getenv("TEST_VERBOSE") ? LOG_DEBUG : LOG_ERROR);
		if (!site_init(&site, site_pool, &testweb_config, testdb_open("asb_web"),
			    mcp_tools_print(site_pool), &err))
			fail_msg("%s", err.msg);
	}
	return &site;
}

void testweb_done(void)
{
	if (!site_pool)
		return;
	db_free(site.db);
	pool_free(site_pool);
	site_pool = NULL;
}

int testweb_end(void **state)
{
	(void)state;
	testweb_done();
	return 0;
}

int testweb_drop_pool(void **state)
{
	pool_free(*state);
	return 0;
}

static bool collect(void *arg, const void *data, size_t n)
{
	return buf_add(arg, data, n);
}

struct answer testweb_ask(struct pool *pool, const char *method, const char *url,
	const char *const *headers, const char *body, size_t n)
{
	CLEANUP(buf) struct buf out = BUF_INIT(64 << 20);
	struct answer a = {0};
	struct response rs;
	struct request rq;
	struct err err;
	size_t head;

	response_init(&rs, pool, access_is_https(&testweb_config));
	if (!request_from_memory(&rq, pool, method, url, headers, body ? body : "", n, &err))
		fail_msg("%s", err.msg);
	router_serve(testweb_site(), &rq, &rs);
	assert_true(response_send(&rs, collect, &out));
	head = (size_t)(strstr(out.data, "\r\n\r\n") + 4 - out.data);
	a.status = rs.status;
	a.internal = rs.internal;
	a.head = pool_memdup(pool, out.data, head);
	a.body = pool_memdup(pool, out.data + head, out.len - head);
	a.body_n = out.len - head;
	response_done(&rs);
	return a;
}

struct answer testweb_operator(
	struct pool *pool, const char *method, const char *url, const char *body)
{
	const char *const get[] = {HOST, BEARER, NULL}, *const post[] = {HOST, BEARER, JSON, NULL};

	return testweb_ask(pool, method, url, body ? post : get, body, body ? strlen(body) : 0);
}

struct answer testweb_mcp(struct pool *pool, const struct testweb_mcp *what)
{
	const char *method = what->method ? what->method : "tools/call";
	const char *const headers[] = {HOST, what->bearer ? what->bearer : BEARER, JSON,
		"MCP-Protocol-Version: 2026-07-28", pool_printf(pool, "Mcp-Method: %s", method),
		what->name ? pool_printf(pool, "Mcp-Name: %s", what->name) : NULL, NULL};
	const char *body = pool_printf(pool,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{%s}}}}",
		method, what->params, *what->params ? "," : "",
		what->capabilities ? what->capabilities : "");

	return testweb_ask(pool, "POST", "/mcp", headers, body, strlen(body));
}

const char *testweb_waiting_run(struct pool *pool, int64_t *question)
{
	struct answer a =
		testweb_operator(pool, "POST", "/delegate.json", "{\"task\":\"echo hello\"}");
	const char *run = testweb_get(pool, &a, "session");

	testdb_exec("UPDATE boxes SET state = 'ready' WHERE id = (SELECT box_id FROM runs WHERE "
		    "name = '%s')",
		run);
	testdb_exec("DELETE FROM jobs WHERE run_id = (SELECT id FROM runs WHERE name = '%s')", run);
	testdb_exec("UPDATE turns SET state = 'asked' WHERE run_id = (SELECT id FROM runs WHERE "
		    "name = '%s')",
		run);
	*question = testdb_i64(
		"INSERT INTO questions (account_id, run_id, turn_id, box_ref, text) SELECT "
		"t.account_id, t.run_id, t.id, 'q1', 'which colour?' FROM turns t JOIN runs r ON "
		"r.id = t.run_id WHERE r.name = '%s' RETURNING id",
		run);
	return run;
}

const char *testweb_get(struct pool *pool, const struct answer *a, const char *path)
{
	CLEANUP(json) struct json_object *root = NULL;
	struct json_object *o;
	struct err err;
	char *key, *next;

	if (!json_parse(a->body, a->body_n, &root, &err))
		fail_msg("%s: %s", err.msg, a->body);
	o = root;
	for (key = pool_strdup(pool, path); key && o; key = next) {
		next = strchr(key, '.');
		if (next)
			*next++ = '\0';
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, (size_t)strtoul(key, NULL, 10));
		else
			o = json_get(o, key);
	}
	return o ? pool_strdup(pool, json_object_get_string(o)) : "";
}

void testweb_sign_in(struct pool *pool, const char **cookie, const char **csrf)
{
	const char *const headers[] = {HOST, JSON, NULL};
	const char *body = "{\"token\":\"" TESTWEB_TOKEN "\"}", *set;
	struct answer a = testweb_ask(pool, "POST", "/login.json", headers, body, strlen(body));

	assert_int_equal(a.status, 200);
	set = strstr(a.head, "Set-Cookie: ");
	assert_non_null(set);
	set += strlen("Set-Cookie: ");
	*cookie = pool_printf(pool, "Cookie: %.*s", (int)strcspn(set, ";"), set);
	*csrf = pool_printf(pool, "X-CSRF-Token: %s", testweb_get(pool, &a, "csrf"));
}
