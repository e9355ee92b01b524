/*
 * The tasks extension: delegate as a task for who declares it, and for nobody else; what a task is
 * in each state of its run; questions as forms; cancel; whose tasks they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "pool.h"
#include "testdb.h"
#include "testweb.h"

#define TASKS "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"
#define FORMS TASKS ",\"elicitation\":{}"

static struct pool *pool;
static int task_number;

static int setup(void **state)
{
	*state = pool = pool_new();
	return 0;
}

static const char *get(const struct answer *a, const char *path)
{
	return testweb_get(pool, a, path);
}

static struct answer delegate_with(const char *capabilities, const char *arguments)
{
	return testweb_mcp(pool,
		&(struct testweb_mcp){.name = "delegate",
			.capabilities = capabilities,
			.params = pool_printf(pool,
				"\"name\":\"delegate\",\"arguments\":{\"task\":\"echo %d\"%s}",
				++task_number, arguments)});
}

static struct answer ask_as(const char *bearer, const char *method, const char *id,
	const char *capabilities, const char *more)
{
	return testweb_mcp(
		pool, &(struct testweb_mcp){.bearer = bearer,
			      .method = pool_printf(pool, "tasks/%s", method),
			      .name = id,
			      .capabilities = capabilities,
			      .params = pool_printf(pool, "\"taskId\":\"%s\"%s", id, more)});
}

static struct answer ask(const char *method, const char *id)
{
	return ask_as(NULL, method, id, TASKS, "");
}

static const char *begin(void)
{
	struct answer a = delegate_with(TASKS, "");

	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "result.resultType"), "task");
	return get(&a, "result.taskId");
}

static const char *state_of(const char *run)
{
	return testdb_text("SELECT state FROM runs WHERE name = '%s'", run);
}

static const char *box_of(const char *run)
{
	return testdb_text("SELECT b.state FROM boxes b JOIN runs r ON r.box_id = b.id WHERE "
			   "r.name = '%s'",
		run);
}

static const char *answer_to(int64_t question)
{
	return testdb_text("SELECT answer FROM questions WHERE id = %lld", (long long)question);
}

static void turn_to(const char *run, const char *state)
{
	testdb_exec("UPDATE turns SET state = '%s', finished_at = now() WHERE run_id = (SELECT id "
		    "FROM runs WHERE name = '%s')",
		state, run);
}

static void test_it_is_said(void **state)
{
	struct answer a =
		testweb_mcp(pool, &(struct testweb_mcp){.method = "server/discover", .params = ""});

	(void)state;
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(
		get(&a, "result.capabilities.extensions"), "io.modelcontextprotocol\\/tasks"));
}

/* At once, with the row there; and only for who declares it. */
static void test_delegate_is_a_task(void **state)
{
	static const char *const none[] = {"", "\"elicitation\":{}", "\"extensions\":{}",
		"\"extensions\":{\"io.modelcontextprotocol/tasks\":7}"};
	struct answer a = delegate_with(TASKS, "");
	const char *run = get(&a, "result.taskId");

	(void)state;
	assert_int_equal(a.status, 200);
	assert_null(a.internal);
	assert_string_equal(get(&a, "result.resultType"), "task");
	assert_string_equal(get(&a, "result.status"), "working");
	assert_string_equal(get(&a, "result.ttlMs"), "");
	assert_non_null(strstr(a.body, "\"ttlMs\":null"));
	assert_string_equal(get(&a, "result.pollIntervalMs"), "2000");
	assert_string_equal(get(&a, "result.createdAt"), get(&a, "result.lastUpdatedAt"));
	assert_string_equal(get(&a, "result.content"), "");
	assert_string_equal(state_of(run), "queued");
	/* a wait, or a wish for forms, changes nothing of it */
	a = delegate_with(FORMS, ",\"wait_ms\":50000,\"elicit\":true");
	assert_string_equal(get(&a, "result.resultType"), "task");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		a = delegate_with(none[i], ",\"wait_ms\":0");
		assert_int_equal(a.status, 200);
		assert_string_equal(get(&a, "result.resultType"), "complete");
	}
	/* what fails is a result, and what is no run is no task */
	a = delegate_with(TASKS, ",\"image\":\"nowhere\"");
	assert_string_equal(get(&a, "result.resultType"), "complete");
	assert_string_equal(get(&a, "result.isError"), "true");
	a = testweb_mcp(pool, &(struct testweb_mcp){.name = "monitor",
				      .capabilities = TASKS,
				      .params = "\"name\":\"monitor\""});
	assert_string_equal(get(&a, "result.resultType"), "complete");
}

/* The same call is the same task, and says so. */
static void test_twice(void **state)
{
	struct answer a = delegate_with(TASKS, ""), again;

	(void)state;
	task_number--;
	again = delegate_with(TASKS, ",\"wait_ms\":7");
	assert_string_equal(get(&again, "result.taskId"), get(&a, "result.taskId"));
	assert_null(strstr(get(&a, "result.statusMessage"), "title"));
	assert_non_null(strstr(get(&again, "result.statusMessage"), "another title"));
}

static void test_states(void **state)
{
	static const struct {
		const char *turn, *status, *begins;
	} rows[] = {
		{"queued", "working", NULL},
		{"starting", "working", NULL},
		{"running", "working", NULL},
		{"asked", "completed", "run:waiting"}, /* who has no forms reads the question */
		{"done", "completed", "run:done"},
		{"failed", "completed", "run:failed"},
		{"lost", "completed", "run:lost"},
		{"stopped", "cancelled", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *run = begin(), *text;
		struct answer a, status;

		if (i)
			turn_to(run, rows[i].turn);
		a = ask("get", run);
		assert_int_equal(a.status, 200);
		assert_string_equal(get(&a, "result.resultType"), "complete");
		assert_string_equal(get(&a, "result.taskId"), run);
		if (strcmp(get(&a, "result.status"), rows[i].status) != 0)
			fail_msg("%s: %s", rows[i].turn, a.body);
		assert_true(
			strcmp(get(&a, "result.lastUpdatedAt"), get(&a, "result.createdAt")) >= 0);
		if (!rows[i].begins) {
			assert_string_equal(get(&a, "result.result"), "");
			continue;
		}
		/* as delegate itself would have ended */
		text = get(&a, "result.result.content.0.text");
		assert_int_equal(strncmp(text, rows[i].begins, strlen(rows[i].begins)), 0);
		assert_string_equal(get(&a, "result.result.isError"), "false");
		assert_string_equal(get(&a, "result.result.resultType"), "complete");
		status = testweb_mcp(pool,
			&(struct testweb_mcp){.name = "status",
				.params = pool_printf(pool,
					"\"name\":\"status\",\"arguments\":{\"session\":\"%s\","
					"\"wait_ms\":0}",
					run)});
		assert_string_equal(text, get(&status, "result.content.0.text"));
		assert_string_equal(get(&a, "result.result.structuredContent"),
			get(&status, "result.structuredContent"));
	}
}

static const char *responses(int64_t question, const char *response)
{
	return pool_printf(
		pool, ",\"inputResponses\":{\"question-%lld\":%s}", (long long)question, response);
}

#define ACCEPT(text) "{\"action\":\"accept\",\"content\":{\"answer\":\"" text "\"}}"

static void test_a_question_is_a_form(void **state)
{
	static const char *const nothing[] = {",\"inputResponses\":{}",
		",\"inputResponses\":{\"question-x\":" ACCEPT("x") "}",
		",\"inputResponses\":{\"other\":" ACCEPT("x") ",\"question-99999\":" ACCEPT(
			"x") "}"};
	struct answer a;
	int64_t n;
	const char *run = testweb_waiting_run(pool, &n), *form;

	(void)state;
	a = ask_as(NULL, "get", run, FORMS, "");
	assert_string_equal(get(&a, "result.status"), "input_required");
	assert_string_equal(get(&a, "result.resultType"), "complete");
	form = pool_printf(pool, "result.inputRequests.question-%lld", (long long)n);
	assert_string_equal(get(&a, pool_printf(pool, "%s.method", form)), "elicitation/create");
	assert_string_equal(get(&a, pool_printf(pool, "%s.params.message", form)), "which colour?");
	assert_string_equal(get(&a, "result.requestState"), "");
	/* what answers nothing leaves it as it is */
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		a = ask_as(NULL, "update", run, FORMS, nothing[i]);
		assert_string_equal(get(&a, "result.resultType"), "complete");
	}
	(void)ask_as(NULL, "update", run, FORMS, responses(n, "{\"action\":\"decline\"}"));
	(void)ask_as(NULL, "update", run, FORMS, responses(n, "{\"action\":\"accept\"}"));
	a = ask_as(NULL, "update", run, FORMS, ",\"inputResponses\":7");
	assert_string_equal(get(&a, "error.code"), "-32602");
	assert_string_equal(state_of(run), "waiting");
	/* and so it is answered; once */
	a = ask_as(NULL, "update", run, FORMS, responses(n, ACCEPT("blue")));
	assert_string_equal(get(&a, "result.resultType"), "complete");
	assert_string_equal(get(&a, "result.taskId"), "");
	assert_string_equal(answer_to(n), "blue");
	assert_string_equal(state_of(run), "queued");
	a = ask_as(NULL, "update", run, FORMS, responses(n, ACCEPT("red")));
	assert_string_equal(get(&a, "result.resultType"), "complete");
	assert_string_equal(answer_to(n), "blue");
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE action = 'resume' AND "
				    "subject = '%s'",
				 run),
		1);
	a = ask_as(NULL, "get", run, FORMS, "");
	assert_string_equal(get(&a, "result.status"), "working");
	/* for who read the question the task has ended, and stays so */
	a = ask("get", run);
	assert_string_equal(get(&a, "result.status"), "completed");
}

/* The work is saved and the box goes, where there is something to stop; what has ended keeps its
 * box, which holds results. */
static void test_cancel(void **state)
{
	static const char *const ended[] = {"done", "failed", "lost"};
	const char *run = begin();
	struct answer a = ask("cancel", run);
	int64_t n;

	(void)state;
	assert_string_equal(get(&a, "result.resultType"), "complete");
	assert_string_equal(get(&a, "result.status"), "");
	assert_string_equal(box_of(run), "destroying");
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE kind = 'destroy' AND box_id = "
				    "(SELECT box_id FROM runs WHERE name = '%s')",
				 run),
		1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE action = 'teardown' AND "
				    "subject = '%s'",
				 run),
		1);
	a = ask("cancel", run); /* twice is fine */
	assert_string_equal(get(&a, "result.resultType"), "complete");
	run = testweb_waiting_run(pool, &n);
	(void)ask("cancel", run);
	assert_string_equal(box_of(run), "destroying");
	for (size_t i = 0; i < 3; i++) {
		run = begin();
		turn_to(run, ended[i]);
		testdb_exec("UPDATE boxes SET state = 'ready' WHERE id = (SELECT box_id FROM runs "
			    "WHERE name = '%s')",
			run);
		a = ask("cancel", run);
		assert_string_equal(get(&a, "result.resultType"), "complete");
		assert_string_equal(box_of(run), "ready");
		assert_string_equal(state_of(run), ended[i]);
	}
}

static void test_refused(void **state)
{
	static const char *const methods[] = {"get", "update", "cancel"};
	const char *run = begin(), *theirs, *first = NULL;
	struct answer a;

	(void)state;
	testdb_exec("INSERT INTO accounts (name) VALUES ('stranger')");
	theirs = begin();
	testdb_exec("UPDATE runs SET account_id = (SELECT id FROM accounts WHERE name = "
		    "'stranger') WHERE name = '%s'",
		theirs);
	for (size_t i = 0; i < 3; i++) {
		const char *const ids[] = {
			theirs, "run-aaaaaaaaaaaaaaaa", "..", "box-1", "'; DROP TABLE runs"};

		/* a client that does not declare it */
		a = ask_as(NULL, methods[i], run, "\"elicitation\":{}", "");
		assert_int_equal(a.status, 400);
		assert_string_equal(get(&a, "error.code"), "-32021");
		assert_non_null(strstr(get(&a, "error.data.requiredCapabilities.extensions"),
			"io.modelcontextprotocol\\/tasks"));
		/* unknown, another account's, nonsense: not to be told apart */
		for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++) {
			a = ask_as(NULL, methods[i], ids[k], TASKS, ",\"inputResponses\":{}");
			assert_int_equal(a.status, 200);
			assert_string_equal(get(&a, "error.code"), "-32602");
			if (!first)
				first = get(&a, "error");
			assert_string_equal(get(&a, "error"), first);
		}
		/* Mcp-Name is the task */
		a = testweb_mcp(pool,
			&(struct testweb_mcp){.method = pool_printf(pool, "tasks/%s", methods[i]),
				.name = "another",
				.capabilities = TASKS,
				.params = pool_printf(pool, "\"taskId\":\"%s\"", run)});
		assert_int_equal(a.status, 400);
		assert_string_equal(get(&a, "error.code"), "-32020");
		a = ask_as(NULL, methods[i], run, TASKS, ",\"inputResponses\":{}");
		assert_string_equal(get(&a, "result.resultType"), "complete");
	}
	assert_string_equal(box_of(theirs), "creating");
	for (size_t i = 0; i < 2; i++) {
		a = ask(i ? "list" : "result", run);
		assert_int_equal(a.status, 404);
		assert_string_equal(get(&a, "error.code"), "-32601");
	}
}

/* A key that may only read follows a task, and steers none. */
static void test_scopes(void **state)
{
	const char *run = begin(), *bearer;
	struct answer a = testweb_operator(
		pool, "POST", "/create_key.json", "{\"title\":\"reads\",\"scope\":\"run:read\"}");

	(void)state;
	bearer = pool_printf(pool, "Authorization: Bearer %s", get(&a, "key"));
	a = ask_as(bearer, "get", run, TASKS, "");
	assert_string_equal(get(&a, "result.status"), "working");
	a = ask_as(bearer, "cancel", run, TASKS, "");
	assert_int_equal(a.status, 403);
	assert_non_null(strstr(a.head, "insufficient_scope"));
	a = ask_as(bearer, "update", run, TASKS, responses(1, ACCEPT("x")));
	assert_int_equal(a.status, 403);
	assert_string_equal(box_of(run), "creating");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, testweb_drop_pool)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_it_is_said),
		TEST(test_delegate_is_a_task),
		TEST(test_twice),
		TEST(test_states),
		TEST(test_a_question_is_a_form),
		TEST(test_cancel),
		TEST(test_refused),
		TEST(test_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
