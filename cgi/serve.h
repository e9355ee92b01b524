#pragma once
/*
 * What is the same for an action whichever door it is asked for by (a JSON route, an MCP tool): who
 * asks, Idempotency-Key, transaction, audit, log line. router.c and mcp.c put their doors in front.
 */
#include <stddef.h>

#include "action.h"

struct serve {
	struct call call;
	const struct action *action; /* NULL: none found yet */
	void *input;		     /* what the action takes, once it is read */
	const char *body; /* what the input was made of: an Idempotency-Key stands for it */
	size_t body_n;
	const char *door; /* the path it came by, for audit and log, e.g. "/run.json" */
	const char *what; /* and what was asked for there, for a door with several; "" */
	int64_t key_ms;	  /* the key was made by the door of what was asked, and counts as long as
			     what it began goes on, and so long after; 0: the caller's */
	const char *repeated; /* set: the subject that was begun under such a key before; nothing
				 was done */
	bool audited;
	int64_t start_ms; /* on time_boot_ms */
};

void serve_init(struct serve *s, const struct site *site, struct request *rq, struct response *rs);
/* Is it our Host, and no other's Origin? */
bool serve_place(struct serve *s, struct err *err) NODISCARD;
/* Finds out who asks. */
bool serve_caller(struct serve *s, struct err *err) NODISCARD;
/* May he do this? ERR_UNAUTHENTICATED, or ERR_FORBIDDEN where his scope does not do. */
bool serve_may(struct serve *s, struct err *err) NODISCARD;
/* Does it, with everything around it; action, input, body and door are set. */
bool serve_run(struct serve *s, struct err *err) NODISCARD;
/* Headers that an error's answer has beside its status. */
void serve_error_headers(struct serve *s, const struct err *err);
/* The end, once the answer is made: audit of what was not audited yet, and the log line. Frees the
 * error's context. */
void serve_end(struct serve *s, bool ok, const struct err *err);
