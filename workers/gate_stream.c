/*
 * One request of a box: read strictly, decided by its route, fetched, answered, written down. The
 * flow is bounded both ways: a box may send WIRE_WINDOW beyond what it was credited, and gets no
 * more than it credited.
 */
#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cleanup.h"
#include "db.h"
#include "json.h"
#include "killpoint.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

#define UNREADABLE "the gate cannot read its policy now"

void gate_egress_row(struct gate *g, const struct gate_caller *who, const char *route,
	const char *target, bool allowed, const char *reason, uint64_t up, uint64_t down)
{
	struct err err;

	if (!db_query(g->db, Q_GATE_EGRESS_ADD,
		    ARGS(db_i64(who->account_id), db_i64(who->box_id), db_i64(who->run_id),
			    db_text(route), db_text(target), db_bool(allowed), db_text(reason),
			    db_i64((int64_t)up), db_i64((int64_t)down)),
		    NULL, &err))
		log_error("box=%s egress row not written: %s", who->box, err.msg);
	log_info("box=%s route=%s target=%s allowed=%d reason=%s up=%llu down=%llu", who->box,
		route, log_quote(target), allowed, reason, (unsigned long long)up,
		(unsigned long long)down);
}

/* Reads who asks anew for every request, so that a decision is never older than its rows. */
static bool caller_load(struct gate_stream *s, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(s->conn->gate->db, Q_GATE_BOX, ARGS(db_text(s->conn->box)), &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "box %s is gone", s->conn->box);
	s->who = (struct gate_caller){
		.box = s->conn->box,
		.box_id = result_i64(&res, 0, 0),
		.account_id = result_i64(&res, 0, 1),
		.run_id = result_i64(&res, 0, 3),
		.repos = pool_strdup(s->pool, result_text(&res, 0, 4)),
		.turn_id = result_i64(&res, 0, 5),
		.egress = pool_strdup(s->pool, result_text(&res, 0, 6)),
	};
	return true;
}

bool gate_stream_window(struct gate_stream *s, struct err *err)
{
	s->window_ms = time_boot_ms();
	if (!caller_load(s, err)) {
		log_warn("box=%s %s", s->conn->box, err->msg);
		(void)err_set(err, ERR_BUSY, UNREADABLE);
		return err_advise(err, "gate_unavailable", NULL);
	}
	if (!strcmp(s->who.egress, s->route->egress))
		return true;
	(void)err_set(err, ERR_FORBIDDEN,
		"packages come in only while a sandbox is made: name them when it is created");
	return err_advise(err, "sealed", NULL);
}

/* May the box use the route it asked for? Errors as gate_stream_window. */
static bool route_is_open(struct gate_stream *s, struct err *err)
{
	/* the stream may have been opened long ago, while the window was open */
	if (s->route->is_package)
		return gate_stream_window(s, err);
	if (!strcmp(s->who.egress, s->route->egress))
		return true;
	(void)err_set(err, ERR_FORBIDDEN, "this box is sealed");
	return err_advise(err, "sealed", NULL);
}

static void refuse_frame(struct gate_conn *c, uint32_t id, const char *reason, const char *message)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *o = json_new_object();
	const char *text;

	json_add_text(o, "reason", reason);
	json_add_text(o, "message", message);
	text = json_text(o, pool);
	gate_conn_send(c, WIRE_REFUSE, id, text, strlen(text));
}

void gate_stream_free(struct gate_stream *s)
{
	if (s->call && !s->call->has_row) {
		model_call_error(s->call, "box_left");
		model_call_done(s);
	}
	fetch_stop(s);
	if (s->rewrite)
		rewrite_done(s->rewrite);
	buf_done(&s->raw);
	buf_done(&s->decoded);
	buf_done(&s->head);
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->conn->nstreams--;
	pool_free(s->pool);
	free(s);
}

static struct gate_stream *stream_new(struct gate_conn *c, uint32_t id)
{
	struct gate_stream *s = mem_alloc(sizeof(*s));

	s->conn = c;
	s->id = id;
	s->pool = pool_new();
	buf_init(&s->raw, WIRE_WINDOW + WIRE_PAYLOAD_MAX);
	buf_init(&s->decoded, WIRE_WINDOW);
	buf_init(&s->head, HTTP_HEAD_MAX);
	s->credited = s->allowed = WIRE_WINDOW;
	s->next = c->streams;
	s->prev = &c->streams;
	if (s->next)
		s->next->prev = &s->next;
	c->streams = s;
	c->nstreams++;
	return s;
}

/* A box that opens without end must not fill the disk with rows of refusals, nor keep us from the
 * others. */
static bool open_is_due(struct gate_conn *c)
{
	int64_t now = time_boot_ms();

	if (c->opens_ms < now)
		c->opens_ms = now;
	if (c->opens_ms - now >= (int64_t)GATE_OPENS_BURST * GATE_OPEN_MS)
		return false;
	c->opens_ms += GATE_OPEN_MS;
	return true;
}

/* {"route":..}: a stream that waits for its request. {"host":..,"port":N}: the open world, which
 * no box of this part may reach; said so, with how to ask. */
void gate_stream_open(struct gate_conn *c, const struct wire_frame *f)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *route, *host;
	struct gate_stream *s;
	struct err err;
	int64_t port = 0;

	if (c->nstreams >= GATE_STREAMS_PER_BOX) {
		refuse_frame(
			c, f->stream, "too_many_streams", "this box has too many connections open");
		return;
	}
	if (!open_is_due(c)) {
		refuse_frame(c, f->stream, "too_fast",
			"this box opens connections faster than it may; try again in a moment");
		return;
	}
	if (!json_parse((const char *)f->payload, f->length, &o, &err)) {
		refuse_frame(c, f->stream, "protocol", err.msg);
		return;
	}
	s = stream_new(c, f->stream);
	if (!caller_load(s, &err)) {
		refuse_frame(c, f->stream, "gate_unavailable", UNREADABLE);
		gate_stream_free(s);
	} else if (json_get_text(o, "route", &route)) {
		gate_conn_send(c, WIRE_ACCEPT, f->stream, "{}", 2);
	} else {
		if (!json_get_text(o, "host", &host) || strlen(host) > 255)
			host = "?";
		(void)json_get_i64(o, "port", &port);
		refuse_frame(c, f->stream, "sealed",
			"this box has no way out but its routes; ask the person who runs it for "
			"the file "
			"or the package you need");
		gate_egress_row(c->gate, &s->who, "connect",
			pool_printf(s->pool, "%s:%lld", host, (long long)port), false, "sealed", 0,
			0);
		gate_stream_free(s);
	}
}

static void stream_credit_box(struct gate_stream *s)
{
	uint64_t total = s->received - s->raw.len - s->decoded.len + WIRE_WINDOW;

	if (total < s->credited + WIRE_WINDOW / 4)
		return;
	s->credited = total;
	if (!wire_add_credit(&s->conn->out, s->id, total))
		s->conn->out.failed = true;
}

/* For the row and the log: a path may be as long as a head. */
static const char *target_or_path(const struct gate_stream *s)
{
	return s->to.what    ? s->to.what
	       : s->req.path ? pool_printf(s->pool, "%.400s", s->req.path)
			     : "?";
}

void gate_stream_finish(struct gate_stream *s, const char *error)
{
	struct gate_conn *c = s->conn;

	if (error && s->head_sent)
		refuse_frame(c, s->id, "upstream", error);
	else
		gate_conn_send(c, WIRE_EOF, s->id, "", 0);
	model_call_done(s);
	gate_egress_row(c->gate, &s->who, s->route ? s->route->name : "?", target_or_path(s), true,
		error ? "upstream_failed" : "allowed", s->received, s->sent);
	gate_stream_free(s);
}

static void answer_send(struct gate_stream *s, int status, const char *reason, const char *body)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	(void)buf_addf(&b,
		"HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nX-Gate-Reason: %s\r\n%s"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
		status, status == 200 ? "OK" : "Refused",
		s->route && s->route->is_model ? "application/json" : "text/plain", reason,
		status == 503 ? "Retry-After: 1\r\n" : "", strlen(body), body);
	gate_conn_send(s->conn, WIRE_DATA, s->id, b.data, b.len);
	gate_conn_send(s->conn, WIRE_EOF, s->id, "", 0);
}

void gate_stream_refuse(struct gate_stream *s, int status, const char *reason, const char *message)
{
	const char *body = s->route && s->route->is_model
				   ? model_error_json(s->pool, status, message)
				   : pool_printf(s->pool, "Agent Sandbox gate: %s\n", message);

	/* a second head within an answer would be read as its body */
	if (s->head_sent)
		refuse_frame(s->conn, s->id, reason, message);
	else
		answer_send(s, status, reason,
			strcmp(s->req.method ? s->req.method : "", "HEAD") ? body : "");
	if (s->call)
		model_call_error(s->call, reason);
	model_call_done(s);
	/* the proof of the seal is a row of its own, on the box */
	if (strcmp(reason, "sealed") || strcmp(target_or_path(s), WIRE_SEAL_PATH))
		gate_egress_row(s->conn->gate, &s->who, s->route ? s->route->name : "?",
			target_or_path(s), false, reason, s->received, s->sent);
	gate_stream_free(s);
}

/* Takes what there is of the request's body, up to what curl may hold and the route allows. */
static bool body_feed(struct gate_stream *s, struct err *err)
{
	size_t before = s->decoded.len;

	if (!http_body_feed(&s->body, &s->raw, &s->decoded, WIRE_WINDOW, err))
		return false;
	s->body_bytes += (int64_t)(s->decoded.len - before);
	if (s->route->body_max && s->body_bytes > s->route->body_max)
		return err_set(err, ERR_TOO_LARGE, "the request is larger than %lld bytes",
			(long long)s->route->body_max);
	return true;
}

static void body_refuse(struct gate_stream *s, const struct err *err)
{
	gate_stream_refuse(s, err->code == ERR_TOO_LARGE ? 413 : 400, "bad_request", err->msg);
}

/* The head is whole: find the route, map, start. Frees s when it is refused. */
static void request_begin(struct gate_stream *s)
{
	struct err err;

	s->route = gate_route_find(s->req.path);
	if (!s->route) {
		gate_stream_refuse(
			s, 404, "no_route", "no such route; there are /git/, /model/ and /pkg/");
		return;
	}
	if (!route_is_open(s, &err) && !test_switch("opengate")) {
		gate_stream_refuse(s, err.code == ERR_FORBIDDEN ? 403 : 503, err.reason, err.msg);
		return;
	}
	if (s->route->is_model && !gate_secret_load(s, &err)) {
		gate_stream_refuse(s, err.code == ERR_FORBIDDEN ? 403 : 503,
			err.reason[0] ? err.reason : "gate_unavailable",
			*err.fix ? pool_printf(s->pool, "%s: %s", err.msg, err.fix) : err.msg);
		return;
	}
	if (!s->route->map(s->conn->gate->cfg, s->pool, &s->who, &s->req, &s->to, &err)) {
		gate_stream_refuse(s, err.code == ERR_NOT_FOUND ? 404 : 403,
			err.reason[0] ? err.reason : "policy",
			*err.fix ? pool_printf(s->pool, "%s: %s", err.msg, err.fix) : err.msg);
		return;
	}
	if (!s->to.url) {
		answer_send(s, 200, "local", "");
		gate_egress_row(s->conn->gate, &s->who, s->route->name, target_or_path(s), true,
			"local", s->received, 0);
		gate_stream_free(s);
		return;
	}
	if (s->route->body_max && s->req.content_length > s->route->body_max) {
		gate_stream_refuse(s, 413, "bad_request", "the request is too large");
		return;
	}
	http_body_init(&s->body, &s->req);
	s->state = STREAM_FETCH;
	if (s->route->is_model)
		model_call_begin(s);
	if (s->to.from) {
		s->rewrite = POOL_NEW(s->pool, struct rewrite);
		rewrite_init(s->rewrite, s->to.from, s->to.into);
	}
	if (s->req.expect_continue) {
		static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

		gate_conn_send(s->conn, WIRE_DATA, s->id, go_on, sizeof(go_on) - 1);
		s->sent += sizeof(go_on) - 1;
	}
	if (!body_feed(s, &err))
		body_refuse(s, &err);
	else if (!fetch_start(s, &err))
		gate_stream_refuse(s, 502, "upstream", "the gate could not start the transfer");
}

void gate_stream_data(struct gate_stream *s, const struct wire_frame *f)
{
	struct err err;
	size_t used;

	s->received += f->length;
	if (s->received > s->credited || !buf_add(&s->raw, f->payload, f->length)) {
		gate_stream_refuse(s, 400, "protocol", "more bytes than were credited");
		return;
	}
	if (s->state == STREAM_HEAD) {
		if (!http_request_parse(s->pool, s->raw.data, s->raw.len, &s->req, &used, &err)) {
			gate_stream_refuse(s, 400, "bad_request", err.msg);
		} else if (used) {
			buf_shift(&s->raw, used);
			request_begin(s);
		}
		return;
	}
	if (!body_feed(s, &err)) {
		body_refuse(s, &err);
		return;
	}
	stream_credit_box(s);
	fetch_resume(s);
}

void gate_stream_body_more(struct gate_stream *s)
{
	struct err err;

	/* raw bytes that did not fit are read on; curl is in the middle of its transfer, and ends
	 * it at its next read where they are a breach */
	if (s->raw.len && !body_feed(s, &err))
		s->body_error = err.code;
	stream_credit_box(s);
}

void gate_stream_eof(struct gate_stream *s)
{
	if (s->state == STREAM_HEAD || s->body.state != BODY_DONE)
		gate_stream_refuse(s, 400, "bad_request", "the request ended early");
}

void gate_stream_credit(struct gate_stream *s, uint64_t allowed)
{
	if (allowed > s->allowed)
		s->allowed = allowed;
	fetch_resume(s);
}

bool gate_stream_has_room(const struct gate_stream *s, size_t n)
{
	return s->sent + n <= s->allowed;
}

bool gate_stream_send(struct gate_stream *s, const void *data, size_t n)
{
	const char *p = data;

	if (!gate_stream_has_room(s, n))
		return false;
	while (n) {
		size_t part = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;

		gate_conn_send(s->conn, WIRE_DATA, s->id, p, part);
		s->sent += part;
		p += part;
		n -= part;
	}
	return true;
}
