/*
 * The tasks extension: for a client that declares it a run that delegate has begun is a task. There
 * is no state but the run's: the task's id is its session, and each answer is made of the run as it
 * is now. What is asked by forms is answered with tasks/update, which is resume, and tasks/cancel
 * is teardown, which saves the work first; of a run that has ended it ends nothing, since the box
 * of such a one holds results.
 */
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "field.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "response.h"
#include "text.h"

/* Often enough for people; a look at a run costs a millisecond. */
#define POLL_MS 2000
#define LINE_MAX 300 /* bytes of what its agent said last */

enum status { WORKING, INPUT_REQUIRED, COMPLETED, CANCELLED };
static const char *const status_names[] = {
	[WORKING] = "working",
	[INPUT_REQUIRED] = "input_required",
	[COMPLETED] = "completed",
	[CANCELLED] = "cancelled",
};

bool mcp_tasks_declared(const struct mcp *m)
{
	return json_is_object(json_get(json_get(m->capabilities, "extensions"), MCP_TASKS));
}

bool mcp_tasks_undeclared(struct mcp *m)
{
	struct json_object *data = json_new_object(), *needed = json_new_object(),
			   *extensions = json_new_object();

	json_add(extensions, MCP_TASKS, json_new_object());
	json_add(needed, "extensions", extensions);
	json_add(data, "requiredCapabilities", needed);
	return mcp_fault(m, 400, MCP_MISSING_CAPABILITY, data,
		"this is for clients that declare the extension " MCP_TASKS);
}

static const char *text_of(struct json_object *o, const char *key)
{
	const char *s = "";

	(void)json_get_text(o, key, &s);
	return s;
}

/* Who has no forms is asked by text, which is how a call of delegate ends: with the question, and
 * that resume answers it. Whatever the run does then, that task has ended and stays so. */
static enum status status_of(const struct mcp *m, struct json_object *run)
{
	const char *state = text_of(run, "state");
	int64_t turn = 0;

	if (!strcmp(state, "stopped"))
		return CANCELLED;
	if (!strcmp(state, "done") || !strcmp(state, "failed") || !strcmp(state, "lost"))
		return COMPLETED;
	(void)json_get_i64(run, "turn", &turn);
	if (!mcp_has_forms(m) && (turn > 1 || !strcmp(state, "waiting")))
		return COMPLETED;
	return strcmp(state, "waiting") != 0 ? WORKING : INPUT_REQUIRED;
}

/* All of them are written alike, so that the later one is the greater. */
static const char *last_change(struct json_object *run)
{
	const char *const times[] = {text_of(run, "created_at"), text_of(run, "started_at"),
		text_of(run, "finished_at"), text_of(json_get(run, "question"), "asked_at"),
		text_of(json_get(run, "last"), "ts")};
	const char *last = times[0];

	for (size_t i = 1; i < sizeof(times) / sizeof(times[0]); i++)
		if (strcmp(times[i], last) > 0)
			last = times[i];
	return last;
}

static const char *message_of(const struct mcp *m, struct json_object *run)
{
	const char *state = text_of(run, "state"), *line = text_of(json_get(run, "last"), "text");
	CLEANUP(buf) struct buf b = BUF_INIT(LINE_MAX * 8);
	const size_t n = strlen(line);

	(void)buf_adds(&b, text_of(run, "text"));
	if (m->call.is_repeat)
		(void)buf_adds(
			&b, "; the same call began it before: for a new run give it another title");
	if (!strcmp(state, "waiting")) {
		(void)buf_adds(&b, "; it goes on with the answer, of this client or anybody's");
	} else if (!strcmp(state, "stopped")) {
		(void)buf_adds(&b, "; what it had changed is what the tool diff shows");
	} else if (n) {
		(void)buf_adds(&b, "; its last line: ");
		text_add_sane(&b, line, n < LINE_MAX ? n : LINE_MAX);
	}
	return pool_memdup(m->serve.call.pool, b.data, b.len);
}

/* What a task has wherever it is told of. ttlMs null: runs are kept. */
static struct json_object *told(const struct mcp *m, struct json_object *run)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "taskId", text_of(run, "session"));
	json_add_text(o, "status", status_names[status_of(m, run)]);
	json_add_text(o, "statusMessage", message_of(m, run));
	json_add_text(o, "createdAt", text_of(run, "created_at"));
	json_add_text(o, "lastUpdatedAt", last_change(run));
	json_add_text(o, "ttlMs", NULL);
	json_add_i64(o, "pollIntervalMs", POLL_MS);
	return o;
}

bool mcp_task_begin(struct mcp *m, const char *json)
{
	CLEANUP(json) struct json_object *run = NULL;
	struct err err;

	if (!json_parse_ours(json, strlen(json), &run, &err))
		return false;
	m->result = told(m, run);
	json_add_text(m->result, "resultType", "task");
	return true;
}

/* Does an action for the method, with all that its route does. False: *err, or a fault already. */
static bool perform(
	struct mcp *m, const char *action, struct json_object *args_taken, struct err *err)
{
	CLEANUP(json) struct json_object *args = args_taken;
	struct serve *s = &m->serve;

	*err = (struct err){0};
	s->action = action_find_tool(action);
	if (!serve_may(s, err)) {
		(void)mcp_outer_fault(m, err_info(err->code)->http, err);
		*err = (struct err){0};
		return false;
	}
	s->input = pool_alloc(s->call.pool, s->action->input_size);
	return field_from_json(
		       s->action->fields, s->action->nfields, args, s->call.pool, s->input, err) &&
	       serve_run(s, err);
}

/* An err that perform has not made a fault of. */
static bool failed(struct mcp *m, const struct err *err)
{
	return err->code ? mcp_fault_err(m, 200, err) : false;
}

static struct json_object *args_of(const char *session)
{
	struct json_object *args = json_new_object();

	json_add_text(args, "session", session);
	return args;
}

/* The run, which the caller frees, and its id. That there is none, none of this account, and none
 * of such a name is all the same. */
static bool find(struct mcp *m, const char **id, struct json_object **run)
{
	const struct response *rs = m->serve.call.rs;
	struct err err;

	if (!mcp_tasks_declared(m))
		return mcp_tasks_undeclared(m);
	if (!mcp_param(m, "taskId", id))
		return false;
	if (perform(m, "status", args_of(*id), &err))
		return json_parse_ours(rs->body.data, rs->body.len, run, &err) || failed(m, &err);
	if (err.code == ERR_NOT_FOUND || err.code == ERR_INVALID)
		return mcp_bad_params(m, "params.taskId: no such task");
	return failed(m, &err);
}

bool mcp_tasks_get(struct mcp *m)
{
	const struct response *rs = m->serve.call.rs;
	struct pool *pool = m->serve.call.pool;
	CLEANUP(json) struct json_object *run = NULL;
	const char *id;

	if (!find(m, &id, &run))
		return false;
	m->result = told(m, run);
	m->call.tool = "delegate";
	switch (status_of(m, run)) {
	case COMPLETED:
		json_add(m->result, "result",
			mcp_result_object(pool, &m->call, 200,
				pool_memdup(pool, rs->body.data, rs->body.len)));
		break;
	case INPUT_REQUIRED:
		json_add(m->result, "inputRequests", mcp_question_requests(pool, run));
		break;
	case WORKING:
	case CANCELLED:
		break;
	}
	return true;
}

/* Of an answer to what is asked no more, or was never, nothing comes. */
static bool answer(struct mcp *m, const char *id, int64_t question, const char *text)
{
	struct json_object *args = args_of(id);
	struct call *c = &m->serve.call;
	struct err err;

	json_add_i64(args, "question", question);
	json_add_text(args, "message", text);
	if (perform(m, "resume", args, &err))
		return true;
	if (err.code != ERR_CONFLICT && err.code != ERR_NOT_FOUND)
		return failed(m, &err);
	json_free(c->context);
	c->context = NULL;
	m->serve.action = NULL;
	return true;
}

bool mcp_tasks_update(struct mcp *m)
{
	struct json_object *responses = json_get(m->params, "inputResponses");
	CLEANUP(json) struct json_object *run = NULL;
	const char *id = NULL, *key, *text = NULL;
	int64_t question = 0;

	if (!find(m, &id, &run))
		return false;
	if (!json_is_object(responses))
		return mcp_bad_params(m, "params.inputResponses: must be an object");
	for (size_t i = 0; (key = json_key_at(responses, i)); i++)
		if (mcp_elicit_response(key, json_get(responses, key), &question, &text) && text &&
			!answer(m, id, question, text))
			return false;
	m->result = json_new_object();
	return true;
}

bool mcp_tasks_cancel(struct mcp *m)
{
	CLEANUP(json) struct json_object *run = NULL;
	struct err err;
	const char *id = NULL;

	if (!find(m, &id, &run))
		return false;
	if (!text_of(run, "finished_at")[0] && !perform(m, "teardown", args_of(id), &err))
		return failed(m, &err);
	m->result = json_new_object();
	return true;
}
