/*
 * The asking side of asb-spawn: connect, one request, one answer, under a deadline. A site whose
 * asb-spawn is down is "busy": supervision brings it back, and the job that asked is tried again.
 */
#include "spawn.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "pool.h"
#include "sockpeer.h"

/* Longer than the 30 s after which asb-spawn itself gives a start up. */
#define ANSWER_S 40
#define ANSWER_MAX (128 * 1024)

/* To root's asb-spawn, or one that runs as we do; flags: SOCK_NONBLOCK or 0. */
static bool connect_spawn(const struct config *cfg, int flags, int *out, struct err *err)
{
	struct timeval limit = {.tv_sec = ANSWER_S};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/spawn.sock", cfg->run_dir);
	uid_t uid;

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(err, ERR_INTERNAL, "spawn: ASB_RUN_DIR is too long for a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
		(void)err_errno(err, ERR_BUSY, "spawn: connect");
		return err_advise(err, "spawn_down", "see that asb-spawn runs");
	}
	uid = socket_peer(fd);
	if (uid && uid != geteuid())
		return err_set(err, ERR_FORBIDDEN, "spawn: its socket is that of uid %u", uid);
	*out = STEAL_FD(fd);
	return true;
}

/* asb-spawn's refusal as the error it was there. */
static bool refusal(struct json_object *o, struct err *err)
{
	const char *code = "", *class = "", *message = "no reason given", *fix = "";
	enum err_code c = ERR_UPSTREAM;

	(void)json_get_text(o, "code", &code);
	(void)json_get_text(o, "class", &class);
	(void)json_get_text(o, "message", &message);
	(void)json_get_text(o, "fix", &fix);
	for (int i = ERR_INVALID; i < ERR_CODE__COUNT; i++)
		if (!strcmp(err_info((enum err_code)i)->name, class))
			c = (enum err_code)i;
	(void)err_set(err, c, "spawn: %s", message);
	return err_advise(err, strcmp(code, class) ? code : NULL, fix);
}

static bool ask(
	const struct config *cfg, const struct buf *request, int flags, int *out, struct err *err)
{
	CLEANUP(fd) int fd = -1;

	if (request->failed)
		return err_set(err, ERR_INVALID, "spawn: request too long");
	if (!connect_spawn(cfg, flags, &fd, err))
		return false;
	if (send(fd, request->data, request->len, MSG_NOSIGNAL) < 0)
		return err_errno(err, ERR_BUSY, "spawn: send");
	*out = STEAL_FD(fd);
	return true;
}

/* *out is the caller's to free. */
static bool answer(int fd, struct json_object **out, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf text = BUF_INIT(ANSWER_MAX);
	char *room = buf_room(&text, ANSWER_MAX - 1);
	ssize_t n;
	bool ok;

	do
		n = recv(fd, room, ANSWER_MAX - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return err_set(err, ERR_TIMEOUT, "spawn: no answer within %d s", ANSWER_S);
	if (n <= 0) {
		(void)err_set(err, ERR_BUSY, "spawn: it ended before it answered");
		return err_advise(err, "spawn_down", "see that asb-spawn runs");
	}
	if (!json_parse(room, (size_t)n, &o, err) || !json_get_bool(o, "ok", &ok))
		return err_set(err, ERR_UPSTREAM, "spawn: its answer cannot be read");
	if (!ok)
		return refusal(o, err);
	*out = STEAL(o);
	return true;
}

static bool ask_and_wait(const struct config *cfg, const struct buf *request,
	struct json_object **out, struct err *err)
{
	CLEANUP(fd) int fd = -1;

	return ask(cfg, request, 0, &fd, err) && answer(fd, out, err);
}

static void request_box(struct buf *b, const char *verb, const char *box, int slot)
{
	(void)buf_addf(b, "{\"verb\":\"%s\",\"slot\":%d,\"box\":", verb, slot);
	json_add_quoted(b, box, strlen(box));
}

static void request_text(struct buf *b, const char *key, const char *value)
{
	(void)buf_addf(b, ",\"%s\":", key);
	json_add_quoted(b, value, strlen(value));
}

bool spawn_box(const struct config *cfg, struct pool *pool, const char *box, int slot,
	const char *runtime, const char *image, const char *size_class, struct spawn_reply *out,
	struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf b = BUF_INIT(4096);
	const char *isolation, *key = NULL;
	struct spawn_reply r = {0};
	int64_t pid;

	request_box(&b, "spawn", box, slot);
	request_text(&b, "runtime", runtime);
	request_text(&b, "image", image);
	request_text(&b, "class", size_class);
	(void)buf_addc(&b, '}');
	if (!ask_and_wait(cfg, &b, &o, err))
		return false;
	if (!json_get_i64(o, "pid", &pid) || !json_get_i64(o, "pid_start", &r.pid_start) ||
		!json_get_i64(o, "uid", &r.uid) || !json_get_text(o, "isolation", &isolation) ||
		!json_get(o, "readback"))
		return err_set(err, ERR_UPSTREAM, "spawn: its answer is not whole");
	(void)json_get_text(o, "template", &key);
	r.pid = (pid_t)pid;
	r.isolation = pool_strdup(pool, isolation);
	r.template_key = key ? pool_strdup(pool, key) : NULL;
	r.readback = json_text(json_get(o, "readback"), pool);
	*out = r;
	return true;
}

bool spawn_kill_ask(const struct config *cfg, const char *box, int slot, int *fd, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	request_box(&b, "kill", box, slot);
	(void)buf_addc(&b, '}');
	return ask(cfg, &b, SOCK_NONBLOCK, fd, err);
}

bool spawn_kill_answer(int fd, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;

	return answer(fd, &o, err);
}

bool spawn_kill(
	const struct config *cfg, struct pool *pool, const char *box, int slot, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	(void)pool;
	request_box(&b, "kill", box, slot);
	(void)buf_addc(&b, '}');
	return ask_and_wait(cfg, &b, &o, err);
}

bool spawn_list(const struct config *cfg, struct pool *pool, struct spawn_listed **out, size_t *n,
	struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf b = BUF_INIT(64);
	struct json_object *boxes;
	struct spawn_listed *list;

	(void)buf_adds(&b, "{\"verb\":\"list\"}");
	if (!ask_and_wait(cfg, &b, &o, err))
		return false;
	boxes = json_get(o, "boxes");
	list = POOL_ARRAY(pool, struct spawn_listed, json_count(boxes) + 1);
	for (size_t i = 0; i < json_count(boxes); i++) {
		struct json_object *row = json_at(boxes, i);
		const char *box;
		int64_t slot, pid;

		if (!json_get_text(row, "box", &box) || !json_get_i64(row, "slot", &slot) ||
			!json_get_i64(row, "pid", &pid) ||
			!json_get_i64(row, "pid_start", &list[i].pid_start))
			return err_set(err, ERR_UPSTREAM, "spawn: its list cannot be read");
		list[i].box = pool_strdup(pool, box);
		list[i].slot = (int)slot;
		list[i].pid = (pid_t)pid;
	}
	*out = list;
	*n = json_count(boxes);
	return true;
}
