/*
 * What a list of runs is told by /events.sse: whole runs when their state changes, questions and
 * answers with their texts, and what runs write in between, at most once a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "livesite.h"
#include "testdb.h"
#include "text.h"

static struct livesite site;
static int64_t account;

static int start(void **state)
{
	(void)state;
	account = testdb_i64("SELECT id FROM accounts WHERE name = 'operator'");
	livesite_start(&site, 15000, RESCAN_NEVER);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	livesite_stop(&site);
	return 0;
}

#define HAS(text) has(&e, text)
static void has(const struct fcgi_event *e, const char *text)
{
	if (!strstr(e->data, text))
		fail_msg("%s without %s: %s", e->name, text, e->data);
}

static void test_run_says_what_a_list_shows(void **state)
{
	int64_t run;
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_watch(&site, &c, "/events.sse", NULL);
	livesite_next(&c, &e, "fleet");
	run = livesite_run("run-whole", account);
	livesite_next_with(&c, &e, "run", "\"state\": \"queued\"");
	HAS("\"session\": \"run-whole\"");
	HAS("\"task\": \"true\"");
	HAS("\"agent\": \"script\"");
	HAS("\"name\": \"box-run-whole\"");
	HAS("\"usage\": null");
	livesite_trace(run, 1, 2);
	testdb_exec("UPDATE turns SET state = 'running', usage = '{\"output_tokens\":9}'"
		    " WHERE run_id = %lld",
		(long long)run);
	livesite_next_with(&c, &e, "run", "\"state\": \"running\"");
	HAS("\"output_tokens\": 9");
	HAS("\"kind\": \"say\"");
	HAS("\"trace_rows\": 2");
	testdb_exec("UPDATE runs SET title = 'better' WHERE id = %lld", (long long)run);
	livesite_next_with(&c, &e, "run", "\"title\": \"better\"");
	HAS("\"state\": \"running\"");
	/* a patch that is saved later */
	testdb_exec("WITH b AS (INSERT INTO blobs (account_id, name, kind, file_name, size_bytes,"
		    " files, added, removed, complete) VALUES (%lld, 'blob-p', 'patch', 'x', 5, 3,"
		    " 20, 1, true) RETURNING id) UPDATE turns SET patch_id = b.id FROM b"
		    " WHERE run_id = %lld",
		(long long)account, (long long)run);
	livesite_next_with(&c, &e, "run", "\"added\": 20");
	HAS("\"files\": 3");
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

static void test_questions_and_answers(void **state)
{
	const int64_t run = livesite_run("run-asks", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};
	int64_t id;

	(void)state;
	livesite_watch(&site, &c, "/events.sse", NULL);
	livesite_next(&c, &e, "fleet");
	id = testdb_i64("INSERT INTO questions (account_id, run_id, turn_id, box_ref, text)"
			" SELECT account_id, run_id, id, 'q1', 'which way?' FROM turns"
			" WHERE run_id = %lld RETURNING id",
		(long long)run);
	livesite_next(&c, &e, "question");
	assert_int_equal(livesite_number(&e, "question"), id);
	HAS("\"text\": \"which way?\"");
	HAS("\"session\": \"run-asks\"");
	HAS("\"asked_at\": \"20");
	testdb_exec("UPDATE questions SET answer = 'left', answered_by = 'operator',"
		    " answered_at = now() WHERE id = %lld",
		(long long)id);
	livesite_next(&c, &e, "answered");
	assert_int_equal(livesite_number(&e, "question"), id);
	HAS("\"answer\": \"left\"");
	HAS("\"by\": \"operator\"");
	HAS("\"answered_at\": \"20");
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

static void test_activity(void **state)
{
	const int64_t run = livesite_run("run-writes", account);
	struct fcgiclient c, other;
	struct fcgi_event e = {0};
	int64_t began;
	int told = 0;

	(void)state;
	testdb_exec("INSERT INTO accounts (name) VALUES ('stranger')");
	livesite_watch(&site, &c, "/events.sse", NULL);
	livesite_watch(&site, &other, "/watch.sse?session=run-writes", NULL);
	livesite_trace(livesite_run("run-strange",
			       testdb_i64("SELECT id FROM accounts WHERE name = 'stranger'")),
		1, 1);
	livesite_trace(run, 1, 1);
	/* what the tests before wrote may be told only now */
	livesite_next_with(&c, &e, "activity", "\"session\" : \"run-writes\"");
	HAS("\"trace_rows\" : 1");
	HAS("\"text\" : \"row\\n1");
	assert_null(strstr(e.data, "\"seq\""));
	/* many rows, few words */
	began = time_boot_ms();
	for (int64_t seq = 2; seq <= 41; seq++)
		livesite_trace(run, seq, seq);
	while (livesite_number(&e, "trace_rows") < 41) {
		livesite_next_with(&c, &e, "activity", "\"session\" : \"run-writes\"");
		told++;
	}
	assert_in_range(told, 1, 2 + (time_boot_ms() - began) / 1000);
	assert_null(strstr(c.out.data, "run-strange"));
	/* whoever looks at one run is told its rows themselves, and nothing else */
	livesite_next(&other, &e, "trace");
	assert_false(fcgiclient_finish(&other, 300));
	assert_null(strstr(other.out.data, "event: activity"));
	fcgi_event_done(&e);
	fcgiclient_close(&c);
	fcgiclient_close(&other);
}

/* The last line for a long time, and it cannot be read just then: it is told when it can. */
static void test_activity_is_asked_for_again(void **state)
{
	const int64_t run = livesite_run("run-last-words", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_watch(&site, &c, "/events.sse", NULL);
	testdb_exec("REVOKE SELECT ON run_facts FROM asb_live");
	livesite_trace(run, 1, 1);
	assert_false(fcgiclient_finish(&c, 2500));
	assert_null(strstr(c.out.data, "row\\n1"));
	testdb_exec("GRANT SELECT ON run_facts TO asb_live");
	livesite_next_with(&c, &e, "activity", "\"session\" : \"run-last-words\"");
	HAS("\"text\" : \"row\\n1");
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_says_what_a_list_shows),
		cmocka_unit_test(test_questions_and_answers),
		cmocka_unit_test(test_activity),
		cmocka_unit_test(test_activity_is_asked_for_again),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
