/* Finding images and templates by name and key, sparse copies, and the sealed memory. */
#include "template.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"

#define MIB (1 << 20)

struct folder {
	struct pool *pool;
	char dir[64];
};

static const char *in(struct folder *f, const char *name)
{
	return pool_printf(f->pool, "%s/%s", f->dir, name);
}

static int setup(void **state)
{
	struct folder *f = mem_alloc(sizeof(*f));

	*f = (struct folder){.pool = pool_new(), .dir = "/tmp/asb-template.XXXXXX"};
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(mkdir(in(f, "images"), 0755), 0);
	assert_int_equal(mkdir(in(f, "images/by-name"), 0755), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;
	static const char *const names[] = {"mem", "copy", "images/by-name/base", NULL};

	for (const char *const *n = names; *n; n++)
		(void)unlink(in(f, *n));
	(void)rmdir(in(f, "images/by-name"));
	(void)rmdir(in(f, "images"));
	assert_int_equal(rmdir(f->dir), 0);
	pool_free(f->pool);
	free(f);
	return 0;
}

static void test_an_image_is_found_by_its_link(void **state)
{
	struct folder *f = *state;
	struct err err = {0};
	struct image image;

	assert_false(image_get(f->pool, f->dir, "base", &image, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_not_equal(err.fix, "");
	assert_int_equal(symlink("../0123abc", in(f, "images/by-name/base")), 0);
	assert_true(image_get(f->pool, f->dir, "base", &image, &err));
	assert_string_equal(image.key, "0123abc");
	assert_string_equal(image.dir, in(f, "images/0123abc"));
	assert_string_equal(image_disk(f->pool, &image, size_class_find("m")),
		in(f, "images/0123abc/blank-m.img"));
}

static void test_a_name_is_not_a_path(void **state)
{
	static const char *const bad[] = {"", "..", "a/b", "../../etc", "a b", NULL};
	struct folder *f = *state;
	struct err err = {0};
	struct image image;

	for (const char *const *name = bad; *name; name++) {
		assert_false(image_get(f->pool, f->dir, *name, &image, &err));
		assert_int_equal(err.code, ERR_INVALID);
	}
}

/* 64 MiB of which 8 KiB are there, far apart. */
static void sparse_make(const char *path)
{
	CLEANUP(fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 64 * MIB), 0);
	assert_int_equal(pwrite(fd, "first", 5, 0), 5);
	assert_int_equal(pwrite(fd, "far", 3, 40 * MIB), 3);
}

static void test_copies_are_whole_and_sparse(void **state)
{
	struct folder *f = *state;
	struct err err = {0};
	char text[5];
	struct stat st;

	sparse_make(in(f, "mem"));
	CLEANUP(fd) int fd = open(in(f, "copy"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(disk_copy(in(f, "mem"), fd, &err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 64 * MIB);
	assert_true(st.st_blocks * 512 < MIB);
	assert_int_equal(pread(fd, text, 5, 0), 5);
	assert_memory_equal(text, "first", 5);
	assert_int_equal(pread(fd, text, 3, 40 * MIB), 3);
	assert_memory_equal(text, "far", 3);
	assert_false(disk_copy(in(f, "absent"), fd, &err));
}

static void test_loaded_memory_is_sealed(void **state)
{
	struct folder *f = *state;
	CLEANUP(template)
	struct template tpl = {.key = "k", .dir = f->dir, .memory_bytes = 64 * MIB, .mem_fd = -1};
	struct err err = {0};
	char text[5];
	void *map;

	sparse_make(in(f, "mem"));
	assert_true(template_load(&tpl, &err));
	assert_int_equal(pread(tpl.mem_fd, text, 5, 0), 5);
	assert_memory_equal(text, "first", 5);
	assert_int_equal(pwrite(tpl.mem_fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(tpl.mem_fd, 1), -1);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, tpl.mem_fd, 0);
	assert_ptr_equal(map, MAP_FAILED);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, tpl.mem_fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	(void)munmap(map, 4096);
}

static void test_memory_of_another_size_is_refused(void **state)
{
	struct folder *f = *state;
	struct template tpl = {.key = "k", .dir = f->dir, .memory_bytes = 32 * MIB, .mem_fd = -1};
	struct err err = {0};

	sparse_make(in(f, "mem"));
	assert_false(template_load(&tpl, &err));
	assert_int_equal(tpl.mem_fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_image_is_found_by_its_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_is_not_a_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copies_are_whole_and_sparse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loaded_memory_is_sealed, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_memory_of_another_size_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
