/*
 * The scripted site and the pipes of bridgerig.h.
 */
#include "bridgerig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"

#define LINE_MS 30000 /* bounds a failure alone */

/* The id as it stands in the request. */
static const char *id_of(const char *request, char out[64])
{
	const char *at = strstr(request, "\"id\":");

	(void)snprintf(out, 64, "%.*s", at ? (int)strcspn(at + 5, ",}") : 4, at ? at + 5 : "null");
	return out;
}

static void stream(int fd, const char *id)
{
	(void)dprintf(fd,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		"Connection: close\r\n\r\n: here\n\n"
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n"
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/late\"}\n\n",
		id);
}

/* Held and heard for longer than test_late's patience, then broken off. */
static void late(int fd)
{
	(void)dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			  "Connection: close\r\n\r\n");
	for (int i = 0; i < 5; i++) {
		(void)usleep(300 * 1000);
		(void)dprintf(fd, ": waiting\n\n");
	}
}

/* What the site says, by a word of the request. told: of all its processes. */
static void answer(void *arg, int fd, const char *request)
{
	int *told = arg;
	static const char json[] = "200 OK\r\nContent-Type: application/json";
	char id[64], body[8192];

	(void)id_of(strstr(request, "\r\n\r\n") ? strstr(request, "\r\n\r\n") : request, id);
	if (strstr(request, "POST /upload")) {
		scriptsite_say(fd, "201 Created\r\nContent-Type: application/json",
			"{\"upload\":\"blob-x\"}");
	} else if (strstr(request, "say-stream")) {
		stream(fd, id);
	} else if (strstr(request, "say-never")) {
		char more;

		/* until the bridge, or the test, has gone */
		while (read(fd, &more, 1) > 0)
			;
	} else if (strstr(request, "say-busy")) {
		scriptsite_say(fd, "503 Busy\r\nContent-Type: text/html", "<html>");
	} else if (strstr(request, "say-cut")) {
		(void)dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
				  "Connection: close\r\n\r\n: here\n\n");
	} else if (strstr(request, "say-later") && !__atomic_fetch_add(told, 1, __ATOMIC_SEQ_CST)) {
		late(fd);
	} else if (strstr(request, "say-refused")) {
		scriptsite_say(fd, "401 No\r\nContent-Type: application/json",
			"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"sign "
			"in: send a header\"}}");
	} else if (strstr(request, "say-forbidden")) {
		scriptsite_say(fd, "403 No\r\nContent-Type: application/json",
			"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"a "
			"larger scope\"}}");
	} else if (strstr(request, "say-html")) {
		scriptsite_say(fd, "413 Large\r\nContent-Type: text/html", "<html>");
	} else if (strstr(request, "tools/list")) {
		(void)snprintf(body, sizeof(body),
			"{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[{\"name\":"
			"\"delegate\","
			"\"inputSchema\":{\"type\":\"object\",\"properties\":{}}},{\"name\":"
			"\"run\","
			"\"inputSchema\":{\"type\":\"object\",\"properties\":{}}},{\"name\":"
			"\"create_sandbox\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}"
			"}]}}",
			id);
		scriptsite_say(fd, json, body);
	} else if (strstr(request, "notifications/")) {
		scriptsite_say(fd, "202 Accepted", "");
	} else {
		/* all of it, as text, for the test to look into */
		CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);

		(void)buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\n\"result\":{\"saw\":", id);
		json_add_quoted(&b, request, strlen(request));
		(void)buf_adds(&b, "}}");
		scriptsite_say(fd, json, b.data);
	}
}

void bridgerig_site(struct bridgerig *r)
{
	scriptsite_start(&r->site, answer, r->told);
}

void bridgerig_start(struct bridgerig *r, int64_t patience_ms)
{
	int in[2], out[2], signals[2];

	if (!(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC) && !pipe2(signals, O_CLOEXEC)))
		abort();
	r->bridge = fork();
	if (r->bridge == 0) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct bridge b;
		struct err err;
		bool ok;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(in[1]);
		(void)close(r->site.listener);
		bridge_init(&b, pool, out[1], patience_ms);
		if (r->roots_wait_ms)
			b.roots_wait_ms = r->roots_wait_ms;
		ok = bridge_run(&b, in[0], signals[0], &err);
		bridge_done(&b);
		_exit(ok ? 0 : 1);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(signals[0]);
	r->in = in[1];
	r->signals = signals[1];
	r->out = out[0];
}

void bridgerig_begin(struct bridgerig *r)
{
	bridgerig_site(r);
	bridgerig_start(r, 20000);
}

int bridgerig_setup(void **state)
{
	struct bridgerig *r = mem_alloc(sizeof(*r));

	*r = (struct bridgerig){.in = -1, .out = -1, .signals = -1};
	r->told = mmap(
		NULL, sizeof(*r->told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->told == MAP_FAILED)
		abort();
	buf_init(&r->lines, 1u << 20);
	scriptsite_open(&r->site);
	*state = r;
	return 0;
}

int bridgerig_teardown(void **state)
{
	struct bridgerig *r = *state;

	(void)close(r->in);
	(void)close(r->out);
	if (r->bridge > 0) {
		(void)kill(r->bridge, SIGKILL);
		(void)waitpid(r->bridge, NULL, 0);
	}
	buf_done(&r->lines);
	scriptsite_close(&r->site);
	(void)munmap(r->told, sizeof(*r->told));
	(void)close(r->signals);
	free(r);
	return 0;
}

void bridgerig_put(struct bridgerig *r, const char *line)
{
	for (size_t n = strlen(line), at = 0; at <= n;) {
		ssize_t wrote = at < n ? write(r->in, line + at, n - at) : write(r->in, "\n", 1);

		if (wrote <= 0)
			abort();
		at += (size_t)wrote;
	}
}

char *bridgerig_next(struct bridgerig *r)
{
	struct pollfd p = {.fd = r->out, .events = POLLIN};
	char *end, *room, *line;
	ssize_t n = 1;

	while (!(end = memchr(r->lines.data, '\n', r->lines.len))) {
		room = buf_room(&r->lines, 65536);
		n = room && poll(&p, 1, LINE_MS) == 1 ? read(r->out, room, 65536) : -1;
		if (n <= 0)
			return NULL;
		buf_grew(&r->lines, (size_t)n);
	}
	*end = '\0';
	line = mem_strdup(r->lines.data);
	buf_shift(&r->lines, (size_t)(end + 1 - r->lines.data));
	return line;
}

struct json_object *bridgerig_parsed(struct bridgerig *r, char **raw)
{
	char *line = bridgerig_next(r);
	struct json_object *o = NULL;
	struct err err;

	assert_non_null(line);
	if (!json_parse(line, strlen(line), &o, &err))
		fail_msg("%s: %s", err.msg, line);
	*raw = line;
	return o;
}

void bridgerig_has(const char *raw, const char *text)
{
	if (!strstr(raw, text))
		fail_msg("no %s in %s", text, raw);
}

void bridgerig_expect(struct bridgerig *r, const char *text)
{
	CLEANUP(free) char *raw = NULL;
	CLEANUP(json) struct json_object *o = bridgerig_parsed(r, &raw);

	bridgerig_has(raw, text);
}

bool bridgerig_ended(struct bridgerig *r)
{
	char more;
	int status;

	if (waitpid(r->bridge, &status, 0) != r->bridge)
		return false;
	r->bridge = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && !r->lines.len &&
	       read(r->out, &more, 1) == 0;
}
