#pragma once
/*
 * A folder with a project in it, what a copy of it holds, and what was left out and why. For tests
 * of cli/sync*.c; every function fails the test where it fails.
 */
#include <stdbool.h>

#include "buf.h"
#include "err.h"
#include "sync.h"

struct pool;

struct syncrig {
	struct pool *pool;
	char dir[64];
	const char *folder; /* of the record */
	struct buf listing; /* "path=contents\n" or "path->target\n" */
	struct buf skips;   /* "path: why\n" */
	struct sync_copy copy;
	struct err err;
};

int syncrig_setup(void **state);
int syncrig_teardown(void **state);
/* A command, in dir. */
void syncrig_run(const char *dir, const char *const *argv);
#define SYNC_RUN(dir, ...) \
	syncrig_run(dir, (const char *const[]){"/usr/bin/env", __VA_ARGS__, NULL})
/* The path of a name in the folder. */
const char *syncrig_at(struct syncrig *f, const char *name);
void syncrig_put(struct syncrig *f, const char *name, const char *text);
/* Enables a directory, as `asb init` does. */
void syncrig_allow(struct syncrig *f, const char *dir);
/* Adds what a tar holds to f->listing. */
void syncrig_read(struct syncrig *f, int fd);
/* Copies it: f->listing and f->skips say what came of it; false with f->err. */
bool syncrig_copy(struct syncrig *f, const char *dir);

#define SYNC(dir)                                   \
	do {                                        \
		if (!syncrig_copy(f, dir))          \
			fail_msg("%s", f->err.msg); \
	} while (0)
#define REFUSED(dir, code_, reason_)                         \
	do {                                                 \
		assert_false(syncrig_copy(f, dir));          \
		assert_int_equal(f->err.code, code_);        \
		assert_string_equal(f->err.reason, reason_); \
	} while (0)
#define HAS(s) assert_non_null(strstr(f->listing.data, s))
#define HASNT(s) assert_null(strstr(f->listing.data, s))
#define SKIPPED(s) assert_non_null(strstr(f->skips.data, s))
