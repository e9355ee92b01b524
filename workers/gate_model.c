/*
 * What a call of the model is besides a transfer: it has a row, whatever becomes of it, and the
 * key, which went up with it, does not come down again. The key is covered byte for byte, so
 * that lengths stay what they were; an answer that cannot be read (compressed) is not let through.
 */
#include "gate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <json-c/json.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "json.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

static const char *type_of(int status)
{
	static const struct {
		int status;
		const char *type;
	} rows[] = {
		{400, "invalid_request_error"},
		{401, "authentication_error"},
		{403, "permission_error"},
		{404, "not_found_error"},
		{413, "request_too_large"},
		{429, "rate_limit_error"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].status == status)
			return rows[i].type;
	return "api_error";
}

const char *model_error_json(struct pool *pool, int status, const char *message)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *e = json_new_object();

	json_add_text(e, "type", type_of(status));
	json_add_text(e, "message", pool_printf(pool, "Agent Sandbox gate: %s", message));
	json_add_text(o, "type", "error");
	json_add(o, "error", e);
	return json_text(o, pool);
}

void model_call_begin(struct gate_stream *s)
{
	struct model_call *m = POOL_NEW(s->pool, struct model_call);

	m->start_ms = time_boot_ms();
	m->path = s->req.path + strlen(s->route->prefix);
	m->key = s->to.key;
	m->key_n = strlen(m->key);
	buf_init(&m->held, MODEL_KEY_MAX);
	usage_init(&m->usage, false);
	s->call = m;
}

bool model_call_header(struct model_call *m, const char *line, size_t n)
{
	static const char type[] = "content-type:", encoding[] = "content-encoding:";

	if (n > sizeof(type) && !strncasecmp(line, type, sizeof(type) - 1)) {
		m->is_stream = memmem(line, n, "text/event-stream", 17) != NULL;
		m->is_json = memmem(line, n, "json", 4) != NULL;
	}
	return n < sizeof(encoding) || strncasecmp(line, encoding, sizeof(encoding) - 1) ||
	       memmem(line, n, "identity", 8);
}

void model_call_head(struct model_call *m, long status)
{
	m->first_ms = time_boot_ms();
	m->status = (int)status;
	usage_init(&m->usage, m->is_stream);
}

/* How many of the last bytes may be the beginning of the key. */
static size_t tail_of_key(const struct model_call *m, const char *data, size_t len)
{
	size_t n = m->key_n - 1 < len ? m->key_n - 1 : len;

	while (n && memcmp(data + len - n, m->key, n) != 0)
		n--;
	return n;
}

void model_call_body(struct model_call *m, const char *data, size_t n, struct buf *out)
{
	size_t from = 0, keep;
	char *at;

	if (m->is_stream || m->is_json)
		usage_feed(&m->usage, data, n);
	(void)buf_add(out, m->held.data, m->held.len);
	(void)buf_add(out, data, n);
	buf_reset(&m->held);
	if (!m->key_n)
		return;
	/* on behind each: a key may look like its own cover */
	while ((at = memmem(out->data + from, out->len - from, m->key, m->key_n))) {
		memset(at, '*', m->key_n);
		from = (size_t)(at - out->data) + m->key_n;
	}
	keep = tail_of_key(m, out->data, out->len);
	out->len -= keep;
	(void)buf_add(&m->held, out->data + out->len, keep);
	if (keep)
		out->data[out->len] = '\0';
}

const char *model_call_end(struct model_call *m, struct buf *out)
{
	(void)buf_add(out, m->held.data, m->held.len);
	buf_reset(&m->held);
	usage_end(&m->usage);
	/* a stream says when it is over; one that just ends was cut */
	if (m->is_stream && m->status == 200 && !m->usage.stopped && !m->usage.error[0])
		return "dropped";
	return NULL;
}

void model_call_error(struct model_call *m, const char *word)
{
	if (!m->usage.error[0])
		(void)snprintf(m->usage.error, sizeof(m->usage.error), "%s", word);
}

void model_call_done(struct gate_stream *s)
{
	struct model_call *m = s->call;
	const struct usage *u = m ? &m->usage : NULL;
	const struct gate_caller *who = &s->who;
	struct err err;

	if (!m || m->has_row)
		return;
	m->has_row = true;
	if (!db_query(s->conn->gate->db, Q_GATE_MODEL_CALL_ADD,
		    ARGS(db_i64(who->account_id), db_i64(who->box_id), db_i64(who->run_id),
			    db_i64(who->turn_id), db_text(m->path),
			    db_text(u->model[0] ? u->model : NULL), db_i64(m->status),
			    db_text(u->error[0] ? u->error : NULL), db_i64(u->counts[USAGE_INPUT]),
			    db_i64(u->counts[USAGE_OUTPUT]), db_i64(u->counts[USAGE_CACHE_READ]),
			    db_i64(u->counts[USAGE_CACHE_WRITE]),
			    db_i64(m->first_ms ? m->first_ms - m->start_ms : -1),
			    db_i64(time_boot_ms() - m->start_ms)),
		    NULL, &err))
		log_error("box=%s model call not written: %s", who->box, err.msg);
	buf_done(&m->held);
}
