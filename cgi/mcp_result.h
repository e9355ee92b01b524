#pragma once
/*
 * From what an action answered to the whole JSON-RPC answer of the tool call that asked for it. The
 * one maker of these for asb-web, which answers what ends soon, and asb-live, which answers what
 * was waited for: the same call has the same answer, whoever gives it.
 *
 * A result has a text (at most MCP_TEXT_MAX bytes, the state in its first and the next step in its
 * last line) and structuredContent (the action's JSON, its long texts and lists cut where it is
 * longer than MCP_STRUCTURED_MAX). An action's error is a result with isError, its text code,
 * message, context and fix, and the error object in _meta under MCP_ERROR_KEY; structuredContent is
 * left out of it, because it would have to be what the tool's output schema says.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct buf;
struct json_object;
struct pool;

enum mcp_era {
	MCP_LEGACY, /* with a handshake: up to 2025-11-25 */
	MCP_MODERN, /* 2026-07-28: each request says all of it */
};

#define MCP_RAW_MAX 256 /* bytes of a request's id and of a progress token */
#define MCP_TEXT_MAX 7500
#define MCP_STRUCTURED_MAX 7500

/* What must be known of a tool call until its answer is made. */
struct mcp_call {
	enum mcp_era era;
	const char *version; /* of the protocol, one that is served */
	const char *id;	     /* the request's, as JSON text, byte for byte as it came */
	const char *tool;
	const char *token; /* progress token as JSON text; NULL: none came */
	const char *state; /* a question is asked by a form, with this for its requestState; NULL:
			      by text */
	bool is_repeat;	   /* what it answers with was begun by the same call before */
};

/* Appends the call as base64url without padding: the value of `mcp=` in /internal/wait's query. */
void mcp_call_print(struct buf *b, const struct mcp_call *call);
/* Reads that again, into the pool. ERR_INVALID. */
bool mcp_call_parse(
	struct pool *pool, const char *text, struct mcp_call *out, struct err *err) NODISCARD;

/* The whole answer, one line of JSON in the pool. status and json are what the action's JSON route
 * would have answered: below 400 its result, else {"error":{...}}. */
const char *mcp_result(
	struct pool *pool, const struct mcp_call *call, int status, const char *json);
/* The result alone, for an answer that has it inside; the caller's to free. */
struct json_object *mcp_result_object(
	struct pool *pool, const struct mcp_call *call, int status, const char *json);
/* {"question-ID": elicitation/create}, a form of one line for what the run asks; NULL where it asks
 * nothing. The caller's to free. */
struct json_object *mcp_question_requests(struct pool *pool, struct json_object *run);
#define MCP_QUESTION_KEY "question-"
/* The same for an error that was not made into JSON yet. */
const char *mcp_result_err(struct pool *pool, const struct mcp_call *call, const struct err *err,
	const char *request_id);
/* The whole answer around any result; members that every result of this era has are added. */
const char *mcp_answer(
	struct pool *pool, const struct mcp_call *call, struct json_object *result_taken);
/* {"name","title","version",...}: who answers. */
struct json_object *mcp_server_info(void);
