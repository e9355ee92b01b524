#pragma once
/*
 * Sandboxes: boxes without a run, asked for by a person's own agent to run code in. What is said of
 * them outside is one row of the table here for each way they end or refuse.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "random.h"

struct db;
struct language;

#define SANDBOX_CODE_MAX (1024 * 1024)
#define SANDBOX_TIMEOUT_S 30
#define SANDBOX_TIMEOUT_MAX_S 60
#define SANDBOX_PACKAGES_MAX 25
#define SANDBOX_BACKGROUND_MAX 4 /* at a time: each holds one of the worker's runners */
#define SANDBOX_OUTPUT_CHARS \
	20000 /* of each stream in an answer: sql/migrations/0006_sandbox.sql */

struct sandbox_new {
	int64_t account_id;
	const char *language, *runtime, *image, *size_class;
	const char
		*image_key; /* what the image's name means now; NULL: no box of the pool will do */
	int64_t memory_bytes, cpus;
	int64_t disk_bytes;	   /* 0: nothing holds it */
	const char *packages;	   /* JSON array of texts; NULL: none */
	const char *packages_from; /* a lock file of the tree; NULL: none */
	const char *upload;	   /* the name of a complete upload; NULL: no tree */
	int64_t creating_ms, max_ms, idle_ms;
	const char *request_id;
};

struct sandbox_made {
	char name[ID_SIZE];
	int64_t box_id, job_id;
};

/* How long making one may take: starting_ms, and where packages (JSON, or "") are to be installed
 * at least ten minutes. */
int64_t sandbox_creating_ms(int64_t starting_ms, const char *packages, const char *packages_from);

/* All of these in a transaction with the account set. */

/* Row and `create` job. ERR_NOT_FOUND, ERR_CONFLICT of the upload. */
bool sandbox_create(struct db *db, const struct sandbox_new *in, struct sandbox_made *out,
	struct err *err) NODISCARD;

/* A run to be: `code` is a file that the sandbox's language runs. */
struct sandbox_run {
	int64_t account_id;
	const char *sandbox;
	const char *code;
	const char *files; /* JSON object of texts by path; NULL: none */
	bool background;
	int64_t timeout_ms; /* of a background run: none where 0 */
	const char *request_id;
};
struct exec_made;
/* ERR_NOT_FOUND: no such sandbox, or another's; ERR_CONFLICT "sandbox_gone", "sandbox_failed",
 * "too_many_processes". */
bool sandbox_run(struct db *db, const struct sandbox_run *in, struct exec_made *out,
	struct err *err) NODISCARD;

/* Holds a sandbox that is there, or will be, until the transaction ends, and counts as its use. The
 * errors are sandbox_run's. */
bool sandbox_hold(struct db *db, int64_t account_id, const char *name, int64_t *box_id,
	struct err *err) NODISCARD;

/* Its end is asked for, unless it is there already. *known: there was such a sandbox; *gone: it has
 * ended. Its name is all it takes, so that asking twice is fine. */
bool sandbox_destroy(struct db *db, int64_t account_id, const char *name, const char *request_id,
	int64_t destroying_ms, bool *known, bool *gone, struct err *err) NODISCARD;

/* What a sandbox that failed or ended says: the error of boxes.reason and detail (either may be
 * ""), with its class, its word and what to do. Always false. */
bool sandbox_error(const char *state, const char *reason, const char *detail, struct err *err);
/* The same of a run that has no result of its own, by execs.reason: its sandbox went, or could not
 * start it. Always false. */
bool sandbox_run_error(const char *reason, struct err *err);
