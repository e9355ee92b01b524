#pragma once
/*
 * Looks: what a caller asked to see of a box's files. asb-web writes the row and its job, a runner
 * looks through boxd and writes what it saw; an hour later the row is gone.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "random.h"

struct db;
struct fence;
struct pool;

enum look_op { LOOK_LIST, LOOK_READ, LOOK_SEARCH, LOOK_DIFF, LOOK_GET, LOOK_OP__COUNT };
extern const char *const look_op_names[LOOK_OP__COUNT];

/* How long an answer, and what get_files put together, is kept. */
#define LOOK_KEPT_MS (3600 * INT64_C(1000))
struct look_new {
	int64_t account_id;
	const char *sandbox, *session; /* one of them; the other NULL */
	enum look_op op;
	const char *request; /* JSON object */
	const char *request_id;
};
/* In a transaction with the account set. ERR_NOT_FOUND, ERR_CONFLICT where the box has ended. */
bool look_submit(
	struct db *db, const struct look_new *in, char name[ID_SIZE], struct err *err) NODISCARD;

struct look_row {
	enum look_op op;
	const char *request; /* JSON */
	bool ended;
	bool is_sandbox;
	/* the trees in its box, as checkout.h reads them */
	const char *source, *repos;
	int64_t upload_id; /* 0: none */
};
bool look_get(struct db *db, struct pool *pool, int64_t id, struct look_row *out,
	struct err *err) NODISCARD;
/* Its end: with a result (JSON), or why there is none. The same end again changes nothing. */
bool look_finish(struct db *db, const struct fence *f, int64_t id, const char *result,
	const struct err *why, struct err *err) NODISCARD;
/* Of a row that failed: its error. Always false. */
bool look_error(const char *code, const char *reason, const char *detail, struct err *err);
/* Drops up to 1,000 that are older. */
bool look_sweep(struct db *db, int64_t older_ms, struct err *err) NODISCARD;
