#pragma once
/*
 * The one error type. A function that can fail returns bool (true: done), is marked NODISCARD and
 * takes `struct err *err` last; results go out through pointers just before it and are untouched
 * on failure. The struct is the caller's, on its stack: there is nothing to free.
 *
 *	if (!run_get(db, pool, id, &run, err))
 *		return err_wrap(err, "resume");
 *
 * Messages: lower case, no full stop, the thing first: "claim job: connect: refused".
 */
#include <stdbool.h>
#include <stddef.h>

#define NODISCARD __attribute__((warn_unused_result))
#define RETURNS_NONNULL __attribute__((returns_nonnull))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* What the asker should do. One row each in err.c: name, HTTP, JSON-RPC, exit status, visibility,
 * fix. */
enum err_code {
	ERR_NONE,
	ERR_INVALID,	     /* mend the request: 422 */
	ERR_UNAUTHENTICATED, /* sign in: 401 */
	ERR_FORBIDDEN,	     /* not allowed to anybody like you: 403 */
	ERR_NOT_FOUND,	     /* no such thing, or not yours: 404 */
	ERR_CONFLICT,	     /* the state is another than you think: 409 */
	ERR_TOO_LARGE,	     /* send less: 413 */
	ERR_LIMITED,	     /* slow down: 429 */
	ERR_TIMEOUT,	     /* it took too long: 504 */
	ERR_BUSY,	     /* try again: 503 */
	ERR_UPSTREAM,	     /* something we depend on failed: 502 */
	ERR_INTERNAL,	     /* our fault; the client sees only the request id: 500 */
	ERR_MALFORMED,	     /* not JSON, or not the media type we take: 400 */
	ERR_CODE__COUNT
};

struct err {
	enum err_code code;
	char reason[32]; /* machine word for `context.reason`, "" where the code says it all */
	char msg[256];	 /* for people; never holds a secret */
	char fix[160];	 /* what to do about it; "": what its code says */
};

struct err_info {
	const char *name; /* the `code` on every door, e.g. "not_found" */
	int http;
	int jsonrpc;
	int exit_status;
	bool visible;	 /* may the client see the message? */
	const char *fix; /* what to do where the error itself does not say it */
};

/* Sets code and message, clears reason and fix. Always false, so failing is one line. */
bool err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF(3, 4);
/* Like err_set, appending ": " and strerror(errno). */
bool err_errno(struct err *err, enum err_code code, const char *fmt, ...) PRINTF(3, 4);
/* Puts "context: " before the message. Always false. */
bool err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);
/* Adds the fix sentence and the reason word (either may be NULL: left as it is). Always false. */
bool err_advise(struct err *err, const char *reason, const char *fix);
const struct err_info *err_info(enum err_code code);

/* Where the whole error stands in an MCP tool's result: its `_meta` has it under this key. */
#define MCP_ERROR_KEY "agent-sandbox/error"

/* The analyzers look at one file at a time and would follow the path on which failing returns true.
 */
#if defined(__clang_analyzer__) || defined(ASB_ANALYZE)
#define err_set(...) (err_set(__VA_ARGS__), false)
#define err_errno(...) (err_errno(__VA_ARGS__), false)
#define err_wrap(...) (err_wrap(__VA_ARGS__), false)
#define err_advise(...) (err_advise(__VA_ARGS__), false)
#endif
