/*
 * Making a template: boot the image cold once, do the opening with boxd, run once what boxes run
 * (so that its pages are in memory), then save the devices and, in that same instant, keep the
 * memory and the disk. Built in a temporary folder and renamed; makers take a lock.
 *
 * The guest's memory is a memfd while it runs: on a disk's file system each first touch of a page
 * costs a page fault through the file system, which tripled the boot time.
 */
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agents.h"
#include "boxlink.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "qemu.h"
#include "template.h"
#include "text.h"

#define BOOT_MS 180000
#define WARM_MS                                                                          \
	600000 /* of a recipe's own commands, emulated, on a machine that has other work \
		*/
/* Streams are never used twice in a box; a box counts from 1, so these are out of its way. */
#define WARM_STREAM 0x7fffff00u
#define WARM_MAX 8192 /* bytes of an image's warm file */
#define PAGE 4096

struct making {
	struct pool *pool;
	const char *dir; /* temporary */
	const struct image *image;
	const struct size_class *size;
	int mem; /* memfd */
	void (*progress)(const char *step);
};

static void step(const struct making *m, const char *what)
{
	if (m->progress)
		m->progress(what);
}

static const char *path_in(const struct making *m, const char *name)
{
	return pool_printf(m->pool, "%s/%s", m->dir, name);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void remove_dir(void *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What the image's recipe says boxes will run; "" where it says nothing. */
static bool warm_script(struct making *m, const char **out, struct err *err)
{
	const char *path = pool_printf(m->pool, "%s/warm", m->image->dir);
	CLEANUP(file) FILE *f = fopen(path, "re");
	char *text = pool_alloc(m->pool, WARM_MAX + 1);

	*out = text;
	if (!f)
		return errno == ENOENT || err_errno(err, ERR_INTERNAL, "%s", path);
	text[fread(text, 1, WARM_MAX, f)] = '\0';
	return !ferror(f) || err_errno(err, ERR_INTERNAL, "%s", path);
}

/* Says what the recipe's commands came to, and what they said last. */
static bool warm_failed(const struct boxlink_exit *e, struct err *err)
{
	size_t n = e->out.len < 120 ? e->out.len : 120;
	CLEANUP(buf) struct buf tail = BUF_INIT(600);

	text_add_sane(&tail, e->out.data + e->out.len - n, n);
	if (e->timed_out)
		return err_set(err, ERR_TIMEOUT, "warm up: not done after %d s: %s", WARM_MS / 1000,
			tail.data);
	return err_set(err, ERR_UPSTREAM, "warm up: %s %" PRId64 ": %s",
		e->signal ? "ended by signal" : "ended with", e->signal ? e->signal : e->code,
		tail.data);
}

/* The agent `script` runs once, as in a box, but for nothing; then boxd begins its shell anew and
 * holds it, and so do the clones. */
static bool shell_begin(struct making *m, struct boxlink *l, struct err *err)
{
	static const char *const flush[] = {"/bin/sync", NULL}, *const look[] = {"/bin/sh", "-c",
									"test -x /bin/bash", NULL};
	const struct agent *agent = agent_find("script");
	const struct agent_start start = {.pool = m->pool};
	CLEANUP(json) struct json_object *o = json_new_object();
	CLEANUP(boxlink_exit) struct boxlink_exit looked = {0}, ended = {0}, flushed = {0};
	struct json_object *argv = json_new_array();

	json_add(o, "argv", argv);
	/* an image of a person's own may have none */
	if (!boxlink_exec(l, WARM_STREAM + 7, "agent", look, WARM_MS, &looked, err))
		return err_wrap(err, "warm up");
	if (looked.code)
		return true;
	for (const char *const *a = agent->argv(&start); *a; a++)
		json_push_text(argv, *a);
	json_add_text(o, "cwd", "/workspace");
	json_add_text(o, "ask", agent->ask);
	json_add_text(o, "code", agent->code);
	json_add_text(o, "code_text", "true\n");
	json_add_bool(o, "ahead", true);
	if (!boxlink_exec_json(l, WARM_STREAM + 8, json_text(o, m->pool), WARM_MS, &ended, err))
		return err_wrap(err, "warm up: agent");
	/* the shell comes to where it is held while this runs; one that does not goes there in the
	 * clone */
	return boxlink_exec(l, WARM_STREAM + 9, "agent", flush, WARM_MS, &flushed, err) ||
	       err_wrap(err, "warm up");
}

static bool warm_up(struct making *m, struct boxlink *l, struct err *err)
{
	const char *script;

	if (!warm_script(m, &script, err))
		return false;
	/* the second time is what boxes will see; it must succeed, or the image is broken */
	const char *const commands[][4] = {
		{"/bin/sh", "-c", script, NULL},
		{"/bin/sh", "-ec", script, NULL},
	};

	/* an image of a person's own may hold nothing that could be run for nothing */
	for (uint32_t i = 0; *script && i < sizeof(commands) / sizeof(commands[0]); i++) {
		CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

		if (!boxlink_exec(l, WARM_STREAM + i, "agent", commands[i], WARM_MS, &e, err))
			return err_wrap(err, "warm up");
		if (e.code != 0)
			return warm_failed(&e, err);
	}
	if (*script && !shell_begin(m, l, err))
		return false;
	/* what was sent last was ACK_EXIT: an answer to a PING says that it was obeyed, and that
	 * nothing of ours is on its way any more when the guest is frozen */
	return boxlink_send(l, WIRE_PING, 0, "frozen", err) &&
	       boxlink_expect(l, WIRE_PONG, 0, WARM_MS, NULL, err);
}

static bool boot_and_warm(struct making *m, struct qemu *q, struct err *err)
{
	CLEANUP(boxlink) struct boxlink l;
	CLEANUP(json) struct json_object *hello = NULL;

	boxlink_init(&l, q->channel, q->console);
	step(m, "booting the image");
	if (!boxlink_hello(&l, BOOT_MS, &hello, err) ||
		!boxlink_welcome(&l, "template", time_now_ms(), WARM_MS, NULL, err)) {
		size_t n = l.console_tail.len < 120 ? l.console_tail.len : 120;
		CLEANUP(buf) struct buf tail = BUF_INIT(600);

		text_add_sane(&tail, l.console_tail.data + l.console_tail.len - n, n);
		return err_wrap(err, "boot (console: %s)", tail.data);
	}
	step(m, "warming it up");
	return warm_up(m, &l, err);
}

/* Writes the memory to a file in which pages of zeros, most of all, are holes. */
static bool memory_write(struct making *m, struct err *err)
{
	static char chunk[256 * PAGE];
	static const char zeros[PAGE];
	CLEANUP(fd)
	int out = open(path_in(m, "mem"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (out < 0 || ftruncate(out, m->size->memory_bytes))
		return err_errno(err, ERR_INTERNAL, "memory file");
	for (off_t at = 0; at < m->size->memory_bytes; at += (off_t)sizeof(chunk)) {
		if (pread(m->mem, chunk, sizeof(chunk), at) != (ssize_t)sizeof(chunk))
			return err_errno(err, ERR_INTERNAL, "memory: read");
		for (off_t i = 0; i < (off_t)sizeof(chunk); i += PAGE)
			if (memcmp(chunk + i, zeros, PAGE) != 0 &&
				pwrite(out, chunk + i, PAGE, at + i) != PAGE)
				return err_errno(err, ERR_INTERNAL, "memory: write");
	}
	if (fsync(out))
		return err_errno(err, ERR_INTERNAL, "memory: write");
	return true;
}

static bool make_files(struct making *m, struct err *err)
{
	struct qemu q;
	struct qemu_spec spec = {.marker = "asb-template",
		.image_dir = m->image->dir,
		.disk = path_in(m, "disk"),
		.memory_bytes = m->size->memory_bytes,
		.cpus = m->size->cpus,
		.mem_fd = -1,
		.state_fd = -1,
		.mem_path = pool_printf(m->pool, "/proc/%d/fd/%d", (int)getpid(), m->mem)};
	CLEANUP(fd) int disk = open(spec.disk, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CLEANUP(fd)
	int state = open(path_in(m, "state"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool ok;

	if (disk < 0 || state < 0)
		return err_errno(err, ERR_INTERNAL, "files in %s", m->dir);
	if (!disk_copy(image_disk(m->pool, m->image, m->size), disk, err) ||
		!qemu_start(m->pool, &spec, &q, err))
		return false;
	ok = boot_and_warm(m, &q, err);
	if (ok)
		step(m, "freezing it");
	ok = ok && qemu_save(&q, state, err) && memory_write(m, err);
	qemu_kill(&q);
	if (ok && (fsync(disk) || fsync(state)))
		ok = err_errno(err, ERR_INTERNAL, "files in %s", m->dir);
	return ok;
}

static bool describe(struct making *m, const char *key, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	CLEANUP(file) FILE *f = fopen(path_in(m, "template.json"), "wxe");

	json_add_text(o, "key", key);
	json_add_text(o, "image", m->image->name);
	json_add_text(o, "image_key", m->image->key);
	json_add_text(o, "class", m->size->name);
	json_add_i64(o, "memory_bytes", m->size->memory_bytes);
	json_add_i64(o, "made_ms", time_now_ms());
	if (!f || fprintf(f, "%s\n", json_text(o, m->pool)) < 0 || fflush(f))
		return err_errno(err, ERR_INTERNAL, "template.json");
	for (const char *const *name =
			(const char *const[]){"mem", "state", "disk", "template.json", NULL};
		*name; name++)
		if (chmod(path_in(m, *name), 0444))
			return err_errno(err, ERR_INTERNAL, "%s", *name);
	if (chmod(m->dir, 0755))
		return err_errno(err, ERR_INTERNAL, "%s", m->dir);
	return true;
}

static bool make_dirs(struct pool *pool, const char *cache_dir, struct err *err)
{
	static const char *const dirs[] = {"templates", "templates/by-name", "tmp", NULL};

	for (const char *const *d = dirs; *d; d++)
		if (mkdir(pool_printf(pool, "%s/%s", cache_dir, *d), 0755) && errno != EEXIST)
			return err_errno(err, ERR_INTERNAL, "%s/%s", cache_dir, *d);
	return true;
}

/* templates/by-name/IMAGE-CLASS -> ../KEY, for people */
static bool name_it(struct pool *pool, const char *cache_dir, const struct making *m,
	const char *key, struct err *err)
{
	const char *link = pool_printf(
		pool, "%s/templates/by-name/%s-%s", cache_dir, m->image->name, m->size->name);
	const char *fresh = pool_printf(pool, "%s.%d", link, (int)getpid());

	(void)unlink(fresh);
	if (symlink(pool_printf(pool, "../%s", key), fresh) || rename(fresh, link))
		return err_errno(err, ERR_INTERNAL, "%s", link);
	return true;
}

bool template_make(struct pool *pool, const char *cache_dir, const struct image *image,
	const struct size_class *size, void (*progress)(const char *step), struct template *out,
	struct err *err)
{
	struct making m = {.pool = pool, .image = image, .size = size, .progress = progress};
	struct template found = TEMPLATE_INIT;
	const char *key, *final;

	if (!make_dirs(pool, cache_dir, err))
		return err_wrap(err, "template");
	CLEANUP(fd)
	int lock = open(pool_printf(pool, "%s/templates/.lock", cache_dir),
		O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX))
		return err_errno(err, ERR_INTERNAL, "template: lock");
	if (!template_find(pool, cache_dir, image, size, &found, err))
		return false;
	if (!found.key) {
		CLEANUP(fd) int mem = memfd_create("asb-making", MFD_CLOEXEC);
		char *dir = pool_printf(pool, "%s/tmp/template.%d", cache_dir, (int)getpid());

		final = found.dir;
		key = strrchr(final, '/') + 1;
		m.dir = dir;
		m.mem = mem;
		remove_dir(dir);
		if (mem < 0 || ftruncate(mem, size->memory_bytes) || mkdir(dir, 0700))
			return err_errno(err, ERR_INTERNAL, "template: %s", dir);
		pool_defer(pool, remove_dir, dir); /* gone already where all went well */
		if (!make_files(&m, err) || !describe(&m, key, err))
			return err_wrap(err, "template %s-%s", image->name, size->name);
		if (rename(dir, final))
			return err_errno(err, ERR_INTERNAL, "template: %s", final);
		if (!template_find(pool, cache_dir, image, size, &found, err))
			return false;
	}
	*out = found;
	return name_it(pool, cache_dir, &m, found.key, err);
}
