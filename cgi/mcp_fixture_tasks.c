/*
 * Fixtures of the tasks extension. A task is a small file in RUN_DIR; what it has come to is worked
 * out from when it began, whenever somebody asks, so that nothing runs in between.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "mcp_door.h"
#include "mcp_fixture.h"
#include "pool.h"
#include "random.h"
#include "site.h"
#include "text.h"

#define TTL_MS 600000
#define POLL_MS 200
#define FORM(key, member, type)                                                             \
	"\"" key                                                                            \
	"\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":"  \
	"\"Please say\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" member \
	"\":{\"type\":\"" type "\"}},\"required\":[\"" member "\"]}}}"
#define PROPERTY(name, type) \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"" type "\"}"

enum outcome { GOOD, TOOL_ERROR, PROTOCOL_ERROR };

static const struct job {
	const char *requests; /* of a task: what it waits for, as JSON; NULL: nothing */
	int64_t delay_ms;     /* -1: the caller says, in seconds */
	enum outcome outcome;
	bool is_required; /* cannot be done but as a task */
	bool asks_first;  /* before there is a task */
	const char *name;
} jobs[] = {
	{NULL, 0, GOOD, false, false, "greet"},
	{NULL, -1, GOOD, false, false, "slow_compute"},
	{NULL, 1000, TOOL_ERROR, true, false, "failing_job"},
	{NULL, 500, PROTOCOL_ERROR, false, false, "protocol_error_job"},
	{"{" FORM("confirm", "confirm", "boolean") "}", 0, GOOD, false, false, "confirm_delete"},
	{"{" FORM("first", "name", "string") "," FORM("second", "name", "string") "}", 0, GOOD,
		false, false, "multi_input"},
	{NULL, 500, GOOD, true, true, "test_tool_with_task"},
};

const struct fixture_tool mcp_fixture_task_tools[] = {
	{"greet", "Says hello.", PROPERTY("name", "string") "}}", NULL, fixture_job},
	{"slow_compute", "Takes its time.",
		PROPERTY("seconds", "number") ",\"label\":{\"type\":\"string\"}}}", NULL,
		fixture_job},
	{"failing_job", "Fails after a second.", NULL, NULL, fixture_job},
	{"protocol_error_job", "Breaks.", NULL, NULL, fixture_job},
	{"confirm_delete", "Asks before it goes on.", PROPERTY("filename", "string") "}}", NULL,
		fixture_job},
	{"multi_input", "Asks two things at once.", NULL, NULL, fixture_job},
	{"test_tool_with_task", "Asks, and then takes its time.", NULL, NULL, fixture_job},
	{NULL, NULL, NULL, NULL, NULL},
};

static const char *path_of(struct mcp *m, const char *id)
{
	return pool_printf(
		m->serve.call.pool, "%s/conformance-%s", m->serve.call.site->cfg->run_dir, id);
}

static bool save(struct mcp *m, const char *id, struct json_object *task)
{
	const char *path = path_of(m, id), *next = pool_printf(m->serve.call.pool, "%s.new", path),
		   *text = json_text(task, m->serve.call.pool);
	CLEANUP(fd) int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
		       !rename(next, path)) ||
	       mcp_fault(m, 200, MCP_INTERNAL, NULL, "the task could not be kept");
}

static struct json_object *load(struct mcp *m, const char *id)
{
	char text[65536];
	CLEANUP(fd) int fd = -1;
	ssize_t n;

	if (!text_has_prefix(id, "task-") || !text_is_name(id))
		return NULL;
	fd = open(path_of(m, id), O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return fixture_json(text);
}

static const struct job *find(const char *name)
{
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (!strcmp(jobs[i].name, name))
			return &jobs[i];
	return &jobs[0];
}

static struct json_object *result_of(struct mcp *m, const struct job *job, const char *name)
{
	CLEANUP(buf) struct buf quoted = BUF_INIT(65536);
	const char *text = pool_printf(m->serve.call.pool, "Hello, %s!", name);

	json_add_quoted(&quoted, text, strlen(text));
	return fixture_json(pool_printf(m->serve.call.pool,
		"{\"content\":[{\"type\":\"text\",\"text\":%s}],\"isError\":%s}", quoted.data,
		job->outcome == TOOL_ERROR ? "true" : "false"));
}

/* What of the task's questions nobody has answered yet. */
static struct json_object *pending(const struct job *job, struct json_object *task)
{
	struct json_object *all = fixture_json(job->requests ? job->requests : "{}"),
			   *out = json_new_object();
	const char *key;

	for (size_t i = 0; (key = json_key_at(all, i)); i++)
		if (!json_has(json_get(task, "answers"), key))
			json_add(out, key, json_share(json_get(all, key)));
	json_free(all);
	return out;
}

/* The members that a task has wherever it is told of. */
static struct json_object *told(const char *id, struct json_object *task, const char *status)
{
	struct json_object *o = json_new_object();
	char at[TIME_TEXT_SIZE];
	int64_t ms = 0;

	(void)json_get_i64(task, "at", &ms);
	time_text(ms, at);
	json_add_text(o, "taskId", id);
	json_add_text(o, "status", status);
	json_add_text(o, "createdAt", at);
	json_add_text(o, "lastUpdatedAt", at);
	json_add_i64(o, "ttlMs", TTL_MS);
	json_add_i64(o, "pollIntervalMs", POLL_MS);
	return o;
}

static bool create(struct mcp *m, const struct job *job, int64_t delay_ms, const char *name)
{
	CLEANUP(json) struct json_object *task = json_new_object();
	char id[ID_SIZE];

	random_id(id, sizeof(id), "task-", 16);
	json_add_text(task, "tool", job->name);
	json_add_text(task, "name", name);
	json_add_i64(task, "at", time_now_ms());
	json_add_i64(task, "delay_ms", delay_ms);
	json_add(task, "answers", json_new_object());
	if (!save(m, id, task))
		return false;
	m->result = told(id, task, "working");
	json_add_text(m->result, "resultType", "task");
	return true;
}

bool fixture_job(struct mcp *m)
{
	const struct job *job = find(m->call.tool);
	struct json_object *arguments = json_get(m->params, "arguments"),
			   *answer = json_get(json_get(m->params, "inputResponses"), "user_name");
	const char *name = "world";
	double seconds = 0;

	(void)json_get_text(arguments, "name", &name);
	(void)json_get_text(json_get(answer, "content"), "name", &name);
	(void)json_get_f64(arguments, "seconds", &seconds);
	if (job->is_required && !mcp_tasks_declared(m) && m->call.era == MCP_MODERN)
		return mcp_tasks_undeclared(m);
	if (job->asks_first && !json_is_object(answer)) {
		m->result =
			fixture_json("{\"resultType\":\"input_required\",\"inputRequests\":{" FORM(
				"user_name", "name", "string") "}}");
		return true;
	}
	/* what is done at once is no task, nor is what nobody could follow */
	if (!mcp_tasks_declared(m) ||
		(!job->requests && (job->delay_ms < 0 ? seconds <= 0 : !job->delay_ms))) {
		m->result = result_of(m, job, name);
		return true;
	}
	return create(m, job, job->delay_ms < 0 ? (int64_t)(seconds * 1000) : job->delay_ms, name);
}

static bool tell(struct mcp *m, const char *id, struct json_object *task)
{
	const char *tool = "", *name = "";
	const struct job *job;
	struct json_object *requests;
	int64_t at = 0, delay_ms = 0;

	(void)json_get_text(task, "tool", &tool);
	(void)json_get_text(task, "name", &name);
	(void)json_get_i64(task, "at", &at);
	(void)json_get_i64(task, "delay_ms", &delay_ms);
	job = find(tool);
	requests = pending(job, task);
	if (json_has(task, "cancelled")) {
		m->result = told(id, task, "cancelled");
	} else if (json_key_at(requests, 0)) {
		m->result = told(id, task, "input_required");
		json_add(m->result, "inputRequests", json_share(requests));
	} else if (time_now_ms() < at + delay_ms) {
		m->result = told(id, task, "working");
	} else if (job->outcome == PROTOCOL_ERROR) {
		m->result = told(id, task, "failed");
		json_add(m->result, "error",
			fixture_json("{\"code\":-32603,\"message\":\"it broke\"}"));
	} else {
		m->result = told(id, task, "completed");
		json_add(m->result, "result", result_of(m, job, name));
		json_add_text(json_get(m->result, "result"), "resultType", "complete");
	}
	json_free(requests);
	return true;
}

static bool update(struct mcp *m, const char *id, struct json_object *task)
{
	struct json_object *given = json_get(m->params, "inputResponses"),
			   *answers = json_get(task, "answers");
	const char *key;

	for (size_t i = 0; (key = json_key_at(given, i)); i++)
		json_add(answers, key, json_share(json_get(given, key)));
	m->result = json_new_object();
	return save(m, id, task);
}

/* A task that has ended stays as it ended. */
static bool cancel(struct mcp *m, const char *id, struct json_object *task)
{
	const char *status = "";
	bool live;

	(void)tell(m, id, task);
	(void)json_get_text(m->result, "status", &status);
	live = !strcmp(status, "working") || !strcmp(status, "input_required");
	json_free(m->result);
	m->result = json_new_object();
	if (live)
		json_add_bool(task, "cancelled", true);
	return !live || save(m, id, task);
}

/* What is no task of the fixtures is left to the real ones. */
bool fixture_tasks(struct mcp *m, bool *ok)
{
	CLEANUP(json) struct json_object *task = NULL;
	const char *id;

	if (!text_has_prefix(m->method, "tasks/") || !mcp_tasks_declared(m) ||
		!json_get_text(m->params, "taskId", &id) || !(task = load(m, id)))
		return false;
	if (!strcmp(m->method, "tasks/get"))
		*ok = tell(m, id, task);
	else if (!strcmp(m->method, "tasks/update"))
		*ok = update(m, id, task);
	else
		*ok = cancel(m, id, task);
	return true;
}
