/*
 * Copies of enabled directories: what is in them, what is not and why; ceilings; links and names
 * laid out to reach outside.
 */
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
#include "sync.h"
#include "syncrig.h"
#include "text.h"

static void test_rules(void **state)
{
	static const char *const never[] = {".env", ".envrc", "id_rsa", "id_ed25519", ".netrc",
		".npmrc", ".pypirc", "credentials", ".git-credentials", ".ENV"};
	static const char *const folders[] = {".aws", ".ssh", ".gnupg", ".docker", ".git",
		"node_modules", ".venv", "venv", "__pycache__"};
	struct syncrig *f = *state;

	SYNC_RUN(f->dir, "mkdir", "-p", "project/deep", "project/credentials");
	syncrig_put(f, "project/credentials/code.c", "kept");
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		syncrig_put(f, pool_printf(f->pool, "project/deep/%s", never[i]), "planted");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		SYNC_RUN(f->dir, "mkdir", pool_printf(f->pool, "project/deep/%s", folders[i]));
		syncrig_put(f, pool_printf(f->pool, "project/deep/%s/x", folders[i]), "planted");
	}
	syncrig_put(f, "project/deep/.env.example", "A=");
	syncrig_put(f, "project/deep/.gitignore", "kept.log\n");
	syncrig_put(f, "project/kept.log", "not git's to say");
	syncrig_allow(f, "project");
	SYNC("project");
	HASNT("planted");
	HAS("deep/.env.example=A=\n");
	HAS("credentials/code.c=kept\n");
	HAS("kept.log=not git's to say\n");
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		SKIPPED(pool_printf(f->pool, "deep/%s: ", never[i]));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		SKIPPED(pool_printf(f->pool, "deep/%s: ", folders[i]));
		/* not even as an empty folder */
		HASNT(pool_printf(f->pool, "deep/%s/", folders[i]));
	}
	assert_int_equal(f->copy.nskips, 10 + 9);
	/* and not by asking for it */
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		REFUSED(pool_printf(f->pool, "project/deep/%s", folders[i]), ERR_FORBIDDEN,
			"sync_excluded");
}

static void test_own_rules(void **state)
{
	struct syncrig *f = *state;

	SYNC_RUN(f->dir, "mkdir", "-p", "project/private/in", "project/src/private");
	syncrig_put(f, "project/private/in/x", "planted");
	syncrig_put(f, "project/src/private/y", "kept");
	syncrig_put(f, "project/src/a.log", "planted");
	syncrig_put(f, "project/src/b.log", "kept too");
	syncrig_put(f, "project/.env", "planted");
	syncrig_allow(f, "project");
	syncrig_put(f, "project/.agentsandboxignore", "/private/\n*.log\n!b.log\n!.env\n");
	SYNC("project");
	HASNT("planted");
	HAS("src/private/y=kept\n");
	HAS("src/b.log=kept too\n");
	HAS(".agentsandboxignore=");
	SKIPPED("private: .agentsandboxignore line 1\n");
	SKIPPED("src/a.log: .agentsandboxignore line 2\n");
	SKIPPED(".env: environment secrets\n");
	assert_int_equal(f->copy.nskips, 3);
	/* the rules hold from the enabled directory down, whichever is asked for */
	SYNC("project/src");
	HASNT("planted");
	HAS("b.log=kept too\n");
	REFUSED("project/private", ERR_FORBIDDEN, "sync_excluded");
	REFUSED("project/private/in", ERR_FORBIDDEN, "sync_excluded");
	syncrig_put(f, "project/.agentsandboxignore", "[\n");
	assert_false(syncrig_copy(f, "project"));
	assert_non_null(strstr(f->err.msg, "line 1"));
	SYNC_RUN(f->dir, "mv", "project/.agentsandboxignore", "other/rules");
	assert_int_equal(
		symlink("../other/rules", syncrig_at(f, "project/.agentsandboxignore")), 0);
	assert_false(syncrig_copy(f, "project"));
}

static void test_hostile(void **state)
{
	struct syncrig *f = *state;

	syncrig_put(f, "other/secret", "planted");
	syncrig_put(f, "project/in", "kept");
	assert_int_equal(symlink("in", syncrig_at(f, "project/link")), 0);
	assert_int_equal(symlink("../other/secret", syncrig_at(f, "project/out")), 0);
	assert_int_equal(symlink(syncrig_at(f, "other"), syncrig_at(f, "project/absolute")), 0);
	assert_int_equal(symlink("x/../../other", syncrig_at(f, "project/winding")), 0);
	assert_int_equal(mkfifo(syncrig_at(f, "project/fifo"), 0600), 0);
	syncrig_put(f, "project/bad\xff", "planted");
	SYNC_RUN(f->dir, "mkdir", "project/worse\xfe");
	syncrig_put(f, "project/new\nline", "kept");
	syncrig_allow(f, "project");
	SYNC("project");
	HASNT("planted");
	HAS("in=kept\n");
	HAS("link->in\n");
	HAS("new\nline=kept\n");
	SKIPPED("out: a link that points outside");
	SKIPPED("absolute: a link that points outside");
	SKIPPED("winding: a link that points outside");
	SKIPPED("fifo: not a file");
	SKIPPED("bad\xef\xbf\xbd: its name is not UTF-8");
	SKIPPED("worse\xef\xbf\xbd: its name is not UTF-8");
	assert_int_equal(f->copy.nskips, 6);
}

/* The worst moments for a folder to be swapped for a link to a planted one: after it was looked at
 * and before it is opened, and the same for a file in it. The walk asks its rules at exactly these.
 */
struct swapping {
	struct syncrig *f;
	const char *when;
	int notes;
};

static const char *swap(void *arg, const char *path, bool is_folder)
{
	struct swapping *s = arg;

	(void)is_folder;
	if (strcmp(path, s->when) != 0)
		return NULL;
	assert_int_equal(rename(syncrig_at(s->f, "project/d"), syncrig_at(s->f, "project/e")), 0);
	assert_int_equal(symlink("../other", syncrig_at(s->f, "project/d")), 0);
	return NULL;
}

static void count_note(void *arg, const char *path, const char *why)
{
	struct swapping *s = arg;

	(void)path;
	(void)why;
	s->notes++;
}

static void test_race(void **state)
{
	static const struct {
		const char *when;
		int notes; /* what could not be read is reported */
	} moments[] = {{"never", 0}, {"d", 1}, {"d/file", 1}};
	struct syncrig *f = *state;

	SYNC_RUN(f->dir, "mkdir", "project/d");
	syncrig_put(f, "other/file", "planted");
	syncrig_put(f, "project/d/file", "harmless");
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
		CLEANUP(fd) int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		CLEANUP(fd)
		int top = open(syncrig_at(f, "project"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct swapping s = {.f = f, .when = moments[i].when};
		struct tree_options opt = {.dir = "project",
			.max_bytes = 1 << 20,
			.skip = swap,
			.note = count_note,
			.note_arg = &s};

		assert_true(tree_pack_dir(f->pool, &opt, top, fd, &f->copy.packed, &f->err));
		buf_reset(&f->listing);
		syncrig_read(f, fd);
		HASNT("planted");
		assert_int_equal(s.notes, moments[i].notes);
		if (i == 0)
			HAS("d/file=harmless\n");
		else
			assert_int_equal(unlink(syncrig_at(f, "project/d")) ||
						 rename(syncrig_at(f, "project/e"),
							 syncrig_at(f, "project/d")),
				0);
	}
}

static void test_ceilings(void **state)
{
	struct syncrig *f = *state;

	syncrig_allow(f, "project");
	for (int i = 1; i <= SYNC_MAX_FILES; i++)
		syncrig_put(f, pool_printf(f->pool, "project/%d", i), "");
	SYNC("project");
	assert_int_equal(f->copy.packed.files, 2000);
	syncrig_put(f, "project/more", "");
	REFUSED("project", ERR_TOO_LARGE, "sync_too_large");
	assert_non_null(strstr(f->err.fix, ".agentsandboxignore"));
	syncrig_put(f, "project/.agentsandboxignore", "1*\nmore\n");
	SYNC("project");
	SYNC_RUN(syncrig_at(f, "project"), "truncate", "-s", "60M", "2000");
	SYNC("project");
	SYNC_RUN(syncrig_at(f, "project"), "truncate", "-s", "64M", "2000");
	REFUSED("project", ERR_TOO_LARGE, "sync_too_large");
	assert_non_null(strstr(f->err.msg, "2000"));
}

static void test_lock_file(void **state)
{
	static const char *const bad[] = {"../other/lock", "sub/../../other/lock", "/etc/passwd",
		"sub/../lock", "./lock", "", "sub//lock", "sub/"};
	CLEANUP(sync_place) struct sync_place place = SYNC_PLACE_NONE;
	struct syncrig *f = *state;
	char *text;

	SYNC_RUN(f->dir, "mkdir", "project/sub");
	syncrig_put(f, "other/lock", "planted");
	syncrig_put(f, "project/lock", "a==1\n");
	syncrig_put(f, "project/.env", "planted");
	syncrig_put(f, "project/sub/lock", "b==1");
	syncrig_put(f, "project/.agentsandboxignore", "/sub/\n");
	assert_int_equal(symlink("../other/lock", syncrig_at(f, "project/link")), 0);
	syncrig_allow(f, "project");
	assert_true(sync_open(f->pool, f->folder, syncrig_at(f, "project"), &place, &f->err));
	assert_true(sync_read(f->pool, &place, "lock", 4u << 20, &text, &f->err));
	assert_string_equal(text, "a==1\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(sync_read(f->pool, &place, bad[i], 4u << 20, &text, &f->err));
		assert_int_equal(f->err.code, ERR_INVALID);
	}
	assert_false(sync_read(f->pool, &place, "link", 4u << 20, &text, &f->err));
	assert_false(sync_read(f->pool, &place, ".env", 4u << 20, &text, &f->err));
	assert_int_equal(f->err.code, ERR_FORBIDDEN);
	assert_false(sync_read(f->pool, &place, "sub/lock", 4u << 20, &text, &f->err));
	assert_int_equal(f->err.code, ERR_FORBIDDEN);
	assert_false(sync_read(f->pool, &place, "absent", 4u << 20, &text, &f->err));
	assert_int_equal(f->err.code, ERR_NOT_FOUND);
	SYNC_RUN(syncrig_at(f, "project"), "truncate", "-s", "5M", "lock");
	assert_false(sync_read(f->pool, &place, "lock", 4u << 20, &text, &f->err));
	assert_int_equal(f->err.code, ERR_TOO_LARGE);
}

static void test_report(void **state)
{
	struct syncrig *f = *state;

	syncrig_put(f, "project/a", "1");
	syncrig_put(f, "project/.env", "x");
	syncrig_allow(f, "project");
	SYNC("project");
	CLEANUP(json) struct json_object *o = sync_report(&f->copy);
	assert_string_equal(json_text(o, f->pool),
		"{\"files\":1,\"size_bytes\":1024,\"skipped\":"
		"[{\"path\":\".env\",\"reason\":\"environment secrets\"}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rules, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_own_rules, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_hostile, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_race, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_ceilings, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_lock_file, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_report, syncrig_setup, syncrig_teardown),
	};

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
