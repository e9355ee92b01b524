/*
 * The life of a forked child: two pipes, an answer, and the relaying of tar bytes under credit.
 */
#include "worker.h"

#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "loop.h"
#include "pool.h"

#define WORKERS_MAX 32
#define FRAME_BYTES (32u * 1024)

struct worker *worker_find(struct boxd *b, uint32_t stream)
{
	struct worker *w;

	for (w = b->workers; w; w = w->next)
		if (w->stream == stream)
			break;
	return w;
}

static void fd_end(int *fd, struct watch **watch)
{
	watch_remove(*watch);
	*watch = NULL;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void worker_free(struct worker *w)
{
	struct worker **at = &w->boxd->workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	fd_end(&w->answer_fd, &w->answer_watch);
	fd_end(&w->data_fd, &w->data_watch);
	if (w->pid > 0)
		(void)kill(w->pid, SIGKILL);
	buf_done(&w->answer);
	buf_done(&w->data);
	free(w);
}

void workers_kill_all(struct boxd *b)
{
	while (b->workers)
		worker_free(b->workers);
}

void worker_reaped(struct boxd *b, pid_t pid)
{
	for (struct worker *w = b->workers; w; w = w->next)
		if (w->pid == pid)
			w->pid = -1;
}

static void finish(struct worker *w)
{
	struct boxd *b = w->boxd;
	char kind = w->answer.len ? w->answer.data[0] : '?';
	enum wire_type type = kind != 'D'		? WIRE_ERROR
			      : w->kind == WORKER_PROBE ? WIRE_PROBE
							: WIRE_DONE;
	struct err err = {0};

	if (kind == 'D' || kind == 'E') {
		channel_send_raw(b, type, w->stream, w->answer.data + 1, w->answer.len - 1);
	} else {
		(void)err_set(&err, ERR_INTERNAL, "the process for this request died");
		channel_error(b, w->stream, &err, NULL);
	}
	worker_free(w);
}

/* The answer goes after all bytes that belong before it. */
static bool finish_if_done(struct worker *w)
{
	bool failed = w->answer.len && w->answer.data[0] == 'E';

	if (!w->answered)
		return false;
	if (w->kind == WORKER_TAR_OUT && !failed && (w->data_fd >= 0 || w->data.len))
		return false;
	finish(w);
	return true;
}

static void answer_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;
	char *to = buf_room(&w->answer, 4096);
	ssize_t n = to ? read(w->answer_fd, to, 4096) : 0;

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		buf_grew(&w->answer, (size_t)n);
		return;
	}
	fd_end(&w->answer_fd, &w->answer_watch);
	w->answered = true;
	(void)finish_if_done(w);
}

static void credit_send(struct worker *w)
{
	unsigned char value[8];

	wire_put_u64(value, w->moved + WIRE_WINDOW);
	channel_send_raw(w->boxd, WIRE_CREDIT, w->stream, value, sizeof(value));
}

/* TAR_IN: hands bytes to the child. */
static void data_write(struct worker *w)
{
	uint64_t before = w->moved;

	while (w->data_fd >= 0 && w->data.len) {
		ssize_t n = write(w->data_fd, w->data.data, w->data.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			fd_end(&w->data_fd, &w->data_watch);
			break;
		}
		buf_shift(&w->data, (size_t)n);
		w->moved += (uint64_t)n;
	}
	if (w->data_fd < 0) {
		/* the child has refused an entry: the rest is taken and dropped */
		w->moved += w->data.len;
		buf_reset(&w->data);
	}
	if (w->moved != before)
		credit_send(w);
	if (w->in_eof && !w->data.len)
		fd_end(&w->data_fd, &w->data_watch);
	if (w->data_watch)
		watch_set_events(w->data_watch, w->data.len ? EPOLLOUT : 0);
}

/* TAR_OUT: takes bytes from the child while the window has room. */
static void data_read(struct worker *w)
{
	char *to = buf_room(&w->data, FRAME_BYTES);
	ssize_t n = to ? read(w->data_fd, to, FRAME_BYTES) : -1;

	if (!to)
		w->data.failed = false;
	if (n > 0)
		buf_grew(&w->data, (size_t)n);
	if (n == 0) {
		fd_end(&w->data_fd, &w->data_watch);
		(void)finish_if_done(w);
		return;
	}
	/* unwatched while full: the end of a pipe cannot be masked */
	if (w->data.len + FRAME_BYTES > WIRE_WINDOW) {
		watch_remove(w->data_watch);
		w->data_watch = NULL;
	}
}

static void data_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;

	(void)loop;
	if (w->kind == WORKER_TAR_OUT) {
		data_read(w);
		return;
	}
	if (events & EPOLLERR)
		fd_end(&w->data_fd, &w->data_watch);
	data_write(w);
}

bool worker_frame(struct worker *w, const struct wire_frame *f, struct err *err)
{
	uint64_t value;

	if (f->type == WIRE_CREDIT) {
		if (!wire_u64(f, &value))
			return err_set(err, ERR_INVALID, "credit without a number");
		if (value > w->allowed)
			w->allowed = value;
		return true;
	}
	/* an end may be said twice: by a runner, and by the shim when that runner has died */
	if (w->kind != WORKER_TAR_IN || (w->in_eof && f->type != WIRE_EOF))
		return err_set(err, ERR_INVALID, "no bytes are wanted on stream %u", f->stream);
	if (f->type == WIRE_EOF)
		w->in_eof = true;
	else if (!buf_add(&w->data, f->payload, f->length))
		return err_set(err, ERR_INVALID, "tar of stream %u beyond its credit", f->stream);
	data_write(w);
	return true;
}

bool workers_pump(struct boxd *b)
{
	for (struct worker *w = b->workers; w; w = w->next) {
		size_t n = w->data.len < FRAME_BYTES ? w->data.len : FRAME_BYTES;

		if (w->kind != WORKER_TAR_OUT || !n || w->moved >= w->allowed)
			continue;
		if (n > w->allowed - w->moved)
			n = (size_t)(w->allowed - w->moved);
		channel_send_raw(b, WIRE_DATA, w->stream, w->data.data, n);
		buf_shift(&w->data, n);
		w->moved += n;
		if (w->data_fd >= 0 && !w->data_watch && w->data.len + FRAME_BYTES <= WIRE_WINDOW)
			w->data_watch = loop_add_fd(b->loop, w->data_fd, EPOLLIN, data_ready, w);
		(void)finish_if_done(w);
		return true;
	}
	return false;
}

static _Noreturn void worker_child(
	uid_t uid, bool switch_user, int data, int answer, worker_fn *fn, const void *arg)
{
	struct err err = {0};
	int score, fds[2];
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	/* the two pipes become 3 and 4, all else (the channel above all) is closed */
	fds[0] = fcntl(data, F_DUPFD_CLOEXEC, 10);
	fds[1] = fcntl(answer, F_DUPFD_CLOEXEC, 10);
	if (dup2(fds[1], 4) < 0 || (data >= 0 && dup2(fds[0], 3) < 0))
		_exit(127);
	(void)syscall(SYS_close_range, 5u, ~0u, 0u);
	score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) {
		(void)!write(score, "0", 1);
		(void)close(score);
	}
	(void)setsid();
	if (!user_become(uid, switch_user)) {
		(void)err_set(&err, ERR_INTERNAL, "become user");
		answer_error(4, &err, NULL);
		_exit(1);
	}
	_exit(fn(3, 4, arg));
}

static bool pipes_make(enum worker_kind kind, int answer[2], int data[2], struct err *err)
{
	int ours = kind == WORKER_TAR_IN ? 1 : 0;

	data[0] = data[1] = -1;
	if (pipe2(answer, O_CLOEXEC))
		return err_errno(err, ERR_BUSY, "pipe");
	if (kind != WORKER_PROBE && pipe2(data, O_CLOEXEC)) {
		(void)close(answer[0]);
		(void)close(answer[1]);
		return err_errno(err, ERR_BUSY, "pipe");
	}
	(void)fcntl(answer[0], F_SETFL, O_NONBLOCK);
	if (kind != WORKER_PROBE)
		(void)fcntl(data[ours], F_SETFL, O_NONBLOCK);
	return true;
}

static struct worker *worker_new(
	struct boxd *b, enum worker_kind kind, uint32_t stream, pid_t pid, int answer, int data)
{
	struct worker *w = mem_alloc(sizeof(*w));

	w->boxd = b;
	w->kind = kind;
	w->stream = stream;
	w->pid = pid;
	w->answer_fd = answer;
	w->data_fd = data;
	w->allowed = WIRE_WINDOW;
	buf_init(&w->answer, WIRE_PAYLOAD_MAX);
	buf_init(
		&w->data, kind == WORKER_TAR_IN ? 2 * WIRE_WINDOW + WIRE_PAYLOAD_MAX : WIRE_WINDOW);
	w->answer_watch = loop_add_fd(b->loop, answer, EPOLLIN, answer_ready, w);
	if (data >= 0)
		w->data_watch = loop_add_fd(
			b->loop, data, kind == WORKER_TAR_IN ? 0 : EPOLLIN, data_ready, w);
	w->next = b->workers;
	b->workers = w;
	return w;
}

bool worker_start(struct boxd *b, enum worker_kind kind, uint32_t stream, const char *user,
	worker_fn *fn, const void *arg, struct err *err)
{
	int answer[2], data[2], ours = kind == WORKER_TAR_IN ? 1 : 0, n = 0;
	const char *home;
	uid_t uid;
	pid_t pid;

	if (!user_find(user, &uid, &home))
		return err_set(err, ERR_INVALID, "user: no user %.32s", user);
	if (exec_find(b, stream) || worker_find(b, stream))
		return err_set(err, ERR_CONFLICT, "stream %u is in use", stream);
	for (struct worker *w = b->workers; w; w = w->next)
		n++;
	if (n >= WORKERS_MAX)
		return err_set(err, ERR_BUSY, "%d requests are running already", n);
	if (!pipes_make(kind, answer, data, err))
		return false;
	pid = fork();
	if (pid == 0)
		worker_child(uid, b->is_root, data[1 - ours], answer[1], fn, arg);
	(void)close(answer[1]);
	if (data[1 - ours] >= 0)
		(void)close(data[1 - ours]);
	if (pid < 0) {
		(void)close(answer[0]);
		if (data[ours] >= 0)
			(void)close(data[ours]);
		return err_errno(err, ERR_BUSY, "fork");
	}
	(void)worker_new(b, kind, stream, pid, answer[0], data[ours]);
	return true;
}

static void answer_put(int fd, char kind, const struct buf *json)
{
	CLEANUP(buf) struct buf all = BUF_INIT(WIRE_PAYLOAD_MAX);
	size_t at = 0;

	if (!buf_addc(&all, kind) || !buf_add(&all, json->data, json->len))
		return;
	while (at < all.len) {
		ssize_t n = write(fd, all.data + at, all.len - at);

		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

void answer_done(int fd, const struct buf *json)
{
	answer_put(fd, 'D', json);
}

void answer_error(int fd, const struct err *err, const char *entry)
{
	CLEANUP(buf) struct buf json = BUF_INIT(WIRE_PAYLOAD_MAX);

	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "code", err->reason[0] ? err->reason : err_info(err->code)->name);
	boxjson_add_text(&json, "message", err->msg);
	if (entry)
		boxjson_add_text(&json, "entry", entry);
	(void)buf_addc(&json, '}');
	answer_put(fd, 'E', &json);
}
