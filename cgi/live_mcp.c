/*
 * Waits that are MCP calls: a stream with its head at once, a sign of life every ten seconds, and
 * exactly one JSON-RPC answer, whatever comes first: the boundary, the deadline, the end of this
 * program, or a database that does not answer. A client that closes the stream ends the wait and
 * nothing else.
 *
 * Signs of life are progress notifications where the call brought a token, since clients count
 * their patience anew from these and not from comments; and comments otherwise, for what is between
 * us and the client.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "json.h"
#include "live.h"
#include "live_request.h"
#include "live_waits.h"
#include "mcp_result.h"
#include "pool.h"
#include "queries.h"
#include "response.h"
#include "text.h"

/* The head, or one event: an answer has its text twice, quoted. */
#define EVENT_MAX (1024 * 1024)
#define MESSAGE_MAX 400 /* bytes of a progress message, of which a trace line is 160 characters */

struct mcp_wait {
	struct pool *pool;
	struct mcp_call call;
	int64_t since_ms; /* on time_boot_ms */
};

bool mcp_wait_new(const char *text, struct mcp_wait **out, struct err *err)
{
	struct pool *pool = pool_new();
	struct mcp_wait *m = pool_alloc(pool, sizeof(*m));

	m->pool = pool;
	m->since_ms = time_boot_ms();
	if (!mcp_call_parse(pool, text, &m->call, err)) {
		pool_free(pool);
		return false;
	}
	*out = m;
	return true;
}

void mcp_wait_free(struct mcp_wait *m)
{
	if (m)
		pool_free(m->pool);
}

bool mcp_wait_begin(struct wait *w, const struct live_request *lr)
{
	CLEANUP(buf) struct buf head = BUF_INIT(EVENT_MAX);

	live_stream_head(w->live, lr, &head);
	return !head.failed && conn_send(&w->conn, head.data, head.len);
}

/* One event is one line of data: what is sent has no line feed, being JSON as we print it. */
static bool event_send(struct conn *c, const char *json)
{
	CLEANUP(buf) struct buf b = BUF_INIT(EVENT_MAX);

	(void)buf_addf(&b, "data: %s\n\n", json);
	return !b.failed && conn_send(c, b.data, b.len);
}

bool mcp_wait_answer(struct wait *w, int status, const char *json, const struct err *why)
{
	const struct mcp_call *call = &w->mcp->call;
	struct pool *pool = w->mcp->pool;
	const char *answer = json ? mcp_result(pool, call, status, json)
				  : mcp_result_err(pool, call, why, w->request_id);

	return event_send(&w->conn, answer) && conn_end(&w->conn);
}

bool mcp_wait_refuse(struct live *live, const struct live_request *lr, struct conn *c,
	const char *text, const struct err *err, bool *sent)
{
	struct mcp_call call;
	struct err unused;

	if (!text || !mcp_call_parse(lr->rq.pool, text, &call, &unused))
		return false;
	*sent = live_answer(live, c, 200, mcp_result_err(lr->rq.pool, &call, err, lr->rq.id));
	return true;
}

/* --- signs of life --- */

/* The last line of its trace; of what has none, nothing. */
static void message_find(const struct wait *w, const struct result *lines, struct buf *out)
{
	for (int i = 0; lines && i < lines->rows; i++)
		if (w->kind == &wait_kinds[WAIT_RUN] && w->id == result_i64(lines, i, 0)) {
			text_add_sane(out, result_text(lines, i, 1), result_len(lines, i, 1));
			return;
		}
	(void)buf_addf(out, "%s %s is not done yet", w->kind->what, w->name);
}

/* progress is the seconds since the call came, which grow with every one of them. */
static bool progress_send(struct wait *w, int64_t now_ms, const struct result *lines)
{
	CLEANUP(buf) struct buf b = BUF_INIT(EVENT_MAX), message = BUF_INIT(MESSAGE_MAX * 4);

	message_find(w, lines, &message);
	(void)buf_addf(&b,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		"\"progressToken\":%s,\"progress\":%.3f,\"message\":",
		w->mcp->call.token, (double)(now_ms - w->mcp->since_ms) / 1000);
	json_add_quoted(&b, message.data, message.len);
	(void)buf_adds(&b, "}}");
	return !b.failed && event_send(&w->conn, b.data);
}

/* False: some run's line could not be read, which stops nobody. */
static bool lines_read(const struct live *live, struct result *res)
{
	CLEANUP(buf) struct buf ids = BUF_INIT(live->nwaits * 24 + 8);
	struct err err;

	for (const struct wait *w = live->waits; w; w = w->next)
		if (w->mcp && w->mcp->call.token && w->kind == &wait_kinds[WAIT_RUN])
			(void)buf_addf(&ids, "%c%lld", ids.len ? ',' : '{', (long long)w->id);
	if (!ids.len)
		return false;
	(void)buf_addc(&ids, '}');
	return db_query(live->db, Q_LIVE_RUN_LINES, ARGS(db_text(ids.data)), res, &err);
}

void mcp_waits_beat(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	CLEANUP(result) struct result res = {0};
	const int64_t now = time_boot_ms();
	bool known = lines_read(live, &res);

	(void)loop;
	(void)events;
	for (struct wait *w = live->waits, *next; w; w = next) {
		next = w->next;
		if (!w->mcp)
			continue;
		if (!(w->mcp->call.token ? progress_send(w, now, known ? &res : NULL)
					 : conn_send(&w->conn, ": waiting\n\n", 11)))
			w->conn.events->gone(&w->conn);
	}
}
