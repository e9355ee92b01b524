#pragma once
/*
 * What benchmarks of a whole site share: the site that tests/support/with-site names, runs on it,
 * and order statistics. Whatever fails here ends the program with a line saying why.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli.h"

struct json_object;

void bench_open(struct cli *cli);
void bench_close(struct cli *cli);
/* Delegates a script on no tree; the session. wait_ms: how long to wait for its end or a question.
 */
const char *bench_delegate(struct cli *cli, const char *task, int64_t wait_ms);
/* POST of {...}; the caller's. */
struct json_object *bench_post(struct cli *cli, const char *path, struct json_object *body_taken);
/* The run with its trace; the caller's. */
struct json_object *bench_run(struct cli *cli, const char *session);
/* Waits until the run's box is ready, or, for "gone", is no more. */
void bench_box_wait(struct cli *cli, const char *session, const char *state);
/* What pool_status says: pooled, creating; or, in: last_hour, claimed. */
int64_t bench_pool_number(struct cli *cli, const char *in, const char *name);
/* Waits until so many boxes are pooled, and none is being made that would be measured along. */
void bench_pool_settle(struct cli *cli, int64_t pooled);
/* Until nothing of it is left in the host. */
void bench_teardown(struct cli *cli, const char *session);
/* Milliseconds since 1970 of an RFC 3339 time as the site gives it. */
double bench_ms_of(const char *rfc3339);
/* ts of the first trace row of this kind, in ms; 0: none. */
double bench_row_ms(struct json_object *run, const char *kind);

/* Sorts v; its value at `percent` (50: the median). */
double bench_rank(double *v, size_t n, double percent);
double bench_now_ms(void); /* a clock that nothing sets */
_Noreturn void bench_fail(const char *what, const struct err *err);
