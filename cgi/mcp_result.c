/*
 * JSON-RPC answers of tool calls. Knows both eras; knows no action and no tool but by name, so that
 * asb-live can use it. The request's id is text all the way: it goes out as it came in.
 */
#include "mcp_result.h"

#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "mcp_text.h"
#include "pool.h"
#include "response.h"
#include "version.h"

#define CALL_MAX 4096		   /* bytes of a call as JSON */
#define WORDS_ROOM 64		   /* of structuredContent: the names of our words, and quotes */
#define ANSWER_BUF_MAX (16u << 20) /* a file's text as a resource may be long */

static const char *const eras[] = {[MCP_LEGACY] = "legacy", [MCP_MODERN] = "modern"};

void mcp_call_print(struct buf *b, const struct mcp_call *call)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *o = json_new_object();
	const char *text;

	json_add_text(o, "era", eras[call->era]);
	json_add_text(o, "version", call->version);
	json_add_text(o, "id", call->id);
	json_add_text(o, "tool", call->tool);
	json_add_text(o, "token", call->token);
	if (call->state)
		json_add_text(o, "state", call->state);
	if (call->is_repeat)
		json_add_bool(o, "repeat", true);
	text = json_text(o, pool);
	base64url_add(b, text, strlen(text));
}

static bool is_raw(struct json_object *o, const char *key, const char **out)
{
	struct json_object *parsed = NULL;
	struct err err;
	bool ok;

	if (!json_get_text(o, key, out) || strlen(*out) > MCP_RAW_MAX)
		return false;
	ok = json_parse(*out, strlen(*out), &parsed, &err);
	json_free(parsed);
	return ok;
}

bool mcp_call_parse(struct pool *pool, const char *text, struct mcp_call *out, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(CALL_MAX);
	CLEANUP(json) struct json_object *o = NULL;
	const char *era = NULL, *version = NULL, *id = NULL, *tool = NULL, *token = NULL,
		   *state = NULL;
	bool is_repeat = false;

	if (strlen(text) > CALL_MAX || !base64url_decode(text, strlen(text), &b) ||
		!json_parse(b.data, b.len, &o, err) || !json_get_text(o, "era", &era) ||
		!json_get_text(o, "version", &version) || !is_raw(o, "id", &id) ||
		!json_get_text(o, "tool", &tool) ||
		(json_get(o, "token") && !is_raw(o, "token", &token)) ||
		(json_get(o, "state") && !json_get_text(o, "state", &state)) ||
		(json_get(o, "repeat") && !json_get_bool(o, "repeat", &is_repeat)) ||
		(strcmp(era, eras[MCP_LEGACY]) != 0 && strcmp(era, eras[MCP_MODERN]) != 0))
		return err_set(err, ERR_INVALID, "mcp: not a call");
	*out = (struct mcp_call){
		.era = strcmp(era, eras[MCP_MODERN]) ? MCP_LEGACY : MCP_MODERN,
		.version = pool_strdup(pool, version),
		.id = pool_strdup(pool, id),
		.tool = pool_strdup(pool, tool),
		.token = token ? pool_strdup(pool, token) : NULL,
		.state = state ? pool_strdup(pool, state) : NULL,
		.is_repeat = is_repeat,
	};
	return true;
}

struct json_object *mcp_server_info(void)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "name", "agent-sandbox");
	json_add_text(o, "title", "Agent Sandbox");
	json_add_text(o, "version", ASB_VERSION);
	json_add_text(
		o, "description", "Boxes for coding agents and for code that is to be run safely.");
	return o;
}

/* What each result of this era has: whether it is the last word, and who answers. */
static void add_common(const struct mcp_call *call, struct json_object *result)
{
	struct json_object *meta = json_get(result, "_meta");

	if (call->era == MCP_LEGACY)
		return;
	if (!json_get(result, "resultType"))
		json_add_text(result, "resultType", "complete");
	if (!meta) {
		meta = json_new_object();
		json_add(result, "_meta", meta);
	}
	json_add(meta, "io.modelcontextprotocol/serverInfo", mcp_server_info());
}

const char *mcp_answer(
	struct pool *pool, const struct mcp_call *call, struct json_object *result_taken)
{
	CLEANUP(json) struct json_object *result = result_taken;
	CLEANUP(buf) struct buf b = BUF_INIT(ANSWER_BUF_MAX);

	add_common(call, result);
	(void)buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", call->id);
	json_write(&b, result);
	(void)buf_addc(&b, '}');
	return pool_memdup(pool, b.data, b.len);
}

static struct json_object *text_item(const struct mcp_text *t)
{
	CLEANUP(buf) struct buf b = BUF_INIT(MCP_TEXT_MAX + 1);
	struct json_object *o = json_new_object();

	mcp_text_join(&b, t, MCP_TEXT_MAX);
	json_add_text(o, "type", "text");
	json_add_text_n(o, "text", b.data, b.len);
	return o;
}

/* Resource links came with 2025-06-18. */
static bool has_links(const struct mcp_call *call)
{
	return strcmp(call->version, "2025-06-18") >= 0;
}

static void add_link(struct json_object *content, struct pool *pool, const char *session,
	const char *what, const char *type)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "type", "resource_link");
	json_add_text(o, "uri", pool_printf(pool, "asb://runs/%s%s", session, what));
	json_add_text(o, "name", pool_printf(pool, "%s%s", session, what));
	json_add_text(o, "mimeType", type);
	json_push(content, o);
}

/* The whole of a run, behind links. */
static void add_links(struct json_object *content, struct pool *pool, struct json_object *answer)
{
	const char *session;

	if (!json_get_text(answer, "session", &session) || !json_get(answer, "box"))
		return;
	add_link(content, pool, session, "", "application/json");
	add_link(content, pool, session, "/log", "text/plain");
	if (json_get(answer, "patch"))
		add_link(content, pool, session, "/diff", "text/x-diff");
}

/* The answer, with its longest parts cut until it is short enough. */
static struct json_object *structured(
	struct pool *pool, struct json_object *answer, size_t max, bool *was_cut)
{
	struct json_object *o = json_share(answer);

	for (size_t string_max = 4096, list_max = 100; strlen(json_text(o, pool)) > max && list_max;
		string_max /= 2, list_max /= 2) {
		json_free(o);
		o = json_cut(answer, string_max, list_max, was_cut);
	}
	return o;
}

static void text_init(struct mcp_text *t)
{
	buf_init(&t->state, 1024);
	buf_init(&t->body, 16u << 20);
	buf_init(&t->next, 2048);
}

static void text_done(struct mcp_text *t)
{
	buf_done(&t->state);
	buf_done(&t->body);
	buf_done(&t->next);
}

/* The state and what to do next are in it as well: some clients show a model nothing else. */
static struct json_object *with_words(const struct mcp_text *t, struct json_object *taken)
{
	struct json_object *o = json_new_object();
	const char *key;

	if (t->state.len)
		json_add_text(o, "summary", t->state.data);
	if (t->next.len)
		json_add_text(o, "next", t->next.data);
	for (size_t i = 0; (key = json_key_at(taken, i)); i++)
		json_add(o, key, json_share(json_get(taken, key)));
	json_free(taken);
	return o;
}

static struct json_object *good_result(
	struct pool *pool, const struct mcp_call *call, struct json_object *answer)
{
	struct json_object *result = json_new_object(), *content = json_new_array();
	struct mcp_text t;
	bool was_cut = false;

	text_init(&t);
	mcp_text_say(&t, call->tool, answer);
	if (call->is_repeat)
		mcp_text_say_repeat(&t, answer);
	json_push(content, text_item(&t));
	if (has_links(call))
		add_links(content, pool, answer);
	json_add(result, "content", content);
	json_add(result, "structuredContent",
		with_words(&t, structured(pool, answer,
				       MCP_STRUCTURED_MAX - WORDS_ROOM - t.state.len - t.next.len,
				       &was_cut)));
	text_done(&t);
	json_add_bool(result, "isError", false);
	return result;
}

static struct json_object *bad_result(struct json_object *error)
{
	struct json_object *result = json_new_object(), *content = json_new_array(),
			   *meta = json_new_object();
	struct mcp_text t;

	text_init(&t);
	mcp_text_say_error(&t, error);
	json_push(content, text_item(&t));
	text_done(&t);
	json_add(result, "content", content);
	json_add_bool(result, "isError", true);
	json_add(meta, MCP_ERROR_KEY, json_share(error));
	json_add(result, "_meta", meta);
	return result;
}

static struct json_object *answer_schema(void)
{
	struct json_object *schema = json_new_object(), *properties = json_new_object(),
			   *answer = json_new_object(), *required = json_new_array();

	json_add_text(answer, "type", "string");
	json_add_text(answer, "title", "Answer");
	json_add_text(
		answer, "description", "Goes to the agent as it is. Never a password or a key.");
	json_add(properties, "answer", answer);
	json_push_text(required, "answer");
	json_add_text(schema, "type", "object");
	json_add(schema, "properties", properties);
	json_add(schema, "required", required);
	return schema;
}

struct json_object *mcp_question_requests(struct pool *pool, struct json_object *run)
{
	struct json_object *question = json_get(run, "question"), *requests, *request, *params;
	const char *text;
	int64_t id;

	if (!json_get_text(question, "text", &text) || !json_get_i64(question, "id", &id))
		return NULL;
	params = json_new_object();
	json_add_text(params, "mode", "form");
	json_add_text(params, "message", text);
	json_add(params, "requestedSchema", answer_schema());
	request = json_new_object();
	json_add_text(request, "method", "elicitation/create");
	json_add(request, "params", params);
	requests = json_new_object();
	json_add(requests, pool_printf(pool, MCP_QUESTION_KEY "%lld", (long long)id), request);
	return requests;
}

/* The call ends with the question as a form; NULL where the run asks nothing. */
static struct json_object *question_form(
	struct pool *pool, const struct mcp_call *call, struct json_object *run)
{
	struct json_object *requests = mcp_question_requests(pool, run), *result;

	if (!requests)
		return NULL;
	result = json_new_object();
	json_add_text(result, "resultType", "input_required");
	json_add(result, "inputRequests", requests);
	json_add_text(result, "requestState", call->state);
	return result;
}

static struct json_object *err_result(const struct err *err, const char *request_id)
{
	CLEANUP(json) struct json_object *o = err_json(err, request_id, NULL);

	return bad_result(json_get(o, "error"));
}

struct json_object *mcp_result_object(
	struct pool *pool, const struct mcp_call *call, int status, const char *json)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *result = NULL;
	struct err err;

	/* our own statements made it: not to be JSON, or no object, would be our fault */
	if (!json_parse_ours(json, strlen(json), &o, &err) || !json_key_at(o, 0)) {
		(void)err_set(&err, ERR_INTERNAL, "mcp: the answer is no object");
		result = err_result(&err, NULL);
	} else if (status >= 400) {
		result = bad_result(json_get(o, "error"));
	} else {
		result = call->state ? question_form(pool, call, o) : NULL;
		if (!result)
			result = good_result(pool, call, o);
	}
	add_common(call, result);
	return result;
}

const char *mcp_result(struct pool *pool, const struct mcp_call *call, int status, const char *json)
{
	return mcp_answer(pool, call, mcp_result_object(pool, call, status, json));
}

const char *mcp_result_err(struct pool *pool, const struct mcp_call *call, const struct err *err,
	const char *request_id)
{
	return mcp_answer(pool, call, err_result(err, request_id));
}
