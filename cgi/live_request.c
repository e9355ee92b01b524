/*
 * Requests out of libfcgi's hands, and whole answers by way of response.h.
 */
#include "live_request.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "live.h"
#include "live_waits.h"
#include "pool.h"
#include "response.h"
#include "text.h"

#define BUSY_RETRY_S 2LL

static const char *param(char **envp, const char *name)
{
	const size_t n = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return "";
}

bool live_request_init(
	struct live_request *lr, struct pool *pool, int id, char **envp, struct err *err)
{
	char **copy;
	size_t n = 0;

	while (envp[n])
		n++;
	copy = POOL_ARRAY(pool, char *, n + 1);
	for (size_t i = 0; i < n; i++)
		copy[i] = pool_strdup(pool, envp[i]);
	*lr = (struct live_request){.id = id, .last_event_id = param(copy, "HTTP_LAST_EVENT_ID")};
	return request_init(&lr->rq, pool, copy, NULL, NULL, err);
}

static bool is_https(const struct live *live)
{
	return text_has_prefix(live->cfg->url, "https://");
}

static void cleanup_response(struct response *rs)
{
	response_done(rs);
}

static bool write_buf(void *arg, const void *data, size_t n)
{
	return buf_add(arg, data, n);
}

static bool write_conn(void *arg, const void *data, size_t n)
{
	return conn_send(arg, data, n);
}

/* The events come later, from the loop. */
static bool stream_later(void *arg, response_write_fn *write, void *write_arg)
{
	(void)arg;
	(void)write;
	(void)write_arg;
	return true;
}

void live_stream_head(const struct live *live, const struct live_request *lr, struct buf *out)
{
	CLEANUP(response) struct response rs;

	response_init(&rs, lr->rq.pool, is_https(live));
	rs.content_type = "text/event-stream";
	rs.stream = stream_later;
	rs.stream_size = -1;
	(void)response_header(&rs, "X-Accel-Buffering", "no");
	(void)response_send(&rs, write_buf, out);
}

bool live_answer(const struct live *live, struct conn *c, int status, const char *json)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(response) struct response rs;

	response_init(&rs, pool, is_https(live));
	response_json(&rs, status, json);
	return response_send(&rs, write_conn, c) && conn_end(c);
}

bool live_answer_err(const struct live *live, struct conn *c, const char *request_id,
	int64_t retry_s, const struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(response) struct response rs;

	response_init(&rs, pool, is_https(live));
	response_error(&rs, err, request_id, NULL);
	if (retry_s || err->code == ERR_BUSY)
		(void)response_header(&rs, "Retry-After",
			pool_printf(pool, "%lld", retry_s ? (long long)retry_s : BUSY_RETRY_S));
	return response_send(&rs, write_conn, c) && conn_end(c);
}

/* A connection that only waits for its error to be written. */
static void refused_gone(struct conn *c)
{
	conn_done(c);
	free(c);
}

static void refused_drained(struct conn *c)
{
	(void)c;
}

static const struct conn_events refused_events = {refused_gone, refused_drained};

void live_refuse(struct live *live, const struct live_request *lr, int fd, const struct err *err)
{
	struct conn *c = mem_alloc(sizeof(*c));
	struct err why = *err, unused;
	const char *mcp = NULL;
	struct wait_ask ask;
	bool sent;

	conn_init(c, live->loop, &live->nconns, fd, lr->id, &refused_events);
	if (lr->rq.query && !strcmp(lr->rq.path, "/internal/wait") &&
		wait_ask_parse(lr->rq.pool, lr->rq.query, &ask, &unused)) {
		wait_err_unread(ask.kind, ask.name, &why);
		mcp = ask.mcp;
	}
	if (!mcp_wait_refuse(live, lr, c, mcp, &why, &sent))
		sent = live_answer_err(live, c, lr->rq.id, lr->retry_s, &why);
	if (!sent)
		refused_gone(c);
}
