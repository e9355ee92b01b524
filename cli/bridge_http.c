/*
 * A message's way to the site and back. The answer is JSON or a stream of events, each of which is
 * a line for the client. A site that is being started anew is asked again, with the same
 * Idempotency-Key, so that nothing is done twice; after a while the client is told instead.
 */
#include "bridge.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "cli.h"
#include "encode.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "random.h"
#include "text.h"
#include "version.h"

#define CONNECT_TIMEOUT_MS 10000L
#define SILENT_S 90L /* nine heartbeats of a call that waits */
#define PAUSE_FIRST_MS 100
#define PAUSE_MOST_MS 1600

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	static const char type[] = "content-type: text/event-stream";
	struct bridge_call *c = arg;

	n *= size;
	if (n >= sizeof(type) - 1 && !strncasecmp(line, type, sizeof(type) - 1))
		c->is_stream = true;
	return n;
}

/* Is this the answer, and not a notification before it? */
static bool is_answer(struct json_object *o)
{
	return json_has(o, "id") && (json_has(o, "result") || json_has(o, "error"));
}

/* One message of the site's. What has no id although the request had one gets it. */
static void put_message(struct bridge_call *c, const char *text, size_t n)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(json) struct json_object *id = NULL;
	const char *patched = NULL;
	struct err err;

	if (!json_parse(text, n, &o, &err) || !json_is_object(o)) {
		bridge_put_error(c, -32603, "the site's answer is not JSON-RPC", NULL);
		return;
	}
	if (json_has(o, "error") && !json_has(o, "id") &&
		json_parse(c->id, strlen(c->id), &id, &err))
		json_add(o, "id", json_share(id));
	if (json_has(o, "method") && !json_has(o, "id")) {
		bridge_put(c->bridge, text, n);
		return;
	}
	if (json_has(o, "error") && !is_answer(o)) {
		bridge_put_error(c, -32603, "the site's answer is not JSON-RPC", NULL);
		return;
	}
	if (!strcmp(c->method, "initialize") && *cli_text(json_get(o, "result"), "protocolVersion"))
		c->bridge->legacy_version = pool_strdup(
			c->bridge->pool, cli_text(json_get(o, "result"), "protocolVersion"));
	if (!strcmp(c->method, "tools/list"))
		patched = bridge_local_tools(c, text, n);
	if (!patched && id)
		patched = json_text(o, c->pool);
	bridge_put(c->bridge, patched ? patched : text, patched ? strlen(patched) : n);
	c->answered |= is_answer(o);
}

static bool on_event(void *arg, const struct eventstream_event *e)
{
	struct bridge_call *c = arg;

	if (c->id && !c->answered)
		put_message(c, e->data, e->size);
	return !c->answered;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct bridge_call *c = arg;

	n *= size;
	c->heard_ms = time_boot_ms();
	if (!c->is_stream)
		return buf_add(&c->reply, data, n) ? n : 0;
	/* the rest of the stream, after the answer, is nothing to anybody */
	return eventstream_feed(&c->events, data, n) || c->answered ? n : 0;
}

/* A header's value as HTTP can hold it: base64 where it could be read as something else. */
static const char *header_value(struct pool *pool, const char *value)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);
	bool plain = *value && *value != ' ' && value[strlen(value) - 1] != ' ' &&
		     !text_has_prefix(value, "=?base64?");

	for (const char *s = value; *s; s++)
		plain = plain && *s >= ' ' && *s <= '~';
	if (plain)
		return value;
	(void)buf_adds(&b, "=?base64?");
	base64_add(&b, value, strlen(value));
	(void)buf_adds(&b, "?=");
	return pool_memdup(pool, b.data, b.len);
}

static struct curl_slist *add(
	struct curl_slist *list, struct pool *pool, const char *name, const char *value)
{
	struct curl_slist *longer =
		curl_slist_append(list, *name ? pool_printf(pool, "%s: %s", name, value) : value);

	if (!longer)
		abort();
	return longer;
}

/* Headers that a message of this era has over HTTP. */
static struct curl_slist *headers_new(struct bridge_call *c, const char *token)
{
	struct pool *pool = c->pool;
	struct curl_slist *list = add(NULL, pool, "", "Expect:");

	list = add(list, pool, "", "Content-Type: application/json");
	list = add(list, pool, "", "Accept: application/json, text/event-stream");
	if (*token)
		list = add(list, pool, "Authorization", pool_printf(pool, "Bearer %s", token));
	if (c->version) {
		list = add(list, pool, "MCP-Protocol-Version", header_value(pool, c->version));
		list = add(list, pool, "Mcp-Method", header_value(pool, c->method));
		if (c->name)
			list = add(list, pool, "Mcp-Name", header_value(pool, c->name));
	} else if (c->bridge->legacy_version && strcmp(c->method, "initialize") != 0) {
		list = add(list, pool, "MCP-Protocol-Version",
			header_value(pool, c->bridge->legacy_version));
	}
	if (c->id && !strcmp(c->method, "tools/call")) {
		if (!*c->key)
			random_id(c->key, sizeof(c->key), "mcp-", 24);
		list = add(list, pool, "Idempotency-Key", c->key);
	}
	return list;
}

static void set_options(struct bridge_call *c, const char *url)
{
	CURL *h = c->curl;

	(void)curl_easy_setopt(h, CURLOPT_URL, pool_printf(c->pool, "%s/mcp", url));
	(void)curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, SILENT_S);
	(void)curl_easy_setopt(h, CURLOPT_USERAGENT, "asb-mcp/" ASB_VERSION);
	(void)curl_easy_setopt(h, CURLOPT_HTTPHEADER, c->headers);
	(void)curl_easy_setopt(h, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(c->body));
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDS, c->body);
	(void)curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(h, CURLOPT_HEADERDATA, c);
	(void)curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(h, CURLOPT_WRITEDATA, c);
	(void)curl_easy_setopt(h, CURLOPT_PRIVATE, c);
}

static struct json_object *error_data(struct pool *pool, const struct err *err)
{
	struct json_object *data = json_new_object();

	(void)pool;
	json_add_text(data, "code", err_info(err->code)->name);
	json_add_text(data, "fix", *err->fix ? err->fix : NULL);
	return data;
}

static void give_up(struct bridge_call *c, const struct err *err)
{
	if (!c->id)
		cli_say("%s", err->msg);
	else
		bridge_put_error(c, err_info(err->code)->jsonrpc,
			pool_printf(c->pool, "%s%s%s", err->msg, *err->fix ? ". " : "", err->fix),
			error_data(c->pool, err));
	bridge_call_end(c);
}

void bridge_send(struct bridge_call *c)
{
	struct reach_places places;
	struct reach at;
	struct err err;

	c->retry_at_ms = 0;
	c->sent_ms = c->heard_ms = time_boot_ms();
	if (!c->away_ms)
		c->away_ms = c->sent_ms;
	if (!reach_places_get(c->pool, &places, &err) || !reach_find(c->pool, &places, &at, &err)) {
		give_up(c, &err);
		return;
	}
	/* anew for each try: another site may have been found meanwhile, which has another token */
	curl_slist_free_all(c->headers);
	c->headers = headers_new(c, at.token);
	buf_reset(&c->reply);
	if (!c->events.fn)
		eventstream_init(&c->events, on_event, c);
	eventstream_reset(&c->events);
	c->is_stream = false;
	c->curl = curl_easy_init();
	if (!c->curl)
		abort();
	set_options(c, at.url);
	if (curl_multi_add_handle(c->bridge->multi, c->curl))
		abort();
}

/* Nobody was there, or what stood before them said so. */
static bool is_away(CURLcode rc, long status)
{
	return rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST ||
	       rc == CURLE_GOT_NOTHING || rc == CURLE_RECV_ERROR || rc == CURLE_SEND_ERROR ||
	       rc == CURLE_PARTIAL_FILE || rc == CURLE_OPERATION_TIMEDOUT ||
	       (rc == CURLE_OK && (status == 502 || status == 503 || status == 504));
}

/* False: it was away for too long. A call that was held for longer than that before it broke off
 * has used up none of it. */
static bool try_again(struct bridge_call *c)
{
	const int64_t patience_ms = c->bridge->patience_ms;

	if (c->heard_ms - c->sent_ms >= patience_ms)
		c->away_ms = c->heard_ms;
	if (time_boot_ms() - c->away_ms >= patience_ms)
		return false;
	c->pause_ms = !c->pause_ms			? PAUSE_FIRST_MS
		      : c->pause_ms * 2 < PAUSE_MOST_MS ? c->pause_ms * 2
							: PAUSE_MOST_MS;
	c->retry_at_ms = time_boot_ms() + c->pause_ms;
	return true;
}

/* The body of a refusal that is no JSON-RPC: nginx's, or the API's own error. */
static void refused(struct bridge_call *c, long status)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *e = NULL;
	struct err err, ignored;

	if (json_parse(c->reply.data, c->reply.len, &o, &ignored))
		e = json_get(o, "error");
	(void)err_set(&err, status == 413 ? ERR_TOO_LARGE : ERR_UPSTREAM,
		"the site answered %ld%s%s", status, *cli_text(e, "message") ? ": " : "",
		cli_text(e, "message"));
	(void)err_advise(&err, NULL, *cli_text(e, "fix") ? cli_text(e, "fix") : NULL);
	give_up(c, &err);
}

/* What the site says of headers is for who sends them: here it is we. */
static void unauthenticated(struct bridge_call *c)
{
	struct err err;

	(void)err_set(&err, ERR_UNAUTHENTICATED, "the site wants another token than asb has");
	(void)err_advise(&err, NULL, HTTP_LOGIN_FIX);
	give_up(c, &err);
}

static bool is_jsonrpc(const struct buf *b)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *version = "";
	struct err ignored;

	return json_parse(b->data, b->len, &o, &ignored) && json_is_object(o) &&
	       json_get_text(o, "jsonrpc", &version);
}

void bridge_sent(struct bridge_call *c, CURLcode rc)
{
	long status = 0;
	struct err err;

	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_multi_remove_handle(c->bridge->multi, c->curl);
	curl_easy_cleanup(STEAL(c->curl));
	if (c->answered || (!c->id && rc == CURLE_OK)) {
		bridge_call_end(c);
		return;
	}
	/* a stream that ends without an answer was cut */
	if (is_away(rc, status) || (rc == CURLE_OK && c->is_stream)) {
		if (try_again(c))
			return;
		(void)err_set(&err, ERR_BUSY, "the site does not answer");
		(void)err_advise(&err, REASON_UNREACHABLE,
			"Start it on its host (deploy/stack up; `deploy/stack status` shows it) "
			"and "
			"call again; nothing is lost");
		give_up(c, &err);
		return;
	}
	if (rc != CURLE_OK) {
		(void)err_set(&err, ERR_UPSTREAM, "the site: %s", curl_easy_strerror(rc));
		give_up(c, &err);
		return;
	}
	if (status == 401) {
		unauthenticated(c);
		return;
	}
	while (c->reply.len && strchr("\r\n", c->reply.data[c->reply.len - 1]))
		c->reply.data[--c->reply.len] = '\0';
	if (!is_jsonrpc(&c->reply)) {
		refused(c, status);
		return;
	}
	put_message(c, c->reply.data, c->reply.len);
	bridge_call_end(c);
}
