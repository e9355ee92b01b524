#pragma once
/*
 * One process started in a box. An evidence exec is asked for by a person (exec_submit, a job and a
 * log of its own); the agent's exec is opened by its turn's runner in the run's log (exec_open).
 * Both take a stream on the box's channel that was never used before. done and failed are ends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "random.h"

struct db;
struct fence;
struct pool;

enum exec_state { EXEC_QUEUED, EXEC_RUNNING, EXEC_DONE, EXEC_FAILED, EXEC_STATE__COUNT };
extern const char *const exec_state_names[EXEC_STATE__COUNT];

struct exec_new {
	const char *argv;	/* JSON array of strings */
	const void *stdin_data; /* NULL: none */
	size_t stdin_size;
	const char *cwd;    /* NULL: the box's default */
	int64_t timeout_ms; /* 0: none of its own */
	/* of a sandbox's run (sandbox.h): a file that argv runs, and its language; NULL: none */
	const char *code, *language;
	size_t code_size;
	const char *files; /* JSON object of texts by path; NULL: none */
	bool background;
};

struct exec_made {
	char name[ID_SIZE];
	int64_t id, stream, log_id, job_id;
};

/* What its runner needs of it. */
struct exec {
	int64_t id, stream;
	const char *lane, *argv;	 /* argv: JSON */
	const unsigned char *stdin_data; /* NULL: none */
	size_t stdin_size;
	const char *cwd;	   /* "": the box's default */
	int64_t timeout_ms;	   /* 0: none */
	int64_t log_id, log_base;  /* log_base: src_off of its byte 0 */
	const char *language;	   /* "": argv is all there is of it */
	const unsigned char *code; /* NULL: none */
	size_t code_size;
	const char *files; /* JSON; "": none */
	enum exec_state state;
	bool exited;		   /* exit_code holds */
	int64_t exit_code, signal; /* signal 0: none */
	bool timed_out, oom;
};

/* In a transaction with the account set. ERR_NOT_FOUND: no such run; ERR_CONFLICT, reason
 * "box_ended". */
bool exec_submit(struct db *db, int64_t account_id, const char *run, const struct exec_new *in,
	const char *request_id, struct exec_made *out, struct err *err) NODISCARD;
/* The same for a box whose row the caller has locked; run_id 0: it has no run. */
bool exec_add(struct db *db, int64_t account_id, int64_t box_id, int64_t run_id,
	const struct exec_new *in, const char *request_id, struct exec_made *out,
	struct err *err) NODISCARD;
/* Makes the agent's exec of e->argv, cwd, stream and log_id, by the name that the caller drew, and
 * fills e->id and e->log_base. */
bool exec_open(struct db *db, const struct fence *f, int64_t box_id, int64_t run_id,
	const char *name, struct exec *e, struct err *err) NODISCARD;
bool exec_get(
	struct db *db, struct pool *pool, int64_t id, struct exec *out, struct err *err) NODISCARD;
/* -> running; again by a later epoch is fine. */
bool exec_begin(struct db *db, const struct fence *f, int64_t id, struct err *err) NODISCARD;

struct exec_end {
	enum exec_state state;	   /* EXEC_DONE, EXEC_FAILED */
	const char *reason;	   /* turn.h's words, or NULL */
	bool exited;		   /* exit_code holds */
	int64_t exit_code, signal; /* signal 0: none */
	bool timed_out, oom;
	int64_t ran_ms; /* since it was started, where exec_begin may not have said so; 0: never */
	const char *usage;  /* JSON, or NULL */
	const char *checks; /* checks.h's JSON, or NULL */
};
/* The same end again, by the same epoch, changes nothing. */
bool exec_finish(struct db *db, const struct fence *f, int64_t id, const struct exec_end *end,
	struct err *err) NODISCARD;
/* The same with the end of the job f, in one statement: a job that ran this exec and nothing else.
 */
bool exec_finish_job(struct db *db, const struct fence *f, int64_t id, const struct exec_end *end,
	struct err *err) NODISCARD;
/* For the destroy job f of the box: what is not ended fails with this reason. */
bool exec_stop_box(struct db *db, const struct fence *f, int64_t box_id, const char *reason,
	struct err *err) NODISCARD;
