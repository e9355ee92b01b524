/*
 * The end of what Claude Code was told, as far as its `result` event says it: what it cost, and how
 * it went. One process says many of them. `subtype` is "success" also where the model's host
 * answered an error: is_error and terminal_reason are what counts.
 */
#include "agent_claude.h"

#include <math.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "text.h"
#include "trace.h"

#define TOKENS_MAX INT64_C(1000000000000) /* more is a lie, and sums stay sums */
#define COST_MAX 1e6
#define MODELS_MAX 16 /* looked at in one event */

struct usage {
	int64_t input, output, cache_read, cache_write;
	double cost_usd;
};

static void add_tokens(struct json_object *o, const char *key, int64_t *sum)
{
	int64_t n;

	if (json_get_i64(o, key, &n) && n > 0 && n <= TOKENS_MAX)
		*sum += n;
}

/* What this end adds: by model where the event says so (subagents are in it), else the main loop's
 * tokens and the growth of the cost. */
static struct usage usage_of(const struct agent_reader *c, struct json_object *event)
{
	struct json_object *since = json_get(event, "model_usage_since_last_result");
	struct json_object *own = json_get(event, "usage");
	struct usage u = {0};
	double total = 0, cost;
	const char *model;

	for (size_t i = 0; since && i < MODELS_MAX && (model = json_key_at(since, i)); i++) {
		struct json_object *o = json_get(since, model);

		add_tokens(o, "inputTokens", &u.input);
		add_tokens(o, "outputTokens", &u.output);
		add_tokens(o, "cacheReadInputTokens", &u.cache_read);
		add_tokens(o, "cacheCreationInputTokens", &u.cache_write);
		if (json_get_f64(o, "costUSD", &cost) && cost > 0 && cost <= COST_MAX)
			u.cost_usd += cost;
	}
	if (since)
		return u;
	add_tokens(own, "input_tokens", &u.input);
	add_tokens(own, "output_tokens", &u.output);
	add_tokens(own, "cache_read_input_tokens", &u.cache_read);
	add_tokens(own, "cache_creation_input_tokens", &u.cache_write);
	if (json_get_f64(event, "total_cost_usd", &total) && total <= COST_MAX &&
		total > c->cost_usd)
		u.cost_usd = total - c->cost_usd;
	return u;
}

static void usage_row(struct agent_reader *c, const struct usage *u, struct trace *trace)
{
	CLEANUP(buf) struct buf text = BUF_INIT(512);
	CLEANUP(buf) struct buf data = BUF_INIT(1024);

	(void)buf_addf(&text, "%lld tokens in, %lld out, $%.4f",
		(long long)(u->input + u->cache_read + u->cache_write), (long long)u->output,
		u->cost_usd);
	(void)buf_addf(&data,
		"{\"input_tokens\":%lld,\"output_tokens\":%lld,\"cache_read_tokens\":%lld,"
		"\"cache_write_tokens\":%lld,\"cost_usd\":%.8f",
		(long long)u->input, (long long)u->output, (long long)u->cache_read,
		(long long)u->cache_write, u->cost_usd);
	if (c->model[0]) {
		(void)buf_adds(&data, ",\"model\":");
		json_add_quoted(&data, c->model, strlen(c->model));
	}
	(void)buf_addc(&data, '}');
	trace_add(trace, TRACE_USAGE, NULL, text.data, text.len, data.data);
}

static void text_keep(char *to, size_t size, struct json_object *event, const char *key)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(4 * size);
	const char *text = "";

	(void)json_get_text(event, key, &text);
	text_add_sane(&sane, text, strnlen(text, size - 1));
	(void)snprintf(to, size, "%s", sane.data);
}

void claude_result(struct agent_reader *c, struct json_object *event, struct trace *trace)
{
	struct agent_facts *f = &c->facts;
	struct usage u = usage_of(c, event);
	char data[96];

	f->ended++;
	f->working = false;
	f->failed = false;
	f->status = 0;
	(void)json_get_bool(event, "is_error", &f->failed);
	(void)json_get_i64(event, "api_error_status", &f->status);
	text_keep(f->word, sizeof(f->word), event, "terminal_reason");
	text_keep(f->message, sizeof(f->message), event, "result");
	if (!f->message[0])
		text_keep(f->message, sizeof(f->message), event, "subtype");
	if (!f->failed)
		f->attempt = f->attempt_status = 0;
	c->cost_usd += u.cost_usd;
	if (f->failed && !c->said_api_error) {
		(void)snprintf(data, sizeof(data), "{\"kind\":\"agent_error\",\"status\":%lld}",
			(long long)f->status);
		trace_add(trace, TRACE_ERROR, NULL, f->message, strlen(f->message), data);
	}
	c->said_api_error = false;
	usage_row(c, &u, trace);
}

/* A request that failed and is made again after a pause. */
void claude_retry(struct agent_reader *c, struct json_object *event, struct trace *trace)
{
	struct agent_facts *f = &c->facts;
	int64_t attempt = 0, most = 0, pause_ms = 0, status = 0;
	char text[160], word[40], data[200];

	(void)json_get_i64(event, "attempt", &attempt);
	(void)json_get_i64(event, "max_retries", &most);
	(void)json_get_i64(event, "retry_delay_ms", &pause_ms);
	(void)json_get_i64(event, "error_status", &status);
	text_keep(word, sizeof(word), event, "error");
	f->attempt = attempt;
	f->attempt_status = status;
	if (status)
		(void)snprintf(text, sizeof(text),
			"the model's host answered %lld (%s): try %lld of %lld in %lld ms",
			(long long)status, word, (long long)attempt, (long long)most,
			(long long)pause_ms);
	else
		(void)snprintf(text, sizeof(text),
			"no whole answer of the model's host: try %lld of %lld in %lld ms",
			(long long)attempt, (long long)most, (long long)pause_ms);
	(void)snprintf(data, sizeof(data),
		"{\"kind\":\"api_retry\",\"status\":%lld,\"attempt\":%lld,\"max\":%lld,"
		"\"retry_ms\":%lld}",
		(long long)status, (long long)attempt, (long long)most, (long long)pause_ms);
	trace_add(trace, TRACE_ERROR, NULL, text, strlen(text), data);
}
