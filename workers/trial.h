#pragma once
/*
 * A box for trying out a runtime: an asb-spawn of its own in a folder of its own, on uids that no
 * site uses, without database, site or worker. asb doctor proves runtimes with it, and the test
 * that all runtimes share drives its boxes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boxlink.h"
#include "child.h"
#include "config.h"
#include "spawn.h"

struct pool;
struct size_class;

struct trial {
	struct pool *pool;
	struct config cfg;
	char dir[32];
	struct child spawn;
};

/* Starts asb-spawn, which lies in program_dir, with every runtime allowed. What trial_end finds is
 * removed. */
bool trial_begin(struct trial *t, struct pool *pool, const char *cache_dir, const char *program_dir,
	struct err *err) NODISCARD;
void trial_end(struct trial *t);
/* Calls fn in a child that is the worker, to whom alone asb-spawn answers; its error is ours. */
bool trial_as_worker(struct trial *t, bool (*fn)(struct trial *t, void *arg, struct err *err),
	void *arg, struct err *err) NODISCARD;

/* --- for fn --- */
#define TRIAL_BOX "box-trial"
#define TRIAL_SLOT 1

struct trial_box {
	struct spawn_reply spawned;
	struct boxlink link;
	int fd;
	const char *machine; /* JSON */
	uint32_t next_stream;
};
/* Starts the box, attaches, and has its read-back checked as for any box. */
bool trial_box_start(struct trial *t, const char *runtime, const char *image, struct trial_box *out,
	struct err *err) NODISCARD;
/* Tries to reach out from inside; an error where it can. */
bool trial_box_sealed(struct trial_box *b, struct err *err) NODISCARD;
/* Ends it, twice, and wants no process, and no row of asb-spawn's list, left. */
bool trial_box_destroy(struct trial *t, struct trial_box *b, struct err *err) NODISCARD;
