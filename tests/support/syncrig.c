/*
 * The folder that tests of copies work in.
 */
#include "syncrig.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

void syncrig_run(const char *dir, const char *const *argv)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
	struct child c = {.argv = argv, .env = env, .cwd = dir};
	struct err err;
	int status;

	assert_true(child_start(&c, &err));
	assert_true(child_wait(&c, 60000, &status, &err));
	assert_int_equal(status, 0);
}

const char *syncrig_at(struct syncrig *f, const char *name)
{
	return pool_printf(f->pool, "%s/%s", f->dir, name);
}

void syncrig_put(struct syncrig *f, const char *name, const char *text)
{
	CLEANUP(file) FILE *file = fopen(syncrig_at(f, name), "we");

	assert_non_null(file);
	(void)fputs(text, file);
}

int syncrig_setup(void **state)
{
	struct syncrig *f = mem_alloc(sizeof(*f));
	char real[4096];

	*f = (struct syncrig){.pool = pool_new(), .dir = "/tmp/asb-sync.XXXXXX"};
	buf_init(&f->skips, 1u << 20);
	buf_init(&f->listing, 8u << 20);
	assert_non_null(mkdtemp(f->dir));
	assert_non_null(realpath(f->dir, real));
	f->folder = syncrig_at(f, "config/agent-sandbox");
	SYNC_RUN(f->dir, "mkdir", "project", "other");
	*state = f;
	return 0;
}

int syncrig_teardown(void **state)
{
	struct syncrig *f = *state;

	SYNC_RUN("/", "chmod", "-R", "u+rwX", f->dir);
	SYNC_RUN("/", "rm", "-rf", f->dir);
	buf_done(&f->skips);
	buf_done(&f->listing);
	pool_free(f->pool);
	free(f);
	return 0;
}

void syncrig_allow(struct syncrig *f, const char *dir)
{
	const char *path;

	if (!sync_may_allow(f->pool, f->folder, syncrig_at(f, dir), &path, &f->err) ||
		!sync_allow(f->pool, f->folder, path, &f->err))
		fail_msg("%s", f->err.msg);
}

void syncrig_read(struct syncrig *f, int fd)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(archive_read_support_format_tar(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_fd(a, fd, 10240), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		char text[512];
		la_ssize_t n;

		if (archive_entry_filetype(e) == S_IFLNK) {
			(void)buf_addf(&f->listing, "%s->%s\n", archive_entry_pathname(e),
				archive_entry_symlink(e));
			continue;
		}
		(void)buf_addf(&f->listing, "%s=", archive_entry_pathname(e));
		n = archive_read_data(a, text, sizeof(text));
		assert_true(n >= 0);
		(void)buf_add(&f->listing, text, (size_t)n);
		(void)buf_addc(&f->listing, '\n');
	}
	(void)archive_read_free(a);
}

bool syncrig_copy(struct syncrig *f, const char *dir)
{
	CLEANUP(fd) int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CLEANUP(sync_place) struct sync_place place = SYNC_PLACE_NONE;

	buf_reset(&f->listing);
	buf_reset(&f->skips);
	if (!sync_open(f->pool, f->folder, syncrig_at(f, dir), &place, &f->err) ||
		!sync_pack(f->pool, &place, fd, &f->copy, &f->err))
		return false;
	for (const struct sync_skip *s = f->copy.skips; s; s = s->next)
		(void)buf_addf(&f->skips, "%s: %s\n", s->path, s->why);
	syncrig_read(f, fd);
	return true;
}
