#pragma once
/*
 * What an EXEC asks for. Its texts lie in the pool that it was read with.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "boxjson.h"
#include "err.h"

struct boxd;
struct pool;

#define EXEC_ENV_MAX 256

struct exec_request {
	const char *argv[BOXJSON_VALUES];  /* ends with NULL */
	const char *env[EXEC_ENV_MAX + 1]; /* NAME=value; nenv of them */
	size_t nenv;
	const char *cwd, *user, *lane, *home;
	const char *code;      /* the path of its code, the last of argv; NULL: it has none */
	const char *code_text; /* what to write there first; NULL: it is there */
	uid_t uid;
	bool wants_stdin, ask_returns;
	bool ahead; /* the next of its kind may be begun before it is asked for: exec_ahead.c */
	int64_t timeout_ms, memory_bytes, pids; /* 0: no limit of its own */
};

bool exec_request_read(struct boxd *b, struct pool *pool, const struct boxjson *in,
	struct exec_request *rq, struct err *err) NODISCARD;
/* Sets a variable of its environment. */
void exec_request_env(
	struct pool *pool, struct exec_request *rq, const char *key, const char *value);
