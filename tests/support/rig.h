#pragma once
/*
 * The host's side of a site for a test: private folders, asb-spawn and asb-worker as real programs,
 * boxes of the `process` runtime (asb-boxd as a plain process). Everything dies with rig_end.
 */
#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "run.h"

struct rig {
	char dir[64];
	char site[9];
	unsigned uid_base; /* of 256; boxes run under their slot's, programs under the worker's */
	const char *box_pool;  /* "BOX_POOL=N"; NULL: no pool */
	const char *extra[16]; /* "NAME=value" for the worker and its runners; NULL ends */
	struct child spawn, worker;
};

/* False where this machine or build cannot do it: not root, or boxd was not built. */
bool rig_start(struct rig *rig);
void rig_end(struct rig *rig);
/* Starts asb-worker (again), with rig->extra. */
void rig_worker(struct rig *rig);
/* SIGTERM to the worker: its exit status, within 10 s. */
int rig_worker_stop(struct rig *rig);
void rig_worker_kill(struct rig *rig); /* as kill -9 */

/* Delegates a script; or a task to another agent. */
struct run_made rig_run(const char *task);
struct run_made rig_delegate(const char *agent, const char *task);
/* Puts tests/support/fake-claude where Claude Code's program is, and asb-ask beside it. */
void rig_fake_claude(void);
void rig_answer(const struct run_made *run, const char *text);
void rig_teardown(const struct run_made *run);
/* Waits until the run is in one of the states ("done|failed"); prints what there is and fails past
 * the time. */
void rig_wait(const struct run_made *run, const char *states, int64_t timeout_ms);
/* The whole log, one stream (0: both); memory of the caller to free. */
char *rig_log(const struct run_made *run, int stream, size_t *n);
/* Sends a signal to one process; fails the test where pid is not one (0 and -1 would reach others).
 */
void rig_signal(int64_t pid, int signo);
/* Arms a kill-point once; true as long as it was not reached. */
void rig_arm(const struct rig *rig, const char *point);
bool rig_armed(const struct rig *rig, const char *point);
/* Kills every asb-runner of the worker; how many there were. */
int rig_kill_runners(const struct rig *rig);
/* The path of asb-ask. */
const char *rig_ask(void);
/* Processes that carry the site's marker. */
int rig_processes(const struct rig *rig);
