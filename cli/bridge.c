/*
 * The loop of asb mcp, and what is said to the client. Standard input is read whatever the calls
 * are doing; a line is written in pieces that a pipe takes without waiting, so that a client which
 * reads late stops nothing but its own answers. Once the client has gone nothing is written any
 * more.
 */
#include "bridge.h"

#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"
#include "text.h"

#define OUT_MAX (256u << 20)
#define ROUND_MS 1000 /* the longest rest of the loop */
/* For the client's answer to roots/list, which may wait for a person or a busy machine: half of
 * what the most impatient client gives a call. */
#define ROOTS_WAIT_MS 30000
#define FDS_MAX (2 + BRIDGE_CALLS_MAX)
#define INVALID_REQUEST (-32600)

void bridge_init(struct bridge *b, struct pool *pool, int out_fd, int64_t patience_ms)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	*b = (struct bridge){.pool = pool,
		.multi = curl_multi_init(),
		.out_fd = out_fd,
		.patience_ms = patience_ms,
		.roots_wait_ms = ROOTS_WAIT_MS};
	if (!b->multi)
		abort();
	buf_init(&b->in, BRIDGE_LINE_MAX);
	buf_init(&b->out, OUT_MAX);
}

void bridge_done(struct bridge *b)
{
	while (b->calls)
		bridge_call_end(b->calls);
	(void)curl_multi_cleanup(b->multi);
	curl_global_cleanup();
	buf_done(&b->in);
	buf_done(&b->out);
}

void bridge_put(struct bridge *b, const char *line, size_t n)
{
	/* JSON has newlines between its values alone, where a space does as well */
	for (size_t i = 0; i < n; i++)
		(void)buf_addc(&b->out, line[i] == '\n' || line[i] == '\r' ? ' ' : line[i]);
	(void)buf_addc(&b->out, '\n');
}

void bridge_put_error(
	struct bridge_call *c, int code, const char *message, struct json_object *data)
{
	CLEANUP(json) struct json_object *error = json_new_object();
	const char *line;

	json_add_i64(error, "code", code);
	json_add_text(error, "message", message);
	if (data)
		json_add(error, "data", data);
	line = pool_printf(c->pool, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":%s}",
		c->id ? c->id : "null", json_text(error, c->pool));
	bridge_put(c->bridge, line, strlen(line));
	c->answered = true;
}

/* As the site's mcp_text_say_error has it. */
static const char *error_text(struct pool *pool, const struct err *err, struct json_object *context)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	(void)buf_addf(&b, "error:%s %s", err_info(err->code)->name, err->msg);
	if (json_key_at(context, 0))
		(void)buf_addf(&b, "\ncontext: %s", json_text(context, pool));
	if (*err->fix)
		(void)buf_addf(&b, "\n%s", err->fix);
	return pool_memdup(pool, b.data, b.len);
}

void bridge_put_tool_error(struct bridge_call *c, const struct err *err)
{
	CLEANUP(json) struct json_object *result = json_new_object();
	struct json_object *content = json_new_array(), *item = json_new_object(),
			   *meta = json_new_object(), *error = cli_error_json(err);
	const char *line;

	json_add_text(item, "type", "text");
	json_add_text(item, "text", error_text(c->pool, err, json_get(error, "context")));
	json_push(content, item);
	json_add(result, "content", content);
	json_add_bool(result, "isError", true);
	json_add(meta, MCP_ERROR_KEY, error);
	json_add(result, "_meta", meta);
	if (c->version)
		json_add_text(result, "resultType", "complete");
	line = pool_printf(c->pool, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", c->id,
		json_text(result, c->pool));
	bridge_put(c->bridge, line, strlen(line));
	c->answered = true;
}

void bridge_call_end(struct bridge_call *c)
{
	struct bridge *b = c->bridge;

	for (struct bridge_call **at = &b->calls; *at; at = &(*at)->next) {
		if (*at != c)
			continue;
		*at = c->next;
		b->ncalls--;
		break;
	}
	if (c->curl) {
		(void)curl_multi_remove_handle(b->multi, c->curl);
		curl_easy_cleanup(c->curl);
	}
	curl_slist_free_all(c->headers);
	if (c->shipper > 0) {
		(void)kill(c->shipper, SIGKILL);
		(void)waitpid(c->shipper, NULL, 0);
	}
	if (c->shipped >= 0)
		(void)close(c->shipped);
	if (c->events.fn)
		eventstream_done(&c->events);
	buf_done(&c->reply);
	buf_done(&c->ship_reply);
	json_free(c->message);
	pool_free(c->pool);
}

/* Calls may end while the list is gone through: it is gone through anew after each one that
 * these two name. */
static struct bridge_call *call_rootless(struct bridge *b, int64_t now)
{
	for (struct bridge_call *c = b->calls; c; c = c->next)
		if (c->roots_until_ms && c->roots_until_ms <= now)
			return c;
	return NULL;
}

static struct bridge_call *call_due(struct bridge *b, int64_t now)
{
	for (struct bridge_call *c = b->calls; c; c = c->next)
		if (c->retry_at_ms && c->retry_at_ms <= now)
			return c;
	return NULL;
}

static void calls_look(struct bridge *b)
{
	int running, left;
	int64_t now = time_boot_ms();
	struct bridge_call *c;
	struct CURLMsg *msg;

	(void)curl_multi_perform(b->multi, &running);
	while ((msg = curl_multi_info_read(b->multi, &left))) {
		char *mine = NULL;
		CURLcode rc = msg->data.result;

		if (msg->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &mine);
		bridge_sent((struct bridge_call *)(void *)mine, rc);
	}
	while ((c = call_due(b, now)))
		bridge_send(c);
	while ((c = call_rootless(b, now)))
		bridge_local_rootless(c);
}

/* false: the client has gone. */
static bool write_out(struct bridge *b)
{
	size_t piece = b->out.len < PIPE_BUF ? b->out.len : PIPE_BUF;
	ssize_t n = write(b->out_fd, b->out.data, piece);

	if (n > 0)
		buf_shift(&b->out, (size_t)n);
	return n >= 0 || errno == EINTR || errno == EAGAIN;
}

static void too_long(struct bridge *b)
{
	static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
				   "\"message\":\"a message may have no more than 8 MiB\"}}";

	bridge_put(b, line, sizeof(line) - 1);
	buf_reset(&b->in);
	b->in_skips = true;
}

/* Whole lines of what was read. */
static void take_lines(struct bridge *b)
{
	size_t at = 0;

	for (char *end; (end = memchr(b->in.data + at, '\n', b->in.len - at));) {
		size_t n = (size_t)(end - (b->in.data + at));

		*end = '\0';
		if (!b->in_skips && n)
			bridge_take_line(b, b->in.data + at, n);
		b->in_skips = false;
		at += n + 1;
	}
	buf_shift(&b->in, at);
	if (b->in_skips)
		buf_reset(&b->in);
}

/* false: its end. */
static bool read_in(struct bridge *b, int fd)
{
	char *room = buf_room(&b->in, 65536);
	ssize_t n;

	if (!room) {
		too_long(b);
		room = buf_room(&b->in, 65536);
	}
	n = room ? read(fd, room, 65536) : 0;
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	buf_grew(&b->in, (size_t)n);
	take_lines(b);
	return true;
}

static bool read_shipped(struct bridge_call *c)
{
	char *room = buf_room(&c->ship_reply, 4096);
	ssize_t n = room ? read(c->shipped, room, 4096) : 0;

	if (n < 0)
		return errno != EINTR;
	if (n > 0)
		buf_grew(&c->ship_reply, (size_t)n);
	return n == 0;
}

static int rest_ms(const struct bridge *b)
{
	int64_t now = time_boot_ms(), rest = ROUND_MS;

	for (const struct bridge_call *c = b->calls; c; c = c->next)
		if (c->retry_at_ms && c->retry_at_ms - now < rest)
			rest = c->retry_at_ms > now ? c->retry_at_ms - now : 0;
	return (int)rest;
}

/* Which descriptors, besides curl's own. calls[i] is whose fds[i] is. */
static unsigned watch(struct bridge *b, int in_fd, int signal_fd, struct curl_waitfd *fds,
	struct bridge_call **calls)
{
	unsigned n = 0;

	fds[n++] = (struct curl_waitfd){.fd = signal_fd, .events = CURL_WAIT_POLLIN};
	/* a client that does not read is not read either, once much waits for it */
	fds[n++] = (struct curl_waitfd){.fd = in_fd,
		.events = b->out.len < BRIDGE_LINE_MAX && b->ncalls < BRIDGE_CALLS_MAX
				  ? CURL_WAIT_POLLIN
				  : 0};
	fds[n++] =
		(struct curl_waitfd){.fd = b->out_fd, .events = b->out.len ? CURL_WAIT_POLLOUT : 0};
	for (struct bridge_call *c = b->calls; c && n < FDS_MAX; c = c->next) {
		if (c->shipped < 0)
			continue;
		calls[n] = c;
		fds[n++] = (struct curl_waitfd){.fd = c->shipped, .events = CURL_WAIT_POLLIN};
	}
	return n;
}

bool bridge_run(struct bridge *b, int in_fd, int signal_fd, struct err *err)
{
	struct curl_waitfd fds[FDS_MAX + 1];
	struct bridge_call *calls[FDS_MAX + 1];

	while (!b->ended) {
		unsigned n;

		calls_look(b);
		n = watch(b, in_fd, signal_fd, fds, calls);
		if (curl_multi_poll(b->multi, fds, n, rest_ms(b), NULL))
			return err_set(err, ERR_INTERNAL, "wait for the site and the client");
		if (fds[0].revents)
			break;
		if (fds[2].revents && !write_out(b))
			break;
		for (unsigned i = 3; i < n; i++)
			if (fds[i].revents && read_shipped(calls[i]))
				bridge_local_shipped(calls[i]);
		if (fds[1].revents && !read_in(b, in_fd))
			break;
	}
	return true;
}
