/*
 * The error type and the one table that says what each code means on every door.
 */
#include "err.h"

/* here they are functions, also for the analyzers */
#undef err_set
#undef err_errno
#undef err_wrap
#undef err_advise

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* JSON-RPC codes of ours are outside its own range, where MCP has some that mean other things. */
static const struct err_info infos[] = {
	[ERR_NONE] = {"none", 200, 0, 0, true, ""},
	[ERR_INVALID] = {"invalid", 422, -32602, 2, true,
		"Change what the message names, and send it again."},
	[ERR_UNAUTHENTICATED] = {"unauthenticated", 401, 401, 3, true,
		"Sign in, or send a token that this site gave."},
	[ERR_FORBIDDEN] = {"forbidden", 403, 403, 3, true,
		"Do without it, or ask who runs the site."},
	[ERR_NOT_FOUND] = {"not_found", 404, 404, 4, true,
		"Look the name up: it is gone, was never there, or is another's."},
	[ERR_CONFLICT] = {"conflict", 409, 409, 5, true,
		"Look at its state, and go on from there."},
	[ERR_TOO_LARGE] = {"too_large", 413, 413, 2, true, "Send less, or ask for less."},
	[ERR_LIMITED] = {"limited", 429, 429, 6, true,
		"Wait as long as Retry-After says, and send it again."},
	[ERR_TIMEOUT] = {"timeout", 504, 504, 6, true,
		"Send it again; where that ends the same, look at the state of what it was about."},
	[ERR_BUSY] = {"busy", 503, 503, 6, true, "Send it again in a moment."},
	[ERR_UPSTREAM] = {"upstream", 502, 502, 7, true,
		"Something that the site depends on failed, and the message says what. Send it "
		"again once that is mended."},
	[ERR_INTERNAL] = {"internal", 500, -32603, 1, false,
		"Try again; if it stays, tell the operator the request id."},
	[ERR_MALFORMED] = {"malformed", 400, -32700, 2, true,
		"Send one JSON object as application/json."},
};
static_assert(sizeof(infos) / sizeof(infos[0]) == ERR_CODE__COUNT, "a row per code");

bool err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->reason[0] = '\0';
	err->fix[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return false;
}

bool err_errno(struct err *err, enum err_code code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t n;

	err->code = code;
	err->reason[0] = '\0';
	err->fix[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	(void)snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(saved));
	return false;
}

bool err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	va_list ap;
	size_t n;

	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	(void)snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", inner);
	return false;
}

bool err_advise(struct err *err, const char *reason, const char *fix)
{
	if (reason)
		(void)snprintf(err->reason, sizeof(err->reason), "%s", reason);
	if (fix)
		(void)snprintf(err->fix, sizeof(err->fix), "%s", fix);
	return false;
}

const struct err_info *err_info(enum err_code code)
{
	assert(code < ERR_CODE__COUNT);
	return &infos[code];
}
