/*
 * The monitor's lines: sent with an optional descriptor, received by looking ahead to the newline
 * and taking exactly the line, so that no byte of the next one is ever held here.
 */
#include "qmp.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

/* The longest answer we ask for (query-pci) is a few KiB. */
#define LINE_MAX_BYTES (256u * 1024)

static bool wait_readable(int fd, int64_t deadline_ms, struct err *err)
{
	for (;;) {
		int64_t left = deadline_ms - time_boot_ms();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (n > 0)
			return true;
		if (n == 0)
			return err_set(err, ERR_TIMEOUT, "qemu monitor: no answer");
		if (errno != EINTR)
			return err_errno(err, ERR_INTERNAL, "qemu monitor: poll");
	}
}

static bool line_read(int fd, int64_t deadline_ms, struct buf *line, struct err *err)
{
	buf_reset(line);
	for (;;) {
		char ahead[4096], *end;
		ssize_t n;
		size_t take;

		if (!wait_readable(fd, deadline_ms, err))
			return false;
		n = recv(fd, ahead, sizeof(ahead), MSG_PEEK | MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return err_set(err, ERR_UPSTREAM, "qemu monitor: closed");
		end = memchr(ahead, '\n', (size_t)n);
		take = end ? (size_t)(end - ahead) + 1 : (size_t)n;
		n = recv(fd, ahead, take, MSG_DONTWAIT);
		if (n != (ssize_t)take || !buf_add(line, ahead, take))
			return err_set(err, ERR_UPSTREAM, "qemu monitor: line too long or cut");
		if (end)
			return true;
	}
}

static bool line_parse(int fd, int64_t deadline_ms, struct json_object **out, struct err *err)
{
	CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_BYTES);

	if (!line_read(fd, deadline_ms, &line, err))
		return false;
	while (line.len > 0 && (line.data[line.len - 1] == '\n' || line.data[line.len - 1] == '\r'))
		line.data[--line.len] = '\0';
	return json_parse(line.data, line.len, out, err) || err_wrap(err, "qemu monitor");
}

static bool line_send(int fd, const char *text, int pass_fd, struct err *err)
{
	char newline = '\n';
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov[2] = {{.iov_len = strlen(text)}, {.iov_base = &newline, .iov_len = 1}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	CLEANUP(free) char *copy = mem_strdup(text); /* iov_base is not const */
	size_t size = iov[0].iov_len + 1;
	ssize_t n;

	iov[0].iov_base = copy;
	if (pass_fd >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &pass_fd, sizeof(int));
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(err, ERR_UPSTREAM, "qemu monitor: send");
	if ((size_t)n != size)
		return err_set(err, ERR_UPSTREAM, "qemu monitor: sent %zd of %zu bytes", n, size);
	return true;
}

static bool refused(struct json_object *reply, struct err *err)
{
	struct json_object *e = json_get(reply, "error");
	const char *text = "";
	CLEANUP(buf) struct buf sane = BUF_INIT(160);

	if (!e)
		return false;
	(void)json_get_text(e, "desc", &text);
	text_add_sane(&sane, text, strnlen(text, 120));
	(void)err_set(err, ERR_UPSTREAM, "qemu monitor: %s", sane.data);
	return true;
}

bool qmp_command(int fd, const char *text, int pass_fd, int timeout_ms, struct json_object **answer,
	struct err *err)
{
	int64_t deadline_ms = time_boot_ms() + timeout_ms;

	if (!line_send(fd, text, pass_fd, err))
		return false;
	for (;;) {
		CLEANUP(json) struct json_object *reply = NULL;

		if (!line_parse(fd, deadline_ms, &reply, err))
			return false;
		if (refused(reply, err))
			return false;
		if (!json_get(reply, "return"))
			continue;
		if (answer)
			*answer = STEAL(reply);
		return true;
	}
}

bool qmp_wait_event(int fd, const char *event, int timeout_ms, struct err *err)
{
	int64_t deadline_ms = time_boot_ms() + timeout_ms;

	for (;;) {
		CLEANUP(json) struct json_object *reply = NULL;
		const char *name;

		if (!line_parse(fd, deadline_ms, &reply, err))
			return err_wrap(err, "waiting for %s", event);
		if (refused(reply, err))
			return err_wrap(err, "waiting for %s", event);
		if (json_get_text(reply, "event", &name) && !strcmp(name, event))
			return true;
	}
}

bool qmp_open(int fd, int timeout_ms, struct err *err)
{
	CLEANUP(json) struct json_object *greeting = NULL;

	if (!line_parse(fd, time_boot_ms() + timeout_ms, &greeting, err))
		return false;
	if (!json_get(greeting, "QMP"))
		return err_set(err, ERR_UPSTREAM, "qemu monitor: no greeting");
	return qmp_command(fd, "{\"execute\":\"qmp_capabilities\"}", -1, timeout_ms, NULL, err);
}
