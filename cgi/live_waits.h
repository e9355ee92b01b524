#pragma once
/*
 * One held request, as live_waits.c and live_mcp.c see it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "live_conn.h"
#include "wait_kinds.h"

struct live;
struct live_request;
struct mcp_wait;

struct wait {
	struct conn conn; /* first: a conn of ours is cast to its wait */
	struct live *live;
	struct wait *next, *prev; /* in live.waits while it is not answered */
	const struct wait_kind *kind;
	struct mcp_wait *mcp; /* not NULL: it is an MCP call */
	bool answered;
	bool reads; /* takes it as it is, also where it has failed */
	int64_t id, account_id;
	enum caller_kind caller; /* what it came with ... */
	int64_t caller_id;	 /* ... and which; 0: the operator's token */
	char name[40];		 /* run-..., exec-... or box-... */
	int64_t turn;		 /* of a run: boundaries of earlier turns do not count */
	int64_t until_ms;
	char request_id[68];
};

/* --- live_mcp.c: waits that are MCP calls --- */
/* Reads the call out of the redirect's `mcp`. ERR_INVALID. */
bool mcp_wait_new(const char *text, struct mcp_wait **out, struct err *err) NODISCARD;
void mcp_wait_free(struct mcp_wait *m);
/* Sends the head of the event stream. False: the client is gone. */
bool mcp_wait_begin(struct wait *w, const struct live_request *lr) NODISCARD;
/* Sends the one answer and ends the stream: what is there (status 200 or 202), or why it is not. */
bool mcp_wait_answer(struct wait *w, int status, const char *json, const struct err *why) NODISCARD;
/* The callback of a timer: tells each who waits how far it is. */
struct loop;
void mcp_waits_beat(struct loop *loop, uint32_t events, void *arg);
/* Answers an MCP call (the redirect's `mcp`, or NULL) that never became a wait. False: it is none.
 */
bool mcp_wait_refuse(struct live *live, const struct live_request *lr, struct conn *c,
	const char *text, const struct err *err, bool *sent);
