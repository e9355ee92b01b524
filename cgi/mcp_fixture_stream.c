/*
 * Fixtures that answer with a stream: progress, log messages, requests to a legacy client, and the
 * subscription of a modern one. The stream is written while the request is held: these are short,
 * and a production tool that waits is asb-live's instead.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

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

#define STEP_MS 50
#define ASK_MS 5000    /* how long a client may take to answer */
#define LISTEN_MS 3000 /* how long a subscription is held here */
#define BEAT_MS 100    /* a write tells whether the client is still there */
#define LISTENER "listen-"
#define RETRY_MS 200 /* when a client whose stream was closed comes back */

struct stream {
	struct pool *pool;
	const struct config *cfg;
	struct mcp_call call;
	const char *name;      /* of the tool */
	const char *event;     /* of a stream that is gone on with */
	const char *arguments; /* as JSON */
	bool logs;	       /* the client wants log messages */
	bool tools, prompts;   /* a subscription's filter */
	struct fixture_box *box;
	response_write_fn *write;
	void *to;
};

static void pause_ms(int64_t ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&t, NULL);
}

static bool send_line(struct stream *s, const char *line)
{
	return s->write(s->to, line, strlen(line)) && s->write(s->to, "", 0);
}

static bool send_event(struct stream *s, const char *json)
{
	return send_line(s, pool_printf(s->pool, "data: %s\n\n", json));
}

static bool notify(struct stream *s, const char *method, const char *params)
{
	return send_event(
		s, pool_printf(s->pool, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}",
			   method, params));
}

static bool finish(struct stream *s, const char *text, bool is_error)
{
	struct json_object *result = json_new_object(), *content = json_new_array(),
			   *item = json_new_object();

	json_add_text(item, "type", "text");
	json_add_text(item, "text", text);
	json_push(content, item);
	json_add(result, "content", content);
	json_add_bool(result, "isError", is_error);
	return send_event(s, mcp_answer(s->pool, &s->call, result));
}

static bool start(struct mcp *m, response_stream_fn *fn, struct stream **out)
{
	struct call *c = &m->serve.call;
	struct stream *s = POOL_NEW(c->pool, struct stream);
	struct json_object *arguments = json_get(m->params, "arguments");
	static const struct err none = {0};

	*s = (struct stream){.pool = c->pool,
		.cfg = c->site->cfg,
		.call = m->call,
		.name = pool_strdup(c->pool, m->call.tool),
		.arguments = arguments ? json_text(arguments, c->pool) : "{}",
		.logs = m->call.era == MCP_LEGACY || json_has(m->meta, MCP_META("logLevel"))};
	c->rs->status = 200;
	c->rs->content_type = "text/event-stream";
	c->rs->stream = fn;
	c->rs->stream_arg = s;
	c->rs->stream_size = -1;
	(void)response_header(c->rs, "X-Accel-Buffering", "no");
	serve_end(&m->serve, true, &none);
	m->answered = true;
	*out = s;
	return true;
}

static struct stream *begin(void *arg, response_write_fn *write, void *to)
{
	struct stream *s = arg;

	s->write = write;
	s->to = to;
	return s;
}

static bool write_progress(void *arg, response_write_fn *write, void *to)
{
	struct stream *s = begin(arg, write, to);

	for (int done = 0; done <= 100; done += 50) {
		if (s->call.token &&
			!notify(s, "notifications/progress",
				pool_printf(s->pool,
					"{\"progressToken\":%s,\"progress\":%d,\"total\":100}",
					s->call.token, done)))
			return false;
		pause_ms(STEP_MS);
	}
	return finish(s, "Progress was reported.", false);
}

bool fixture_progress(struct mcp *m)
{
	struct stream *s;

	return start(m, write_progress, &s);
}

static bool write_logs(void *arg, response_write_fn *write, void *to)
{
	static const char *const lines[] = {
		"Tool execution started", "Tool processing data", "Tool execution completed"};
	struct stream *s = begin(arg, write, to);

	for (size_t i = 0; i < 3; i++) {
		if (s->logs && !notify(s, "notifications/message",
				       pool_printf(s->pool, "{\"level\":\"info\",\"data\":\"%s\"}",
					       lines[i])))
			return false;
		pause_ms(STEP_MS);
	}
	return finish(s, "The tool has run.", false);
}

bool fixture_logging(struct mcp *m)
{
	struct stream *s;

	return start(m, write_logs, &s);
}

/* What each tool asks its client for; %s is the tool's own argument. */
static const struct ask {
	const char *tool, *argument, *method, *params;
} asks[] = {
	{"test_sampling", "prompt", "sampling/createMessage",
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":%s}}],"
		"\"maxTokens\":100}"},
	{"test_elicitation", "message", "elicitation/create",
		"{\"message\":%s,\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
		"\"username\":{\"type\":\"string\",\"description\":\"User's response\"},"
		"\"email\":{\"type\":\"string\",\"description\":\"User's email address\"}},"
		"\"required\":[\"username\",\"email\"]}}"},
	{"test_elicitation_sep1034_defaults", NULL, "elicitation/create",
		"{\"message\":\"Check the defaults\",\"requestedSchema\":{\"type\":\"object\","
		"\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
		"\"age\":{\"type\":\"integer\",\"default\":30},"
		"\"score\":{\"type\":\"number\",\"default\":95.5},"
		"\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
		"\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":true}},"
		"\"required\":[]}}"},
	{"test_elicitation_sep1330_enums", NULL, "elicitation/create",
		"{\"message\":\"Choose\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
		"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
		"\"option3\"]},"
		"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":"
		"\"First Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"}]},"
		"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
		"\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
		"\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":["
		"\"option1\",\"option2\",\"option3\"]}},"
		"\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\","
		"\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second "
		"Choice\"}]}}},"
		"\"required\":[]}}"},
};

static const char *params_of(struct stream *s, const struct ask *ask)
{
	CLEANUP(json) struct json_object *arguments = fixture_json(s->arguments);
	CLEANUP(buf) struct buf quoted = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	const char *text = "", *at;

	if (!ask->argument)
		return ask->params;
	(void)json_get_text(arguments, ask->argument, &text);
	json_add_quoted(&quoted, text, strlen(text));
	at = strstr(ask->params, "%s");
	(void)buf_add(&b, ask->params, (size_t)(at - ask->params));
	(void)buf_adds(&b, quoted.data);
	(void)buf_adds(&b, at + 2);
	return pool_memdup(s->pool, b.data, b.len);
}

static bool tell_answer(struct stream *s, const struct buf *letter)
{
	CLEANUP(json) struct json_object *o = fixture_json(letter->data);
	struct json_object *result = json_get(o, "result");
	const char *text = NULL, *action = NULL;

	if (json_get_text(json_get(result, "content"), "text", &text))
		return finish(s, pool_printf(s->pool, "LLM response: %s", text), false);
	if (json_get_text(result, "action", &action))
		return finish(s,
			pool_printf(s->pool, "Elicitation completed: action=%s, content=%s", action,
				json_text(json_get(result, "content"), s->pool)),
			false);
	return finish(s, "The client refused.", true);
}

/* The client's answer comes in a request of its own, to whichever child is free. */
static bool write_ask(void *arg, response_write_fn *write, void *to)
{
	struct stream *s = begin(arg, write, to);
	CLEANUP(buf) struct buf letter = BUF_INIT(1 << 17);
	const struct ask *ask = NULL;
	char id[ID_SIZE];
	struct err err;

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		if (!strcmp(asks[i].tool, s->name))
			ask = &asks[i];
	random_id(id, sizeof(id), "ask-", 16);
	s->box = fixture_box_open(s->pool, s->cfg, id, &err);
	if (!ask || !s->box)
		return finish(s, "This fixture is broken.", true);
	if (!send_event(s,
		    pool_printf(s->pool,
			    "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":%s}",
			    id, ask->method, params_of(s, ask))))
		return false;
	if (!fixture_box_take(s->box, ASK_MS, &letter))
		return finish(s, "The client did not answer.", true);
	return tell_answer(s, &letter);
}

bool fixture_ask(struct mcp *m)
{
	struct stream *s;

	return start(m, write_ask, &s);
}

static bool write_closing(void *arg, response_write_fn *write, void *to)
{
	struct stream *s = begin(arg, write, to);

	return send_line(
		s, pool_printf(s->pool, "id: %s\nretry: %d\ndata: \n\n", s->event, RETRY_MS));
}

bool fixture_reconnection(struct mcp *m)
{
	struct stream *s;

	(void)start(m, write_closing, &s);
	s->event = fixture_event_id(m);
	return true;
}

static bool write_resumed(void *arg, response_write_fn *write, void *to)
{
	return finish(begin(arg, write, to), "Here is the rest.", false);
}

bool fixture_resume(struct mcp *m)
{
	struct stream *s;

	return start(m, write_resumed, &s);
}

static bool send_changed(struct stream *s, const char *what)
{
	return notify(s, pool_printf(s->pool, "notifications/%s/list_changed", what),
		pool_printf(s->pool, "{\"_meta\":{\"" MCP_META("subscriptionId") "\":%s}}",
			s->call.id));
}

static bool write_listen(void *arg, response_write_fn *write, void *to)
{
	struct stream *s = begin(arg, write, to);
	const int64_t until = time_boot_ms() + LISTEN_MS;
	struct json_object *result;

	if (!notify(s, "notifications/subscriptions/acknowledged",
		    pool_printf(s->pool,
			    "{\"_meta\":{\"" MCP_META(
				    "subscriptionId") "\":%s},"
						      "\"notifications\":{%s%s%s}}",
			    s->call.id, s->tools ? "\"toolsListChanged\":true" : "",
			    s->tools && s->prompts ? "," : "",
			    s->prompts ? "\"promptsListChanged\":true" : "")))
		return false;
	while (s->box && time_boot_ms() < until) {
		CLEANUP(buf) struct buf letter = BUF_INIT(1 << 17);

		if (!fixture_box_take(s->box, BEAT_MS, &letter)) {
			if (!send_line(s, ":\n\n"))
				return false;
			continue;
		}
		if (((!strcmp(letter.data, "tools") && s->tools) ||
			    (!strcmp(letter.data, "prompts") && s->prompts)) &&
			!send_changed(s, letter.data))
			return false;
	}
	result = fixture_json(pool_printf(
		s->pool, "{\"_meta\":{\"" MCP_META("subscriptionId") "\":%s}}", s->call.id));
	return send_event(s, mcp_answer(s->pool, &s->call, result));
}

bool fixture_listen(struct mcp *m)
{
	struct json_object *wanted = json_get(m->params, "notifications");
	char name[ID_SIZE];
	struct err err;
	struct stream *s;

	(void)start(m, write_listen, &s);
	(void)json_get_bool(wanted, "toolsListChanged", &s->tools);
	(void)json_get_bool(wanted, "promptsListChanged", &s->prompts);
	random_id(name, sizeof(name), LISTENER, 16);
	s->box = fixture_box_open(s->pool, s->cfg, name, &err);
	return true;
}

bool fixture_trigger(struct mcp *m)
{
	const char *what = strstr(m->call.tool, "prompt") ? "prompts" : "tools";

	fixture_post(m->serve.call.site->cfg, LISTENER, true, what, strlen(what));
	m->result = fixture_json("{\"content\":[{\"type\":\"text\",\"text\":\"Changed.\"}]}");
	return true;
}
