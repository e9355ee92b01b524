/*
 * The FastCGI client of the tests. Written from the specification, not from our own encoder, so
 * that the two check each other.
 */
#include "fcgiclient.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <assert.h>
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"

#define ALL_MAX (512 * 1024 * 1024)

enum { BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6, STDERR = 7 };

static void record(struct buf *b, int type, const void *data, size_t n)
{
	const unsigned char head[8] = {1, (unsigned char)type, 0, 1, (unsigned char)(n >> 8),
		(unsigned char)(n & 0xff), 0, 0};

	assert(n <= 65535);
	(void)buf_add(b, head, sizeof(head));
	(void)buf_add(b, data, n);
}

static void length(struct buf *b, size_t n)
{
	const unsigned char four[4] = {(unsigned char)(0x80 | n >> 24), (unsigned char)(n >> 16),
		(unsigned char)(n >> 8), (unsigned char)n};
	const unsigned char one = (unsigned char)n;

	(void)buf_add(b, n < 128 ? &one : four, n < 128 ? 1 : 4);
}

static void param(struct buf *b, const char *name, size_t name_n, const char *value)
{
	length(b, name_n);
	length(b, strlen(value));
	(void)buf_add(b, name, name_n);
	(void)buf_adds(b, value);
}

/* "Last-Event-ID: x" becomes HTTP_LAST_EVENT_ID=x, "=NAME=value" stays what it is. */
static void header_param(struct buf *b, const char *line)
{
	char name[128] = "HTTP_";
	const char *colon;
	size_t n = 5;

	if (*line == '=') {
		param(b, line + 1, strcspn(line + 1, "="), strchr(line + 1, '=') + 1);
		return;
	}
	colon = strchr(line, ':');
	assert(colon);
	for (const char *p = line; p < colon; p++) {
		assert(n + 1 < sizeof(name));
		name[n++] = (char)(*p == '-' ? '_' : toupper((unsigned char)*p));
	}
	colon += strspn(colon, ": ");
	if (!strncasecmp(line, "Content-Type:", 13))
		param(b, "CONTENT_TYPE", 12, colon);
	else
		param(b, name, n, colon);
}

static void send_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t k = send(fd, data, n, MSG_NOSIGNAL);

		if (k <= 0)
			return; /* refused early: the answer says why */
		data += k;
		n -= (size_t)k;
	}
}

static int connect_to(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0 && strlen(path) < sizeof(to.sun_path));
	memcpy(to.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		perror(path);
		abort();
	}
	return fd;
}

void fcgiclient_open(struct fcgiclient *c, const char *socket, const char *method, const char *url,
	const char *const *headers, const void *body, size_t n)
{
	static const unsigned char begin[8] = {0, 1 /* responder */};
	CLEANUP(buf) struct buf params = BUF_INIT(65535), all = BUF_INIT(ALL_MAX);
	char path[1024], number[24];
	const char *query = strchr(url, '?');
	size_t path_n = query ? (size_t)(query - url) : strlen(url);

	*c = (struct fcgiclient){
		.raw = BUF_INIT(ALL_MAX), .out = BUF_INIT(ALL_MAX), .head = BUF_INIT(65536)};
	assert(path_n < sizeof(path));
	(void)snprintf(path, sizeof(path), "%.*s", (int)path_n, url);
	(void)snprintf(number, sizeof(number), "%zu", n);
	param(&params, "REQUEST_METHOD", 14, method);
	param(&params, "DOCUMENT_URI", 12, path);
	param(&params, "QUERY_STRING", 12, query ? query + 1 : "");
	param(&params, "CONTENT_LENGTH", 14, body ? number : "");
	param(&params, "REMOTE_ADDR", 11, "127.0.0.1");
	param(&params, "REQUEST_ID", 10, "0123456789abcdef0123456789abcdef");
	for (; headers && *headers; headers++)
		header_param(&params, *headers);
	assert(!params.failed);
	record(&all, BEGIN, begin, sizeof(begin));
	record(&all, PARAMS, params.data, params.len);
	record(&all, PARAMS, "", 0);
	for (size_t at = 0; body && at < n; at += 32768)
		record(&all, STDIN, (const char *)body + at, n - at < 32768 ? n - at : 32768);
	record(&all, STDIN, "", 0);
	c->fd = connect_to(socket);
	send_all(c->fd, all.data, all.len);
}

void fcgiclient_close(struct fcgiclient *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
	buf_done(&c->raw);
	buf_done(&c->out);
	buf_done(&c->head);
}

static void records_take(struct fcgiclient *c)
{
	size_t at = 0;

	while (c->raw.len - at >= 8) {
		const unsigned char *r = (const unsigned char *)c->raw.data + at;
		const size_t n = (size_t)r[4] << 8 | r[5], whole = 8 + n + r[6];

		if (c->raw.len - at < whole)
			break;
		assert(r[0] == 1 && (r[2] << 8 | r[3]) == 1 && n <= 65528 && !c->ended);
		assert(r[1] == STDOUT || r[1] == STDERR || r[1] == END);
		if (r[1] == STDOUT)
			(void)buf_add(&c->out, r + 8, n);
		c->ended = r[1] == END;
		at += whole;
	}
	buf_shift(&c->raw, at);
	if (!c->body) {
		const char *end = strstr(c->out.data, "\r\n\r\n");

		c->body = end ? (size_t)(end + 4 - c->out.data) : 0;
		(void)buf_add(&c->head, c->out.data, c->body);
	}
}

bool fcgiclient_read(struct fcgiclient *c, int timeout_ms)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char *room;
	ssize_t n;

	if (c->eof || poll(&p, 1, timeout_ms) <= 0)
		return false;
	room = buf_room(&c->raw, 65536);
	assert(room);
	n = recv(c->fd, room, 65536, 0);
	if (n <= 0) {
		c->eof = true;
		return false;
	}
	buf_grew(&c->raw, (size_t)n);
	records_take(c);
	return true;
}

bool fcgiclient_finish(struct fcgiclient *c, int timeout_ms)
{
	const int64_t until = time_boot_ms() + timeout_ms;

	while (!c->ended && !c->eof && time_boot_ms() < until)
		(void)fcgiclient_read(c, (int)(until - time_boot_ms()));
	return c->ended;
}

const char *fcgiclient_header(const struct fcgiclient *c, const char *name)
{
	static char value[1024];
	const size_t n = strlen(name);

	value[0] = '\0';
	for (const char *line = c->head.data; *line; line = strstr(line, "\r\n") + 2) {
		if (strncasecmp(line, name, n) || line[n] != ':')
			continue;
		line += n + 1;
		line += strspn(line, " ");
		(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(line, "\r"), line);
		break;
	}
	return value;
}

int fcgiclient_status(const struct fcgiclient *c)
{
	const char *status = fcgiclient_header(c, "Status");

	if (!c->body)
		return 0;
	return *status ? (int)strtol(status, NULL, 10) : 200;
}

const char *fcgiclient_body(const struct fcgiclient *c)
{
	return c->body ? c->out.data + c->body : "";
}

/* Takes the lines of one event apart; `retry:` counts as an event of that name. */
static void event_parse(struct fcgi_event *e)
{
	static char message[] = "message"; /* of an event that has no name */

	e->name = message;
	e->data = NULL;
	for (char *line = e->text.data; *line;) {
		char *end = strchr(line, '\n');

		assert(end && !strchr(line, '\r'));
		*end = '\0';
		if (text_has_prefix(line, "id: ")) {
			assert(strlen(line + 4) < sizeof(e->memory));
			memcpy(e->memory, line + 4, strlen(line + 4) + 1);
		} else if (text_has_prefix(line, "event: ")) {
			e->name = line + 7;
		} else if (text_has_prefix(line, "retry: ")) {
			e->name = line;
			line[5] = '\0';
			e->data = line + 7;
		} else {
			assert(text_has_prefix(line, "data: ") && !e->data);
			e->data = line + 6;
		}
		line = end + 1;
	}
	e->id = e->memory;
	assert(e->data);
}

void fcgi_event_done(struct fcgi_event *e)
{
	if (e->text.max)
		buf_done(&e->text);
	*e = (struct fcgi_event){0};
}

bool fcgiclient_event(struct fcgiclient *c, struct fcgi_event *e, int timeout_ms)
{
	const int64_t until = time_boot_ms() + timeout_ms;
	const char *end;

	while (!c->body || !(end = strstr(c->out.data + c->body, "\n\n"))) {
		const int64_t left = until - time_boot_ms();

		if (c->ended || c->eof || left < 0)
			return false;
		(void)fcgiclient_read(c, (int)left);
	}
	if (!e->text.max)
		buf_init(&e->text, ALL_MAX);
	buf_reset(&e->text);
	(void)buf_add(&e->text, c->out.data + c->body, (size_t)(end + 1 - c->out.data) - c->body);
	/* what was read goes, now and then: a stream has no end */
	c->body += e->text.len + 1;
	if (c->body > 1024 * 1024) {
		buf_shift(&c->out, c->body - 4);
		c->body = 4;
	}
	event_parse(e);
	return true;
}
