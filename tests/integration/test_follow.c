/*
 * asb watch against a scripted site that is being restarted just when it matters: the event that
 * says how a run ended is the last one, and the site's first answers to what it leads to are 502.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "scriptsite.h"

#define WATCHING_S 20 /* bounds a failure alone; the stream itself is open for longer */

/* What the site does, and what it saw; shared with its process. */
struct script {
	int bad_reads, bad_answers; /* so many are 502, then it works */
	bool asks, refuses;
	int reads, answers;
	volatile bool answered;
};

struct rig {
	struct script *script;
	struct pool *pool;
	struct scriptsite site;
};

/* One event that leads to the RUN, one more once the question is answered, and nothing after. */
static void stream(struct script *s, int fd)
{
	(void)dprintf(fd,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		"id: 1.0.0\nevent: %s\ndata: {}\n\n",
		s->asks ? "question" : "run");
	for (int i = 0; s->asks && !s->answered && i < WATCHING_S * 20; i++)
		(void)usleep(50000);
	if (s->answered)
		(void)dprintf(fd, "id: 1.0.1\nevent: run\ndata: {}\n\n");
	(void)sleep(2 * WATCHING_S);
}

static void answer(void *arg, int fd, const char *request)
{
	struct script *s = arg;

	if (strstr(request, "GET /watch.sse")) {
		stream(s, fd);
	} else if (strstr(request, "POST /resume.json")) {
		if (s->answers++ < s->bad_answers) {
			scriptsite_say(fd, "502 Bad Gateway", "<html>");
			return;
		}
		s->answered = strstr(request, "\"message\":\"blue\"") != NULL;
		scriptsite_say(fd, "200 OK", "{}");
	} else if (s->refuses) {
		scriptsite_say(fd, "404 Not Found",
			"{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"no\"}}");
	} else if (s->reads++ < s->bad_reads) {
		scriptsite_say(fd, "502 Bad Gateway", "<html>");
	} else if (s->asks && !s->answered) {
		scriptsite_say(fd, "200 OK",
			"{\"session\":\"run-a\",\"state\":\"waiting\",\"question\":{\"id\":7,"
			"\"text\":\"which?\"}}");
	} else {
		scriptsite_say(fd, "200 OK", "{\"session\":\"run-a\",\"state\":\"done\"}");
	}
}

static int setup(void **state)
{
	struct rig *r = mem_alloc(sizeof(*r));

	*r = (struct rig){.pool = pool_new()};
	r->script = mmap(NULL, sizeof(*r->script), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->script == MAP_FAILED)
		abort();
	scriptsite_open(&r->site);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	scriptsite_close(&r->site);
	(void)munmap(r->script, sizeof(*r->script));
	pool_free(r->pool);
	free(r);
	return 0;
}

/* Follows run-a with an answer for whoever asks; its state at the end, NULL where it failed. */
static const char *follow(struct rig *r, struct err *err)
{
	const struct follow_options opt = {.answer = "blue"};
	CLEANUP(json) struct json_object *run = NULL;
	struct cli cli = {.pool = r->pool};
	const char *state = NULL;

	scriptsite_start(&r->site, answer, r->script);
	(void)alarm(WATCHING_S);
	assert_true(cli_connect(&cli, err));
	if (follow_run(&cli, "run-a", &opt, &run, err))
		state = pool_strdup(r->pool, cli_text(run, "state"));
	(void)alarm(0);
	http_free(cli.http);
	return state;
}

static void last_event_is_enough(void **state)
{
	struct rig *r = *state;
	struct err err;

	assert_string_equal(follow(r, &err), "done");
	assert_int_equal(r->script->reads, 1);
}

static void site_away_at_the_last_event(void **state)
{
	struct rig *r = *state;
	struct err err;

	r->script->bad_reads = 3;
	assert_string_equal(follow(r, &err), "done");
	assert_int_equal(r->script->reads, 4);
}

static void site_away_when_it_is_answered(void **state)
{
	struct rig *r = *state;
	struct err err;

	r->script->asks = true;
	r->script->bad_answers = 2;
	assert_string_equal(follow(r, &err), "done");
	assert_true(r->script->answered);
	assert_int_equal(r->script->answers, 3);
}

static void refusal_is_the_end(void **state)
{
	struct rig *r = *state;
	struct err err;

	r->script->refuses = true;
	assert_null(follow(r, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(last_event_is_enough),
		TEST(site_away_at_the_last_event),
		TEST(site_away_when_it_is_answered),
		TEST(refusal_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
