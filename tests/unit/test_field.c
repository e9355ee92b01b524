/*
 * field.c: each kind's right and wrong inputs by JSON and by query, defaults, lists, patterns, and
 * what the rows print.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "field.h"
#include "json.h"
#include "pool.h"

struct item {
	const char *repo, *ref;
};
static const struct field item_fields[] = {
	FIELD(TEXT, struct item, repo, .required = true, .max = 100, .pattern = FIELD_REPO,
		.help = "Repo."),
	FIELD(TEXT, struct item, ref, .max = 100, .pattern = FIELD_REF, .text = "main",
		.help = "Ref."),
};

struct input {
	const char *task, *agent, *dir;
	int64_t wait_ms;
	bool fast;
	struct field_texts argv;
	struct field_items repos;
};
static const char *const agents[] = {"script", "other", NULL};
static const struct field fields[] = {
	FIELD(TEXT, struct input, task, .required = true, .max = 100000, .help = "Task.",
		.fix = "Say what is to be done."),
	FIELD(WORD, struct input, agent, .words = agents, .text = "script", .help = "Agent."),
	FIELD(TEXT, struct input, dir, .max = 20, .pattern = FIELD_NAME, .help = "Folder."),
	FIELD(INT, struct input, wait_ms, .min = 0, .max = 1000, .value = 5, .help = "Wait."),
	FIELD(BOOL, struct input, fast, .value = 1, .help = "Fast."),
	FIELD(TEXTS, struct input, argv, .max = 3, .each_max = 10, .help = "Argv."),
	FIELD(ITEMS, struct input, repos, .max = 2, .fields = item_fields, .nfields = 2,
		.item_size = sizeof(struct item), .help = "Repos."),
};
#define N (sizeof(fields) / sizeof(fields[0]))

static bool take_json(struct pool *pool, const char *text, struct input *in, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;

	*in = (struct input){0};
	if (!json_parse(text, strlen(text), &o, err))
		fail_msg("%s: %s", text, err->msg);
	return field_from_json(fields, N, o, pool, in, err);
}

static void test_json(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct input in;
	struct item *items;
	struct err err;

	(void)state;
	assert_true(take_json(pool,
		"{\"task\":\"do\",\"agent\":\"other\",\"dir\":\"x\",\"wait_ms\":7,\"fast\":false,"
		"\"argv\":[\"a\",\"\"],\"repos\":[{\"repo\":\"a/b\"},{\"repo\":\"c/"
		"d\",\"ref\":\"v1\"}]}",
		&in, &err));
	assert_string_equal(in.task, "do");
	assert_string_equal(in.agent, "other");
	assert_string_equal(in.dir, "x");
	assert_int_equal(in.wait_ms, 7);
	assert_false(in.fast);
	assert_int_equal(in.argv.n, 2);
	assert_string_equal(in.argv.v[0], "a");
	assert_int_equal(in.repos.n, 2);
	items = in.repos.v;
	assert_string_equal(items[0].ref, "main");
	assert_string_equal(items[1].repo, "c/d");
	assert_true(take_json(pool, "{\"task\":\"x\",\"dir\":null}", &in, &err));
	assert_string_equal(in.agent, "script");
	assert_null(in.dir);
	assert_int_equal(in.wait_ms, 5);
	assert_true(in.fast);
	assert_int_equal(in.argv.n, 0);
}

static void test_json_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"[]", "must be a JSON object"},
		{"{}", "task: is missing"},
		{"{\"task\":null}", "task: is missing"},
		{"{\"task\":\"\"}", "task: must not be empty"},
		{"{\"task\":\" \\n\"}", "task: must not be empty"},
		{"{\"task\":1}", "task: must be text"},
		{"{\"task\":\"x\",\"tsk\":1}", "tsk: unknown field"},
		{"{\"task\":\"x\",\"a\\nb\":1}", "(unprintable name): unknown field"},
		{"{\"task\":\"x\",\"agent\":\"nobody\"}", "agent: no such choice"},
		{"{\"task\":\"x\",\"dir\":\"a/b\"}", "dir: letters"},
		{"{\"task\":\"x\",\"dir\":\"..\"}", "dir: letters"},
		{"{\"task\":\"x\",\"dir\":\"aaaaaaaaaaaaaaaaaaaaaaaaa\"}", "dir: longer than 20"},
		{"{\"task\":\"x\",\"wait_ms\":\"7\"}", "wait_ms: must be a whole number"},
		{"{\"task\":\"x\",\"wait_ms\":7.0}", "wait_ms: must be a whole number"},
		{"{\"task\":\"x\",\"wait_ms\":-1}", "wait_ms: must be from 0 to 1000"},
		{"{\"task\":\"x\",\"fast\":1}", "fast: must be true or false"},
		{"{\"task\":\"x\",\"argv\":\"a\"}", "argv: must be a list"},
		{"{\"task\":\"x\",\"argv\":[1]}", "argv: item 0 must be text"},
		{"{\"task\":\"x\",\"argv\":[\"12345678901\"]}", "argv: longer than 10"},
		{"{\"task\":\"x\",\"argv\":[\"\",\"\",\"\",\"\"]}", "argv: must have"},
		{"{\"task\":\"x\",\"repos\":[{}]}", "repos[0]: repo: is missing"},
		{"{\"task\":\"x\",\"repos\":[\"a/b\"]}", "repos[0]: must be a JSON object"},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"a/b\",\"x\":1}]}", "x: unknown field"},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"a\"}]}", "repo: must be owner/name"},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"a/b\",\"ref\":\"-x\"}]}",
			"ref: not the name"},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct input in;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (take_json(pool, bad[i].text, &in, &err))
			fail_msg("taken: %s", bad[i].text);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(err.reason, "field");
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.msg);
	}
	assert_false(take_json(pool, "{\"task\":\"\"}", &in, &err));
	assert_string_equal(err.fix, "Say what is to be done.");
	assert_false(take_json(pool, "{\"task\":\"x\",\"agent\":\"nobody\"}", &in, &err));
	assert_string_equal(err.fix, "One of: script, other");
}

static void test_too_large(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char *text = pool_alloc(pool, 100100);
	struct input in;
	struct err err;

	(void)state;
	memcpy(text, "{\"task\":\"", 9);
	memset(text + 9, 'x', 100001);
	memcpy(text + 9 + 100001, "\"}", 3);
	assert_false(take_json(pool, text, &in, &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	memcpy(text + 9 + 100000, "\"}", 3);
	assert_true(take_json(pool, text, &in, &err));
}

static void test_query(void **state)
{
	static const struct {
		const char *query, *says; /* NULL: taken */
	} cases[] = {
		{"task=a", NULL},
		{"task=a+b%20c&wait_ms=7&fast=false&agent=other&", NULL},
		{"", "task: is missing"},
		{"task", "task: must not be empty"},
		{"task=%20", "task: must not be empty"},
		{"task=a&task=b", "task: given twice"},
		{"task=a&t%61sk=b", "task: given twice"},
		{"task=a&x=1", "x: unknown field"},
		{"task=a&wait_ms=07x", "wait_ms: must be a whole number"},
		{"task=a&wait_ms=", "wait_ms: must be a whole number"},
		{"task=a&wait_ms=1001", "wait_ms: must be from"},
		{"task=a&fast=yes", "fast: must be"},
		{"task=%zz", "bad % escape"},
		{"task=%00", "bad % escape"},
		{"task=%ff", "task: must be UTF-8"},
		{"task=a&argv=b", "argv: cannot stand"},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct input in = {0};
		bool ok = field_from_query(fields, N, cases[i].query, pool, &in, &err);

		if (ok != !cases[i].says || (!ok && !strstr(err.msg, cases[i].says)))
			fail_msg("%s: %s", cases[i].query, ok ? "taken" : err.msg);
		if (i == 1)
			assert_string_equal(in.task, "a b c");
	}
}

static void test_patterns(void **state)
{
	static const char *const refs[] = {"main", "feature/x", "v1.0", "0123abc", "a-b_c"};
	static const char *const not_refs[] = {"", "-x", "/x", "x/", "a..b", "a//b", "a b", "a~1",
		"a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", ".x", "x.", "a/.b", "a.lock",
		"a\x7f", "a\nb"};
	static const char *const not_repos[] = {"", "a", "/b", "a/", "a/b/c", "../b", "a/..",
		"-a/b", "a/-b", "a b/c", "https://x/y"};

	(void)state;
	for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++)
		assert_true(field_matches(FIELD_REF, refs[i]));
	for (size_t i = 0; i < sizeof(not_refs) / sizeof(not_refs[0]); i++)
		assert_false(field_matches(FIELD_REF, not_refs[i]));
	assert_true(field_matches(FIELD_REPO, "owner/na.me-1"));
	for (size_t i = 0; i < sizeof(not_repos) / sizeof(not_repos[0]); i++)
		assert_false(field_matches(FIELD_REPO, not_repos[i]));
}

static void test_print(void **state)
{
	CLEANUP(json) struct json_object *o = field_schema(fields, N);
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf b = BUF_INIT(10000);
	const char *text = json_text(o, pool);

	(void)state;
	assert_non_null(strstr(text, "\"required\":[\"task\"],\"additionalProperties\":false}"));
	assert_non_null(strstr(text, "\"agent\":{\"type\":\"string\",\"description\":\"Agent.\","
				     "\"enum\":[\"script\",\"other\"],\"default\":\"script\"}"));
	assert_non_null(strstr(text, "\"wait_ms\":{\"type\":\"integer\",\"description\":\"Wait.\","
				     "\"minimum\":0,\"maximum\":1000,\"default\":5}"));
	assert_non_null(strstr(text, "\"items\":{\"type\":\"object\",\"properties\":{\"repo\""));
	field_print(&b, fields, N);
	assert_non_null(
		strstr(b.data, "| `task` | string, at most 100000 bytes | required | Task. |\n"));
	assert_non_null(
		strstr(b.data, "| `repos[].ref` | string, at most 100 bytes | `main` | Ref. |\n"));
}

struct strict {
	struct field_map files;
	int64_t timeout;
	const char *colour;
};
static const char *const colours[] = {"red", NULL};
static const struct field strict_fields[] = {
	FIELD(MAP, struct strict, files, .max = 2, .each_max = 4, .help = "Files."),
	FIELD(INT, struct strict, timeout, .min = 1, .max = 60, .no_null = true, .help = "Limit."),
	FIELD(WORD, struct strict, colour, .words = colours, .reason = "no_colour",
		.help = "Colour."),
};

static bool take_strict(struct pool *pool, const char *text, struct strict *in, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;

	*in = (struct strict){0};
	if (!json_parse(text, strlen(text), &o, err))
		fail_msg("%s: %s", text, err->msg);
	return field_from_json(strict_fields, 3, o, pool, in, err);
}

/* An object of texts; what null may not stand for; a word of its own for a wrong choice. */
static void test_map_null_and_reason(void **state)
{
	static const struct {
		const char *text, *says, *reason;
	} bad[] = {
		{"{\"files\":[]}", "files: must be an object", "field"},
		{"{\"files\":{\"a\":1}}", "files: each member must be text", "field"},
		{"{\"files\":{\"a\":null}}", "files: each member must be text", "field"},
		{"{\"files\":{\"a\":\"12345\"}}", "files: longer than 4", "field"},
		{"{\"files\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}", "files: more than 2", "field"},
		{"{\"timeout\":null}", "timeout: must not be null", "field"},
		{"{\"colour\":\"blue\"}", "colour: no such choice", "no_colour"},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct strict in;
	struct err err;

	(void)state;
	assert_true(take_strict(
		pool, "{\"files\":{\"a/b\":\"1234\",\"c\":\"\"},\"timeout\":60}", &in, &err));
	assert_int_equal(in.files.n, 2);
	assert_string_equal(in.files.names[0], "a/b");
	assert_string_equal(in.files.texts[0], "1234");
	assert_string_equal(in.files.texts[1], "");
	assert_int_equal(in.timeout, 60);
	assert_true(take_strict(pool, "{\"files\":null,\"colour\":null}", &in, &err));
	assert_int_equal(in.files.n, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (take_strict(pool, bad[i].text, &in, &err))
			fail_msg("taken: %s", bad[i].text);
		assert_string_equal(err.reason, bad[i].reason);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.msg);
	}
	assert_false(field_from_query(strict_fields, 3, "files=a", pool, &in, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_refused),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_map_null_and_reason),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
