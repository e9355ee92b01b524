/*
 * What is enabled: by whom, what it stands for, and the record of it, believed only as far as it
 * may be.
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

static void test_enabling(void **state)
{
	struct syncrig *f = *state;
	struct sync_list list;

	syncrig_put(f, "project/a", "1");
	REFUSED("project", ERR_FORBIDDEN, "sync_not_enabled");
	SYNC_RUN(f->dir, "mkdir", "-p", "project/sub", "projectile");
	syncrig_put(f, "project/sub/b", "2");
	syncrig_allow(f, "project");
	syncrig_allow(f, "project");
	SYNC("project");
	HAS("a=1\n");
	HAS("sub/b=2\n");
	assert_int_equal(f->copy.packed.files, 2);
	assert_string_equal(f->copy.packed.name, "project");
	SYNC("project/sub");
	HAS("b=2\n");
	HASNT("a=1");
	/* neither what is beside it, nor above, nor absent, nor reached by a link */
	REFUSED("projectile", ERR_FORBIDDEN, "sync_not_enabled");
	REFUSED("other", ERR_FORBIDDEN, "sync_not_enabled");
	REFUSED("", ERR_FORBIDDEN, "sync_not_enabled");
	REFUSED("absent", ERR_FORBIDDEN, "sync_not_enabled");
	REFUSED("project/a", ERR_FORBIDDEN, "sync_not_enabled");
	assert_int_equal(symlink("../other", syncrig_at(f, "project/link")), 0);
	REFUSED("project/link", ERR_FORBIDDEN, "sync_not_enabled");
	REFUSED("project/../other", ERR_FORBIDDEN, "sync_not_enabled");
	assert_true(sync_list(f->pool, f->folder, &list, &f->err));
	assert_int_equal(list.n, 1);
	assert_string_equal(list.dirs[0].path, syncrig_at(f, "project"));
	assert_string_equal(sync_dir_state(&list.dirs[0]), "enabled");
	/* and not any more */
	assert_true(sync_forbid(f->pool, f->folder, syncrig_at(f, "project"), &f->err));
	REFUSED("project", ERR_FORBIDDEN, "sync_not_enabled");
	assert_false(sync_forbid(f->pool, f->folder, syncrig_at(f, "project"), &f->err));
	assert_int_equal(f->err.code, ERR_NOT_FOUND);
}

static void test_another_directory(void **state)
{
	struct syncrig *f = *state;
	struct sync_list list;

	syncrig_allow(f, "project");
	syncrig_allow(f, "other");
	SYNC_RUN(f->dir, "mv", "project", "was");
	assert_true(sync_list(f->pool, f->folder, &list, &f->err));
	assert_string_equal(sync_dir_state(&list.dirs[0]), "gone");
	SYNC_RUN(f->dir, "mkdir", "project");
	REFUSED("project", ERR_FORBIDDEN, "sync_not_enabled");
	assert_string_equal(sync_dir_state(&list.dirs[0]), "replaced");
	SYNC_RUN(f->dir, "rmdir", "project");
	assert_int_equal(symlink("was", syncrig_at(f, "project")), 0);
	REFUSED("project", ERR_FORBIDDEN, "sync_not_enabled");
	SYNC("other");
	SYNC_RUN(f->dir, "rm", "project");
	SYNC_RUN(f->dir, "mv", "was", "project");
	SYNC("project");
}

static void test_not_to_be_enabled(void **state)
{
	struct syncrig *f = *state;
	const char *path;

	SYNC_RUN(f->dir, "mkdir", "-p", "home/.ssh/project", "home/.config/agent-sandbox",
		"home/project");
	f->folder = syncrig_at(f, "home/.config/agent-sandbox");
	syncrig_allow(f, "home/project");
	assert_false(sync_may_allow(f->pool, f->folder, "/", &path, &f->err));
	assert_non_null(strstr(f->err.msg, "more than a project"));
	assert_false(sync_may_allow(f->pool, f->folder, syncrig_at(f, "home"), &path, &f->err));
	assert_non_null(strstr(f->err.msg, "more than a project"));
	assert_false(sync_may_allow(f->pool, f->folder, f->folder, &path, &f->err));
	assert_false(sync_may_allow(
		f->pool, f->folder, syncrig_at(f, "home/.ssh/project"), &path, &f->err));
	assert_non_null(strstr(f->err.msg, "private keys"));
	assert_false(sync_may_allow(f->pool, f->folder, syncrig_at(f, "absent"), &path, &f->err));
	assert_int_equal(f->err.code, ERR_INVALID);
}

static void test_record(void **state)
{
	struct syncrig *f = *state;
	const char *record = "config/agent-sandbox/sync-directories";
	struct stat st;

	syncrig_allow(f, "project");
	SYNC("project");
	assert_int_equal(stat(syncrig_at(f, record), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* others may write it, or the folder */
	assert_int_equal(chmod(syncrig_at(f, record), 0620), 0);
	REFUSED("project", ERR_FORBIDDEN, "sync_record");
	assert_int_equal(chmod(syncrig_at(f, record), 0644), 0);
	SYNC("project");
	assert_int_equal(chmod(f->folder, 0702), 0);
	REFUSED("project", ERR_FORBIDDEN, "sync_record");
	assert_int_equal(chmod(f->folder, 0700), 0);
	SYNC("project");
	/* a link to one that lies elsewhere */
	SYNC_RUN(f->dir, "mv", record, "other/record");
	assert_int_equal(symlink("../../other/record", syncrig_at(f, record)), 0);
	REFUSED("project", ERR_FORBIDDEN, "sync_record");
	/* no line that is not ours */
	static const char *const lines[] = {
		"1 2 relative\n", "x 1 /tmp\n", "1 /tmp\n", "1 2 /tmp", "\n"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		SYNC_RUN(f->dir, "rm", "-f", record);
		syncrig_put(f, record, lines[i]);
		REFUSED("project", ERR_FORBIDDEN, "sync_record");
	}
	if (geteuid() == 0) {
		SYNC_RUN(f->dir, "mv", "other/record", record);
		SYNC("project");
		assert_int_equal(chown(syncrig_at(f, record), 65534, 65534), 0);
		REFUSED("project", ERR_FORBIDDEN, "sync_record");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_enabling, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(
			test_another_directory, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(
			test_not_to_be_enabled, syncrig_setup, syncrig_teardown),
		cmocka_unit_test_setup_teardown(test_record, syncrig_setup, syncrig_teardown),
	};

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
