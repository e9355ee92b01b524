#pragma once
/*
 * Inside the MCP door. A request is checked from the outside in (mcp.c: place, caller, HTTP method;
 * mcp_request.c: JSON-RPC, era, headers, version) and then answered by the function of its method,
 * which makes a result or a fault. Tool calls are actions, done by serve.h like those of the JSON
 * routes.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "mcp_result.h"
#include "serve.h"

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_META(name) "io.modelcontextprotocol/" name

enum mcp_code {
	MCP_PARSE = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_VERSION_UNSUPPORTED = -32022,
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct buf;

struct mcp_fault {
	int status; /* of HTTP */
	int code;   /* of JSON-RPC; an enum mcp_code, or err_info's */
	char message[400];
	struct json_object *data; /* owned */
	bool has_id;		  /* the answer has an id, null where it could not be read */
};

struct mcp {
	struct serve serve;
	struct json_object *body; /* owned */
	enum mcp_kind kind;
	struct mcp_call call; /* id is NULL until it was read */
	const char *method;
	struct json_object *params;	  /* NULL: none, or an object */
	struct json_object *meta;	  /* of params; NULL: none */
	struct json_object *capabilities; /* the client's, of the modern era; NULL: none */
	struct json_object *result;	  /* owned; what the method answers */
	const char *elicit_digest;	  /* of the call, where it wants questions as forms; NULL */
	bool is_task;			  /* the call is answered with the task it has begun */
	bool answered;			  /* rs has all of the answer already */
	struct mcp_fault fault;
};

/* Fills the fault and returns false. data_taken may be NULL. */
bool mcp_fault(struct mcp *m, int status, int code, struct json_object *data_taken, const char *fmt,
	...) PRINTF(5, 6);
/* The usual one: 200 and -32602. */
#define mcp_bad_params(m, ...) mcp_fault(m, 200, MCP_INVALID_PARAMS, NULL, __VA_ARGS__)
/* An error of ours as a fault, with {"code","message","fix",...} as its data. */
bool mcp_fault_err(struct mcp *m, int status, const struct err *err);
/* What is refused before JSON-RPC has a say: without an id, with the headers that HTTP wants. */
bool mcp_outer_fault(struct mcp *m, int status, const struct err *err);
/* A required text of params; a fault without. */
bool mcp_param(struct mcp *m, const char *name, const char **out);

/* Lists are short: there is one page, and so no cursor is ours. A fault where one came. */
bool mcp_one_page(struct mcp *m);

/* --- mcp_request.c --- */
/* The legacy versions that are served, newest first, ended by NULL. */
extern const char *const mcp_legacy_versions[];
/* The value of a header as it was meant: without the space around it, and "=?base64?...?=", which
 * holds what a header cannot, decoded. NULL: that is no base64. */
const char *mcp_header_decode(struct pool *pool, const char *value);
/* Reads the body: kind, id, method, params. */
bool mcp_request_read(struct mcp *m);
/* Era and version; headers that must agree. named: the parameter that Mcp-Name repeats, or NULL. */
bool mcp_request_check(struct mcp *m, const char *named);

/* --- the methods; each fills m->result or the fault --- */
typedef bool mcp_method_fn(struct mcp *m);
struct mcp_method {
	const char *name;
	mcp_method_fn *run;
	bool legacy, modern;
	const char *named; /* the parameter that the Mcp-Name header repeats */
	bool cached;	   /* the modern result says how long it may be kept */
};
extern const struct mcp_method mcp_methods[]; /* ended by an empty row */

/* mcp_server.c */
mcp_method_fn mcp_initialize, mcp_discover, mcp_ping;

/* mcp_tools.c. What a call waits when it does not say, and at the most: most clients give up after
 * 60 s of silence, those that sent a progress token hear from us in between. */
#define MCP_WAIT_MS 50000
#define MCP_WAIT_TOKEN_MAX_MS 110000
mcp_method_fn mcp_tools_list, mcp_tools_call;
/* What a tool is shown as; the caller's to free. */
struct json_object *mcp_tool_json(const struct action *a);

/* mcp_elicit.c. Before a tool is run: takes the argument `elicit` out of *args, and an answer that
 * a form has brought makes the call another; a fault where that is not as we gave it out. */
bool mcp_elicit_take(struct mcp *m, struct json_object **args);
/* After it: what a form would have to bring back. */
void mcp_elicit_seal(struct mcp *m);

/* mcp_secret.c. Answers a call that failed for want of a secret with the page where it is entered;
 * false: the client cannot go there, has been there, or it is another failure. */
#define MCP_SECRET_KEY "secret" /* of the request in `inputRequests` */
bool mcp_secret_ask(struct mcp *m, const struct err *err);
/* Is the call one that comes back from there? */
bool mcp_secret_is_answer(struct mcp *m);
/* One of a client's responses to questions: which question's it is, and the answer (NULL: the
 * person gave none). False: it is none of ours, or not whole. */
bool mcp_elicit_response(
	const char *key, struct json_object *response, int64_t *question, const char **answer);
/* Does the client have forms? */
bool mcp_has_forms(const struct mcp *m);

/* mcp_tasks.c */
#define MCP_TASKS MCP_META("tasks")
mcp_method_fn mcp_tasks_get, mcp_tasks_update, mcp_tasks_cancel;
/* Does the client declare the extension? */
bool mcp_tasks_declared(const struct mcp *m);
/* The fault for one that does not. False. */
bool mcp_tasks_undeclared(struct mcp *m);
/* Makes the result of a call that has begun a run: its task. json is the run. */
bool mcp_task_begin(struct mcp *m, const char *json);

/* mcp_read.c. Does an action that only reads and gives its answer, owned by the caller; a fault
 * where it fails. args_taken: its input as JSON. */
bool mcp_read(struct mcp *m, const char *action, struct json_object *args_taken,
	struct json_object **out);
/* The same with one text as its input. */
bool mcp_read_one(struct mcp *m, const char *action, const char *name, const char *value,
	struct json_object **out);
/* A blob's bytes, at most max of them. */
bool mcp_read_blob(struct mcp *m, const char *name, struct buf *out);

/* mcp_resources.c */
mcp_method_fn mcp_resources_list, mcp_resources_templates, mcp_resources_read;
/* mcp_prompts.c */
mcp_method_fn mcp_prompts_list, mcp_prompts_get;
bool mcp_prompt_is(const char *name);
/* mcp_complete.c */
mcp_method_fn mcp_complete;
