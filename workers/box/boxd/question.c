/*
 * The one question a run may have open. asb-ask connects to RUN/ask.sock, sends the text and ends
 * its side; boxd puts the root-owned marker RUN/question, freezes, and tells the host. The answer
 * goes first to where it is waited for (the socket, or the stdin of an exec whose asb-ask was let
 * go at once), then the marker is removed, then the lane is thawed: whoever wakes finds the answer
 * there. State is here and in frames, never in the marker file.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "lanes.h"
#include "pool.h"
#include "random.h"
#include "text.h"

#define TEXT_MAX (64u * 1024)
#define CALLERS_MAX 8
#define HANDED_OVER                                                                             \
	"Your question was handed over. Stop now: every tool is refused until it is answered; " \
	"the answer comes as the next message.\n"

/* A connection of asb-ask. At most one of them is the pending question. */
struct question {
	struct boxd *boxd;
	struct question *next;
	int fd; /* -1: pending, and the asker has gone */
	struct watch *watch;
	pid_t pid;
	struct buf text;
	bool pending;
	uint32_t stream;
	char id[ID_SIZE];
};

static void marker_path(const struct boxd *b, const char *suffix, char *out, size_t size)
{
	(void)snprintf(out, size, "%s/question%s", b->run_dir, suffix);
}

static void marker_remove(const struct boxd *b)
{
	char path[256];

	marker_path(b, "", path, sizeof(path));
	(void)unlink(path);
}

/* The agent may make files beside the marker: its name is freed of whatever has it, and the new
 * file is made under a name that cannot have been guessed. */
static bool marker_put(const struct boxd *b, const struct buf *text)
{
	char path[256], tmp[256], suffix[ID_SIZE];
	CLEANUP(fd) int fd = -1;
	struct stat st;

	marker_path(b, "", path, sizeof(path));
	random_id(suffix, sizeof(suffix), ".", 20);
	marker_path(b, suffix, tmp, sizeof(tmp));
	if (!lstat(path, &st) && rename(path, tmp))
		return false;
	random_id(suffix, sizeof(suffix), ".", 20);
	marker_path(b, suffix, tmp, sizeof(tmp));
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return false;
	(void)!write(fd, text->data, text->len);
	return fchmod(fd, 0644) == 0 && rename(tmp, path) == 0;
}

static void asker_close(struct question *q)
{
	watch_remove(q->watch);
	q->watch = NULL;
	if (q->fd >= 0)
		(void)close(q->fd);
	q->fd = -1;
}

static void question_free(struct question *q)
{
	struct question **at = &q->boxd->question;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	asker_close(q);
	buf_done(&q->text);
	free(q);
}

static struct question *pending(struct boxd *b)
{
	struct question *q;

	for (q = b->question; q; q = q->next)
		if (q->pending)
			break;
	return q;
}

bool question_is_open(struct boxd *b)
{
	return pending(b) != NULL;
}

/* First line "ok" or "error"; then the text. A socket takes 64 KiB without waiting. */
static void asker_tell(struct question *q, const char *verdict, const char *text)
{
	if (q->fd >= 0) {
		(void)!write(q->fd, verdict, strlen(verdict));
		(void)!write(q->fd, text, strlen(text));
	}
	asker_close(q);
}

static bool question_send(struct boxd *b, const struct question *q)
{
	CLEANUP(buf) struct buf json = BUF_INIT(WIRE_PAYLOAD_MAX);

	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "id", q->id);
	boxjson_add_i64(&json, "stream", q->stream);
	boxjson_add_key(&json, "text");
	boxjson_add_quoted(&json, q->text.data, q->text.len);
	(void)buf_addc(&json, '}');
	if (json.failed)
		return false;
	if (b->ready)
		channel_send(b, WIRE_QUESTION, 0, &json);
	return true;
}

void question_resend(struct boxd *b)
{
	struct question *q = pending(b);

	if (q)
		(void)question_send(b, q);
}

/* The text is whole. */
static void question_open(struct question *q)
{
	struct boxd *b = q->boxd;
	struct exec *e = group_exec_of(b, q->pid);
	const char *wrong = NULL;

	while (q->text.len && strchr(" \t\r\n", q->text.data[q->text.len - 1]))
		q->text.data[--q->text.len] = '\0';
	if (!e || !e->driver)
		wrong = "only the run itself may ask\n";
	else if (pending(b))
		wrong = "a question is open already\n";
	else if (!q->text.len || !text_is_utf8(q->text.data, q->text.len))
		wrong = "the question is empty or not UTF-8\n";
	random_id(q->id, sizeof(q->id), "q-", 16);
	q->stream = e ? e->stream : 0;
	/* the marker is there before anybody learns of the question */
	if (!wrong && !marker_put(b, &q->text))
		wrong = "the question cannot be marked as open\n";
	if (!wrong && !question_send(b, q)) {
		marker_remove(b);
		wrong = "the question is too long\n";
	}
	if (wrong) {
		asker_tell(q, "error\n", wrong);
		question_free(q);
		return;
	}
	q->pending = true;
	if (e->ask_returns) {
		lane_freeze_around(e, q->pid);
		asker_tell(q, "ok\n", HANDED_OVER);
	} else {
		lane_drive_freeze(b);
	}
}

static void asker_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct question *q = arg;
	char *to;
	ssize_t n;

	(void)loop;
	if (q->pending) {
		/* only the end of the asker is watched for now; the question stays */
		if (events & (EPOLLHUP | EPOLLERR))
			asker_close(q);
		else
			watch_set_events(q->watch, 0);
		return;
	}
	to = buf_room(&q->text, 4096);
	if (!to) {
		asker_tell(q, "error\n", "the question is too long\n");
		question_free(q);
		return;
	}
	n = read(q->fd, to, 4096);
	if (n > 0)
		buf_grew(&q->text, (size_t)n);
	else if (n == 0)
		question_open(q);
	else if (errno != EAGAIN && errno != EINTR)
		question_free(q);
}

static void asker_accept(struct loop *loop, uint32_t events, void *arg)
{
	struct boxd *b = arg;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	struct question *q;
	int fd, n = 0;

	(void)events;
	fd = accept4(b->ask_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	for (q = b->question; q; q = q->next)
		n++;
	if (n >= CALLERS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
		peer.uid != (b->is_root ? UID_AGENT : getuid())) {
		(void)!write(fd, "error\nnot allowed to ask\n", 25);
		(void)close(fd);
		return;
	}
	q = mem_alloc(sizeof(*q));
	q->boxd = b;
	q->fd = fd;
	q->pid = peer.pid;
	buf_init(&q->text, TEXT_MAX + 4096);
	q->watch = loop_add_fd(loop, fd, EPOLLIN, asker_ready, q);
	q->next = b->question;
	b->question = q;
}

void question_listen(struct boxd *b)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	b->ask_fd = -1;
	if ((size_t)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/ask.sock", b->run_dir) >=
		sizeof(addr.sun_path))
		return;
	(void)unlink(addr.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		chmod(addr.sun_path, 0666) || listen(fd, CALLERS_MAX)) {
		(void)fprintf(
			stderr, "warn boxd %s: %s, no questions\n", addr.sun_path, strerror(errno));
		return;
	}
	b->ask_fd = fd;
	(void)loop_add_fd(b->loop, fd, EPOLLIN, asker_accept, b);
}

/* before, the text as a JSON string, after, newline: one line on the stdin of the exec that asked.
 */
static bool answer_stdin(
	const struct question *q, const char *text, const struct boxjson *around, struct err *err)
{
	CLEANUP(buf) struct buf line = BUF_INIT(2 * WIRE_PAYLOAD_MAX);
	struct exec *e = exec_find(q->boxd, q->stream);
	const struct boxjson *before = around->first, *after = before ? before->next : NULL;

	if (around->type != BOXJSON_ARRAY || !after || after->next ||
		before->type != BOXJSON_TEXT || after->type != BOXJSON_TEXT)
		return err_set(err, ERR_INVALID, "stdin: two texts are wanted");
	(void)buf_adds(&line, before->text);
	boxjson_add_quoted(&line, text, strlen(text));
	(void)buf_adds(&line, after->text);
	(void)buf_addc(&line, '\n');
	if (!e || line.failed)
		return err_set(err, ERR_CONFLICT, "the exec of question %s is gone", q->id);
	return exec_stdin_own(e, line.data, line.len, err);
}

bool question_answer(struct boxd *b, const struct boxjson *in, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(256);
	const struct boxjson *around = boxjson_find(in, "stdin");
	struct question *q = pending(b);
	const char *id, *text;
	struct exec *e;

	if (!boxjson_text(in, "id", "", &id, err) || !boxjson_text(in, "text", "", &text, err))
		return false;
	if (!q || strcmp(q->id, id) != 0)
		return err_set(err, ERR_NOT_FOUND, "question %.32s is not open", id);
	e = exec_find(b, q->stream);
	if (!around && e && e->ask_returns)
		return err_set(err, ERR_INVALID, "stdin is missing: asb-ask does not wait");
	if (around && !answer_stdin(q, text, around, err))
		return false;
	asker_tell(q, "ok\n", text);
	marker_remove(b);
	question_free(q);
	lane_drive_thaw(b);
	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "answered", id);
	(void)buf_addc(&json, '}');
	channel_done(b, 0, &json);
	return true;
}

void question_exec_gone(struct boxd *b, uint32_t stream)
{
	struct question *q = pending(b);

	if (!q || q->stream != stream)
		return;
	marker_remove(b);
	question_free(q);
	lane_drive_thaw(b);
}
