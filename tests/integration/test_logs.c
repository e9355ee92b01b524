/*
 * Logs by lines: numbers and times, lines longer than any memory for them, the search over all of a
 * log, and whole logs as files that are never held whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "db.h"
#include "fixture.h"
#include "pool.h"
#include "request.h"
#include "response.h"
#include "router.h"
#include "testdb.h"
#include "testweb.h"
#include "text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SAYS(member, want) assert_string_equal(testweb_get(pool, &a, member), want)

static struct db *web;

static int setup(void **state)
{
	(void)state;
	web = testdb_open("asb_web");
	return 0;
}

static int done(void **state)
{
	(void)state;
	db_free(web);
	testweb_done();
	return 0;
}

static struct answer get(struct pool *pool, const char *path, const char *run, const char *more)
{
	struct answer a = testweb_operator(
		pool, "GET", pool_printf(pool, "%s?session=%s%s", path, run, more), NULL);

	if (a.status != 200)
		fail_msg("%s%s: %d %s", path, more, a.status, a.body);
	return a;
}

/* Text in PostgreSQL's escaped form. */
static void add_chunk(const struct run_made *run, int seq, int stream, int first_line, int nlines,
	const char *body, const char *line_ms)
{
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body, line_ms, ts) VALUES (1, %ld, %d, %d, %d, %d, %d, 1,"
		    " %s, '%s', '2026-01-02 03:04:05.678+00')",
		(long)run->log_id, seq, stream, first_line, nlines, seq, body, line_ms);
}

static void test_times(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	add_chunk(&run, 1, 1, 0, 2, "'a\nb\nc'", "{78,8}");
	add_chunk(&run, 2, 2, 2, 2, "'c\nd\ne'", "{0}");
	a = get(pool, "/log.json", run.name, "");
	SAYS("lines.0.ms", "1767323045600");
	SAYS("lines.1.ms", "1767323045670");
	SAYS("lines.2.text", "cc");
	SAYS("lines.2.stream", "stdout");
	SAYS("lines.2.ms", "1767323045678");
	/* no time was written for it, and the last one has not ended */
	SAYS("lines.3.ms", "");
	SAYS("lines.4.text", "e");
	SAYS("lines.4.ms", "");
	SAYS("next", "4");
	SAYS("total_lines", "5");
	a = get(pool, "/log.json", run.name, "&from=1&limit=1");
	SAYS("lines.0.ms", "1767323045670");
	a = get(pool, "/log.ndjson", run.name, "");
	assert_string_equal(a.body,
		"{\"n\":0,\"stream\":\"stdout\",\"text\":\"a\",\"ms\":1767323045600}\n"
		"{\"n\":1,\"stream\":\"stdout\",\"text\":\"b\",\"ms\":1767323045670}\n"
		"{\"n\":2,\"stream\":\"stdout\",\"text\":\"cc\",\"ms\":1767323045678}\n"
		"{\"n\":3,\"stream\":\"stderr\",\"text\":\"d\"}\n"
		"{\"n\":4,\"stream\":\"stderr\",\"text\":\"e\"}\n");
	assert_non_null(strstr(a.head,
		pool_printf(pool, "Content-Disposition: attachment; filename=\"%s.ndjson\"\r\n",
			run.name)));
	assert_non_null(strstr(a.head, "Content-Security-Policy: default-src 'none'; sandbox\r\n"));
}

static void test_txt_is_plain(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	add_chunk(&run, 1, 1, 0, 1, "decode('1b5b33316d7265641b5b306d09e280ae07ff0d0ac3', 'hex')",
		"{}");
	/* a character in two chunks is one */
	add_chunk(&run, 2, 1, 1, 0, "decode('a9', 'hex')", "{}");
	a = get(pool, "/log.txt", run.name, "");
	assert_string_equal(a.body, "red\t\xef\xbf\xbd\n\xc3\xa9");
	assert_non_null(strstr(a.head, "Content-Type: text/plain; charset=utf-8\r\n"));
}

/* 3 MB in one line, and lines after it. */
static void test_long_line(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	add_chunk(&run, 1, 1, 0, 1, "'before\n'", "{}");
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, %ld, s, 1, 1, 0, s, 1, convert_to(CASE s"
		    " WHEN 100 THEN 'xNee' WHEN 101 THEN 'dLex' ELSE repeat('\xc3\xa9', 7500) END,"
		    " 'UTF8') FROM generate_series(2, 201) s",
		(long)run.log_id);
	add_chunk(&run, 202, 1, 1, 2, "'end\nafter\n'", "{}");
	a = get(pool, "/log.json", run.name, "");
	SAYS("lines.0.text", "before");
	assert_int_equal(strlen(testweb_get(pool, &a, "lines.1.text")), 65536);
	SAYS("lines.1.cut", "true");
	SAYS("lines.2.text", "after");
	SAYS("lines.2.n", "2");
	SAYS("next", "3");
	SAYS("total_lines", "3");
	a = get(pool, "/log.json", run.name, "&from=2");
	SAYS("lines.0.text", "after");
	a = get(pool, "/log.txt", run.name, "");
	assert_int_equal(a.body_n, 7 + 198 * 15000 + 8 + 4 + 6);
	/* in two chunks, somewhere in the middle */
	a = get(pool, "/log_search.json", run.name, "&q=needle");
	SAYS("total", "1");
	SAYS("hits.0.n", "1");
	assert_non_null(strstr(testweb_get(pool, &a, "hits.0.text"), "xNeedLex"));
	assert_true(strlen(testweb_get(pool, &a, "hits.0.text")) <= 240);
}

static void test_search(void **state)
{
	static const struct {
		const char *more, *total, *first;
	} cases[] = {
		{"&q=error", "3", "1"},
		{"&q=Error", "1", "1"},
		{"&q=ERROR", "1", "4"},
		{"&q=err%25or", "0", ""},
		{"&q=.*", "1", "6"},
		{"&q=error%20in%20red", "1", "7"},
		{"&q=%C3%A9t%C3%A9", "1", "6"},
		{"&q=nothing", "0", ""},
		{"&q=error&after=1", "3", "4"},
		{"&q=error&after=6", "3", "7"},
		{"&q=error&after=7", "3", ""},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	add_chunk(&run, 1, 1, 0, 2, "'zero\nan Error, and error again\ntwo er'", "{}");
	add_chunk(&run, 2, 1, 2, 5,
		"convert_to('r or\nthree\nERROR\n\na .* in \xc3\xa9t\xc3\xa9\n', 'UTF8')", "{}");
	add_chunk(&run, 3, 2, 7, 1, "decode('1b5b316d6572', 'hex')", "{}");
	add_chunk(&run, 4, 2, 7, 1, "decode('726f721b5b306d20696e207265640a', 'hex')", "{}");
	testdb_exec(
		"UPDATE log_chunk SET nlines = 0 WHERE log_id = %ld AND seq = 3", (long)run.log_id);
	for (size_t i = 0; i < COUNT(cases); i++) {
		a = get(pool, "/log_search.json", run.name, cases[i].more);
		if (strcmp(testweb_get(pool, &a, "total"), cases[i].total) ||
			strcmp(testweb_get(pool, &a, "hits.0.n"), cases[i].first))
			fail_msg("%s: %s", cases[i].more, a.body);
		SAYS("complete", "true");
		SAYS("next", "");
	}
	a = get(pool, "/log_search.json", run.name, "&q=error&limit=2");
	SAYS("hits.1.n", "4");
	SAYS("hits.2", "");
	SAYS("total", "3");
	SAYS("next", "4");
	a = get(pool, "/log_search.json", run.name, "&q=error&limit=2&after=4");
	SAYS("hits.0.text", "error in red");
	SAYS("next", "");
}

/* As many lines as a promise of time is about; sanitizers cost more than it allows, so that with
 * them only the answer is looked at. */
#ifdef __SANITIZE_ADDRESS__
#define MANY 10000
#else
#define MANY 100000
#endif
#define LAST(before, after) pool_printf(pool, "%s%d%s", before, MANY - 1, after)

/* MANY lines, as an agent's tools write them: in chunks of 16 KiB, and in the worst case one a
 * line. The best of a few tries, since this machine is shared. */
static void search_of_many(int lines)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	int64_t best = INT64_MAX;
	struct answer a, quickest = {0};

	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, %ld, s + 1, 1, s * %d, %d, s, 1,"
		    " convert_to((SELECT string_agg('line ' || n || ' ' || repeat(md5(n::text), 3)"
		    " || E'\n', '' ORDER BY n) FROM generate_series(s * %d, s * %d + %d) n),"
		    " 'UTF8') FROM generate_series(0, %d) s",
		(long)run.log_id, lines, lines, lines, lines, lines - 1, MANY / lines - 1);
	for (int i = 0; i < 3; i++) {
		int64_t start = time_boot_ms();

		a = get(pool, "/log_search.json", run.name, LAST("&q=line%20", "%20&limit=5"));
		if (time_boot_ms() - start < best) {
			best = time_boot_ms() - start;
			quickest = a;
		}
	}
	a = quickest;
	print_message("search of %d lines, %d a chunk: %lld ms\n", MANY, lines, (long long)best);
	SAYS("hits.0.n", LAST("", ""));
	SAYS("total", "1");
	SAYS("complete", "true");
	assert_in_range(best, 0, 1500);
	a = get(pool, "/log.json", run.name, pool_printf(pool, "&from=%d", MANY - 10));
	SAYS("lines.9.n", LAST("", ""));
	SAYS("total_lines", pool_printf(pool, "%d", MANY));
}

static void test_search_is_quick(void **state)
{
	(void)state;
	search_of_many(125);
	search_of_many(1);
}

static int64_t resident_kib(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/self/statm", "r");
	long size, resident;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
	return resident * sysconf(_SC_PAGESIZE) / 1024;
}

struct taker {
	int64_t bytes, pieces, most; /* KiB resident while it went on */
};

static bool take(void *arg, const void *data, size_t n)
{
	struct taker *t = arg;
	int64_t now = resident_kib();

	(void)data;
	t->bytes += (int64_t)n;
	t->pieces++;
	if (now > t->most)
		t->most = now;
	return true;
}

/* What is sent of 160 MB is never held: neither at the beginning nor at the end. */
static void test_files_are_streamed(void **state)
{
	static const char *const paths[] = {"/log.txt", "/log.ndjson"};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);

	(void)state;
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, %ld, s + 1, 1, s * 160, 160, s, 1,"
		    " convert_to(repeat(repeat('x', 99) || E'\\n', 160), 'UTF8')"
		    " FROM generate_series(0, 9999) s",
		(long)run.log_id);
	for (size_t i = 0; i < COUNT(paths); i++) {
		const char *const headers[] = {HOST, BEARER, NULL};
		int64_t before = resident_kib();
		struct taker t = {0};
		struct response rs;
		struct request rq;
		struct err err;

		response_init(&rs, pool, false);
		assert_true(request_from_memory(&rq, pool, "GET",
			pool_printf(pool, "%s?session=%s", paths[i], run.name), headers, "", 0,
			&err));
		router_serve(testweb_site(), &rq, &rs);
		assert_true(response_send(&rs, take, &t));
		response_done(&rs);
		assert_true(t.bytes > 160000000);
		assert_true(t.pieces > 1000);
#ifndef __SANITIZE_ADDRESS__ /* it keeps what was freed */
		assert_in_range(t.most - before, 0, 16 * 1024);
#else
		(void)before;
#endif
	}
}

static bool refuse(void *arg, const void *data, size_t n)
{
	(void)data;
	(void)n;
	return --*(int *)arg > 0;
}

/* Whoever goes away in the middle ends it. */
static void test_a_reader_that_goes(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *const headers[] = {HOST, BEARER, NULL};
	struct run_made run = fixture_run(web, ACCOUNT);
	struct response rs;
	struct request rq;
	struct err err;
	int writes = 3;

	(void)state;
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, %ld, s + 1, 1, s, 1, s, 1,"
		    " convert_to(repeat('x', 16000) || E'\\n', 'UTF8')"
		    " FROM generate_series(0, 99) s",
		(long)run.log_id);
	response_init(&rs, pool, false);
	assert_true(request_from_memory(&rq, pool, "GET",
		pool_printf(pool, "/log.txt?session=%s", run.name), headers, "", 0, &err));
	router_serve(testweb_site(), &rq, &rs);
	assert_false(response_send(&rs, refuse, &writes));
	assert_int_equal(writes, 0);
	response_done(&rs);
	/* and leaves the connection fit for the next */
	(void)get(pool, "/log.json", run.name, "&limit=1");
}

static void test_wrong_input(void **state)
{
	static const struct {
		const char *url; /* after it: a run of ours */
		int status;
	} cases[] = {
		{"/log_search.json?q=x&session=", 200},
		{"/log_search.json?session=", 422},
		{"/log_search.json?q=&session=", 422},
		{"/log_search.json?q=x&exec=exec-none&session=", 422},
		{"/log_search.json?q=x&limit=0&session=", 422},
		{"/log_search.json?q=x&limit=1001&session=", 422},
		{"/log_search.json?q=x&after=-1&session=", 200},
		{"/log_search.json?q=x&after=-2&session=", 422},
		{"/log_search.json?q=%FF&session=", 422},
		{"/log_search.json?q=x&session=no-", 404},
		{"/log.txt?session=", 200},
		{"/log.txt?session=no-", 404},
		{"/log.txt?limit=1&session=", 422},
		{"/log.txt?exec=exec-none&session=", 422},
		{"/log.ndjson?session=no-", 404},
		{"/log.json?limit=5001&session=", 422},
		{"/log.json?limit=5000&session=", 200},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *url = pool_printf(pool, "%s%s", cases[i].url, run.name);
		struct answer a = testweb_operator(pool, "GET", url, NULL);

		if (a.status != cases[i].status)
			fail_msg("%s: %d %s", url, a.status, a.body);
	}
	assert_int_equal(testweb_operator(pool, "GET", "/log.txt", NULL).status, 422);
	assert_int_equal(testweb_operator(pool, "GET", "/log_search.json?q=x", NULL).status, 422);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_txt_is_plain),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_is_quick),
		cmocka_unit_test(test_files_are_streamed),
		cmocka_unit_test(test_a_reader_that_goes),
		cmocka_unit_test(test_wrong_input),
	};

	return cmocka_run_group_tests(tests, setup, done);
}
