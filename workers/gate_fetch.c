/*
 * libcurl's multi interface on our loop: one transfer a stream, paused whenever the box has not
 * sent enough or has not taken enough. Upstream answers are passed through by an allow list of
 * headers, in chunks, so that an answer that broke off cannot be taken for a whole one; redirects
 * are never followed, since the place they name was not checked.
 */
#include "gate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "config.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "text.h"

/* What goes around a piece of body: a chunk's size, line ends, the last chunk. */
#define BODY_BESIDE 64
/* What a piece of an answer may become, and what is held back of it until the end. */
#define BODY_SHOWN REWRITE_ROOM(CURL_MAX_WRITE_SIZE)
#define BODY_HELD MODEL_KEY_MAX
static_assert(MODEL_KEY_MAX <= BODY_SHOWN - CURL_MAX_WRITE_SIZE && REWRITE_FROM_MAX <= BODY_HELD &&
		      BODY_SHOWN + 2 * BODY_BESIDE + BODY_HELD <= WIRE_WINDOW,
	"a piece and the end fit a window");

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct gate_stream *s = arg;
	size_t len = size * n;
	const char *colon;

	while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
		len--;
	if (len > 5 && !strncmp(line, "HTTP/", 5)) { /* a new head: an earlier one was a 1xx */
		buf_reset(&s->head);
		return size * n;
	}
	if (s->call && !model_call_header(s->call, line, len))
		return 0;
	if (s->rewrite && len > 17 && !strncasecmp(line, "content-encoding:", 17) &&
		!memmem(line, len, "identity", 8))
		return 0;
	colon = memchr(line, ':', len);
	if (colon && gate_header_passes(s->route->pass_down, line, (size_t)(colon - line)) &&
		!(s->call && *s->call->key && memmem(line, len, s->call->key, s->call->key_n))) {
		(void)buf_add(&s->head, line, len);
		(void)buf_adds(&s->head, "\r\n");
	}
	return s->head.failed ? 0 : size * n;
}

/* The response's head, before its first body byte. */
static bool head_send(struct gate_stream *s)
{
	CLEANUP(buf) struct buf b = BUF_INIT(HTTP_HEAD_MAX + 256);
	long status = 0;

	if (s->head_sent)
		return true;
	(void)curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 300 && status < 400) {
		status = 502;
		buf_reset(&s->head);
	}
	s->chunked = !s->req.is_http10;
	(void)buf_addf(&b, "HTTP/1.1 %ld %s\r\n%s%sConnection: close\r\n\r\n", status,
		status < 300 ? "OK" : "Error", s->head.data,
		s->chunked ? "Transfer-Encoding: chunked\r\n" : "");
	if (!gate_stream_send(s, b.data, b.len))
		return false;
	if (s->call)
		model_call_head(s->call, status);
	s->head_sent = true;
	return true;
}

/* A chunk, and the last one where it is the end. There is room for it. */
static void chunk_send(struct gate_stream *s, const char *data, size_t n, bool is_end)
{
	CLEANUP(buf) struct buf b = BUF_INIT(BODY_SHOWN + BODY_BESIDE);

	if (n && s->chunked)
		(void)buf_addf(&b, "%zx\r\n", n);
	(void)buf_add(&b, data, n);
	if (n && s->chunked)
		(void)buf_adds(&b, "\r\n");
	if (is_end && s->chunked)
		(void)buf_adds(&b, "0\r\n\r\n");
	(void)gate_stream_send(s, b.data, b.len);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	CLEANUP(buf) struct buf shown = BUF_INIT(BODY_SHOWN);
	struct gate_stream *s = arg;
	size_t most;

	n *= size;
	most = s->rewrite ? REWRITE_ROOM(n) : n + BODY_HELD;
	if (s->sent > GATE_BYTES_MAX)
		return 0;
	/* the end must fit too, whenever it comes */
	if (!head_send(s) || !gate_stream_has_room(s, most + BODY_HELD + 2 * BODY_BESIDE)) {
		s->write_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (s->route->is_package && !pkg_goes_on(s, n))
		return 0;
	if (s->call)
		model_call_body(s->call, data, n, &shown);
	else if (s->rewrite)
		rewrite_feed(s->rewrite, data, n, &shown);
	if (s->call || s->rewrite)
		chunk_send(s, shown.data, shown.len, false);
	else
		chunk_send(s, data, n, false);
	return n;
}

/* The transfer ended well: what is left of its answer. NULL, or why it is no whole answer. */
static const char *body_end(struct gate_stream *s)
{
	CLEANUP(buf) struct buf shown = BUF_INIT(BODY_HELD);
	const char *broken = s->call ? model_call_end(s->call, &shown) : NULL;

	if (s->rewrite)
		rewrite_end(s->rewrite, &shown);
	chunk_send(s, shown.data, shown.len, !broken);
	return broken;
}

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
	struct gate_stream *s = arg;
	size_t len = size * n;

	if (s->body_error)
		return CURL_READFUNC_ABORT;
	if (len > s->decoded.len)
		len = s->decoded.len;
	if (!len && s->body.state != BODY_DONE) {
		s->read_paused = true;
		return CURL_READFUNC_PAUSE;
	}
	memcpy(to, s->decoded.data, len);
	buf_shift(&s->decoded, len);
	gate_stream_body_more(s);
	return len;
}

struct socket_watch {
	struct gate *gate;
	struct watch *watch;
	curl_socket_t fd;
};

/* One word for the row of what became of a transfer. */
static const char *word_of(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
		return "unreachable";
	case CURLE_OPERATION_TIMEDOUT:
		return "stalled";
	case CURLE_WRITE_ERROR:
		return "bad_answer";
	default:
		return "dropped";
	}
}

static void transfer_end(struct gate_stream *s, CURLcode code)
{
	const char *broken = NULL;

	if (code == CURLE_OK && head_send(s)) {
		broken = body_end(s);
		if (s->call && broken)
			model_call_error(s->call, broken);
		gate_stream_finish(s, broken);
		return;
	}
	if (s->call)
		model_call_error(s->call, s->body_error ? "bad_request" : word_of(code));
	if (s->stopped) {
		gate_stream_refuse(s, 403, s->stopped,
			"this box's package window was closed, its budget (ASB_PKG_BYTES_MAX) is "
			"used up, or neither can be read now");
	} else if (s->head_sent) {
		gate_stream_finish(s, curl_easy_strerror(code));
	} else if (s->body_error) {
		gate_stream_refuse(s, s->body_error == ERR_TOO_LARGE ? 413 : 400, "bad_request",
			"the request's body is broken or too large");
	} else {
		log_warn("box=%s upstream: %s", s->conn->box, curl_easy_strerror(code));
		gate_stream_refuse(s, 502, "upstream",
			pool_printf(s->pool, "no answer of the host behind this route: %s",
				curl_easy_strerror(code)));
	}
}

static void multi_done(struct gate *g)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(g->multi, &left))) {
		struct gate_stream *s;
		struct gate_conn *c;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&s);
		c = s->conn;
		transfer_end(s, m->data.result);
		gate_conn_flush(c);
	}
}

/* After curl had its turn: what has ended, and what any transfer wrote for its box. */
static void transfers_moved(struct gate *g)
{
	multi_done(g);
	for (struct gate_conn *c = g->conns, *next; c; c = next) {
		next = c->next;
		if (c->out.len)
			gate_conn_flush(c);
	}
}

static void socket_event(struct loop *loop, uint32_t events, void *arg)
{
	struct socket_watch *sw = arg;
	struct gate *g = sw->gate;
	int mask = 0, running;

	(void)loop;
	if (events & (EPOLLIN | EPOLLHUP))
		mask |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		mask |= CURL_CSELECT_ERR;
	(void)curl_multi_socket_action(g->multi, sw->fd, mask, &running);
	transfers_moved(g);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct gate *g = arg;
	struct socket_watch *sw = socket_arg;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (sw) {
			watch_remove(sw->watch);
			free(sw);
			(void)curl_multi_assign(g->multi, fd, NULL);
		}
		return 0;
	}
	if (sw) {
		watch_set_events(sw->watch, events);
		return 0;
	}
	sw = mem_alloc(sizeof(*sw));
	sw->gate = g;
	sw->fd = fd;
	sw->watch = loop_add_fd(g->loop, fd, events, socket_event, sw);
	(void)curl_multi_assign(g->multi, fd, sw);
	return 0;
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
	struct gate *g = arg;

	(void)multi;
	watch_set_timer(g->curl_timer, ms, 0);
	return 0;
}

static void timer_event(struct loop *loop, uint32_t events, void *arg)
{
	struct gate *g = arg;
	int running;

	(void)loop;
	(void)events;
	(void)curl_multi_socket_action(g->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	/* a transfer that was paused goes on here, and its bytes must not wait for other events */
	transfers_moved(g);
}

bool fetch_init(struct gate *g, struct err *err)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(g->multi = curl_multi_init()))
		return err_set(err, ERR_INTERNAL, "curl");
	g->curl_timer = loop_add_timer(g->loop, -1, 0, timer_event, g);
	(void)curl_multi_setopt(g->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(g->multi, CURLMOPT_SOCKETDATA, g);
	(void)curl_multi_setopt(g->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	(void)curl_multi_setopt(g->multi, CURLMOPT_TIMERDATA, g);
	return true;
}

static void headers_set(struct gate_stream *s)
{
	for (size_t i = 0; i < s->req.nheaders; i++) {
		const struct http_header *h = &s->req.headers[i];

		if (gate_header_passes(s->route->pass_up, h->name, strlen(h->name)))
			s->headers = curl_slist_append(
				s->headers, pool_printf(s->pool, "%s: %s", h->name, h->value));
	}
	for (size_t i = 0; i < s->to.nheaders; i++)
		s->headers = curl_slist_append(s->headers, s->to.headers[i]);
	/* curl adds these by itself unless told not to */
	s->headers = curl_slist_append(s->headers, "Expect:");
	if (!http_request_header(&s->req, "accept"))
		s->headers = curl_slist_append(s->headers, "Accept:");
	if (s->req.chunked)
		s->headers = curl_slist_append(s->headers, "Transfer-Encoding: chunked");
}

bool fetch_start(struct gate_stream *s, struct err *err)
{
	CURL *e = s->easy = curl_easy_init();

	if (!e)
		return err_set(err, ERR_INTERNAL, "curl");
	headers_set(s);
	(void)curl_easy_setopt(e, CURLOPT_URL, s->to.url);
	(void)curl_easy_setopt(e, CURLOPT_PRIVATE, s);
	(void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(e, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(e, CURLOPT_USERAGENT, "agent-sandbox-gate");
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, s->headers);
	(void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
	if (*s->conn->gate->cfg->ca_file)
		(void)curl_easy_setopt(e, CURLOPT_CAINFO, s->conn->gate->cfg->ca_file);
	/* whole seconds are what curl counts in; an answer that the box holds up is exempt */
	(void)curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME,
		(long)((s->conn->gate->cfg->model_stall_ms + 999) / 1000));
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(e, CURLOPT_HEADERDATA, s);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, s);
	if (!strcmp(s->req.method, "HEAD"))
		(void)curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	if (!strcmp(s->req.method, "POST")) {
		(void)curl_easy_setopt(e, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
		(void)curl_easy_setopt(e, CURLOPT_READDATA, s);
		(void)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)(s->req.chunked		 ? -1
				     : s->req.content_length > 0 ? s->req.content_length
								 : 0));
	}
	if (curl_multi_add_handle(s->conn->gate->multi, e) != CURLM_OK)
		return err_set(err, ERR_INTERNAL, "curl");
	return true;
}

void fetch_resume(struct gate_stream *s)
{
	if (!s->easy || (!s->read_paused && !s->write_paused))
		return;
	if (s->read_paused && (s->decoded.len || s->body.state == BODY_DONE))
		s->read_paused = false;
	s->write_paused = false;
	(void)curl_easy_pause(s->easy, s->read_paused ? CURLPAUSE_SEND : CURLPAUSE_CONT);
}

void fetch_stop(struct gate_stream *s)
{
	if (s->easy) {
		(void)curl_multi_remove_handle(s->conn->gate->multi, s->easy);
		curl_easy_cleanup(s->easy);
	}
	s->easy = NULL;
	curl_slist_free_all(s->headers);
	s->headers = NULL;
}
