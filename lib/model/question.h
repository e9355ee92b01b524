#pragma once
/* The one thing a run stopped to ask. Opened by the turn's runner, answered by run_resume (run.h).
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct db;
struct fence;

/* text is sanitised by the caller. Opening the same box_ref of a run again gives the same id. In
 * one transaction with turn_end(TURN_ASKED) and job_finish. */
bool question_open(struct db *db, const struct fence *f, int64_t run_id, int64_t turn_id,
	const char *box_ref, const char *text, int64_t *id, struct err *err) NODISCARD;
