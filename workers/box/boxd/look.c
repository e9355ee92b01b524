/*
 * The life of a look: begun by its frame, done in slices on the loop, its bytes sent under credit,
 * ended by DONE, by ERROR, or by time.
 */
#include "look.h"

#include <sys/fsuid.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "exec_ahead.h"
#include "files.h"
#include "loop.h"
#include "pool.h"
#include "text.h"

#define LOOKS_MAX 8
/* One slice of all looks together; what else there is to do waits no longer for it. */
#define SLICE_MS 4
#define LOOK_MS 10000
/* A look that has this much to send waits for the host. */
#define OUT_FULL (128u * 1024)

void look_as(const struct look *l, uid_t uid)
{
	if (!l->boxd->is_root)
		return;
	(void)setfsgid(uid);
	(void)setfsuid(uid);
}

void look_as_boxd(const struct look *l)
{
	if (!l->boxd->is_root)
		return;
	(void)setfsuid(0);
	(void)setfsgid(0);
}

/* The mount that a path is looked for on: folders that root made and that no one can move. */
static const char *root_of(const char *path)
{
	static const char *const roots[] = {
		"/workspace", "/artifacts", "/tmp", "/var/tmp", "/home"};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		size_t n = strlen(roots[i]);

		if (!strncmp(path, roots[i], n) && (path[n] == '/' || !path[n]))
			return roots[i];
	}
	return "/";
}

static int regular_reopen(int fd)
{
	char path[40];
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int look_open_at(int at, const char *name)
{
	CLEANUP(fd) int fd = files_open_inside(at, name, O_PATH | O_NOFOLLOW);

	return fd < 0 ? -1 : regular_reopen(fd);
}

static int open_failed(const char *path, bool file, struct err *err)
{
	if (errno == EXDEV)
		(void)err_set(err, ERR_FORBIDDEN, "%.200s: on a mount that is not looked at", path);
	else if (errno == ELOOP)
		(void)err_set(err, ERR_INVALID, "%.200s: leads through a symbolic link", path);
	else if (errno == EINVAL && file)
		(void)err_set(err, ERR_INVALID, "%.200s: not a plain file", path);
	else if (errno == EAGAIN)
		(void)err_set(err, ERR_BUSY, "%.200s: a program of the box holds it", path);
	else
		(void)files_fail(path, err);
	return -1;
}

int look_open(const struct look *l, const char *path, bool file, struct err *err)
{
	const char *root = root_of(path), *rest = path + strlen(root);
	CLEANUP(fd) int top = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = -1;

	rest += strspn(rest, "/");
	look_as(l, l->uid);
	if (top >= 0 && file)
		fd = look_open_at(top, *rest ? rest : ".");
	else if (top >= 0)
		fd = files_open_inside(
			top, *rest ? rest : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0)
		fd = open_failed(path, file, err);
	look_as_boxd(l);
	return fd;
}

size_t look_file_read(struct look_file *f, char *to, size_t n)
{
	ssize_t got;

	do
		got = pread(f->fd, to, n, (off_t)f->at);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return 0;
	f->at += (uint64_t)got;
	return (size_t)got;
}

void look_file_end(struct look_file *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	buf_done(&f->carry);
	*f = (struct look_file){.fd = -1, .line = 1};
	buf_init(&f->carry, LOOK_CARRY_MAX);
}

void look_line(struct look *l)
{
	(void)buf_addc(&l->out, '{');
	boxjson_add_text(&l->out, "path", l->walk.path.data);
}

void look_line_end(struct look *l)
{
	(void)buf_adds(&l->out, "}\n");
}

struct look *look_find(struct boxd *b, uint32_t stream)
{
	struct look *l = b->looks;

	while (l && l->stream != stream)
		l = l->next;
	return l;
}

struct look *look_new(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	struct look *l;
	const char *user, *home;
	uid_t uid;
	int n = 0;

	if (!boxjson_text(in, "user", "agent", &user, err))
		return NULL;
	if (!user_find(user, &uid, &home) || uid == 0) {
		(void)err_set(err, ERR_INVALID, "user: nobody looks as %.32s", user);
		return NULL;
	}
	for (l = b->looks; l; l = l->next)
		n++;
	if (n >= LOOKS_MAX || exec_find(b, stream) || look_find(b, stream)) {
		(void)err_set(err, ERR_BUSY, "stream %u is in use, or %d looks are", stream, n);
		return NULL;
	}
	/* its file is nobody's to see, and we would be held where we open it */
	ahead_drop(b);
	l = mem_alloc(sizeof(*l));
	memset(l, 0, sizeof(*l));
	l->boxd = b;
	l->stream = stream;
	l->uid = uid;
	l->allowed = WIRE_WINDOW;
	l->until_ms = time_boot_ms() + LOOK_MS;
	l->top = l->base = l->file.fd = l->base_file.fd = -1;
	buf_init(&l->out, OUT_FULL + 2 * WIRE_PAYLOAD_MAX);
	buf_init(&l->done, 4096);
	look_file_end(&l->file);
	look_file_end(&l->base_file);
	return l;
}

void look_free(struct look *l)
{
	walk_done(&l->walk);
	look_file_end(&l->file);
	look_file_end(&l->base_file);
	buf_done(&l->file.carry);
	buf_done(&l->base_file.carry);
	if (l->top >= 0)
		(void)close(l->top);
	if (l->base >= 0)
		(void)close(l->base);
	buf_done(&l->out);
	buf_done(&l->done);
	free(l->text);
	free(l);
}

static void end(struct look *l)
{
	struct look **at = &l->boxd->looks;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	look_free(l);
}

static bool is_hungry(const struct look *l)
{
	return l->state == LOOK_MORE && l->out.len < OUT_FULL;
}

/* One after the other, a slice for all of them. */
static void slice(struct loop *loop, uint32_t events, void *arg)
{
	struct boxd *b = arg;
	int64_t until = time_boot_ms() + SLICE_MS;
	bool any = true;

	(void)loop;
	(void)events;
	while (any && time_boot_ms() <= until) {
		any = false;
		for (struct look *l = b->looks, *next; l; l = next) {
			struct err err = {0};

			next = l->next;
			if (!is_hungry(l))
				continue;
			any = true;
			l->state = l->step(l, &err);
			if (l->state == LOOK_MORE && time_boot_ms() > l->until_ms) {
				l->truncated = true;
				l->state = LOOK_OVER;
			}
			if (l->state == LOOK_FAILED) {
				channel_error(b, l->stream, &err, NULL);
				end(l);
			}
		}
	}
	watch_set_timer(b->look_timer, any ? 0 : -1, 0);
}

void look_begin(struct look *l, enum look_state (*step)(struct look *l, struct err *err))
{
	struct boxd *b = l->boxd;

	l->step = step;
	l->next = b->looks;
	b->looks = l;
	if (!b->look_timer)
		b->look_timer = loop_add_timer(b->loop, -1, 0, slice, b);
	watch_set_timer(b->look_timer, 0, 0);
}

bool look_frame(struct look *l, const struct wire_frame *f, struct err *err)
{
	uint64_t value;

	if (f->type != WIRE_CREDIT || !wire_u64(f, &value))
		return err_set(err, ERR_INVALID, "stream %u takes credit alone", f->stream);
	if (value > l->allowed)
		l->allowed = value;
	return true;
}

static void done_send(struct look *l)
{
	CLEANUP(buf) struct buf json = BUF_INIT(8192);

	(void)buf_addc(&json, '{');
	(void)buf_add(&json, l->done.data, l->done.len);
	boxjson_add_bool(&json, "truncated", l->truncated || l->walk.cut);
	boxjson_add_u64(&json, "skipped", l->walk.skipped);
	(void)buf_addc(&json, '}');
	channel_done(l->boxd, l->stream, &json);
}

bool looks_pump(struct boxd *b)
{
	for (struct look *l = b->looks; l; l = l->next) {
		size_t n = l->out.len < LOOK_CHUNK ? l->out.len : LOOK_CHUNK;

		if (n > l->allowed - l->moved)
			n = (size_t)(l->allowed - l->moved);
		if (n) {
			channel_send_raw(b, WIRE_DATA, l->stream, l->out.data, n);
			buf_shift(&l->out, n);
			l->moved += n;
			if (is_hungry(l))
				watch_set_timer(b->look_timer, 0, 0);
			return true;
		}
		if (l->state == LOOK_OVER && !l->out.len) {
			done_send(l);
			end(l);
			return true;
		}
	}
	return false;
}

void looks_drop_all(struct boxd *b)
{
	while (b->looks)
		end(b->looks);
}
