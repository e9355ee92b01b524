#pragma once
/*
 * asb mcp: one line of JSON-RPC in, one call of the site's /mcp out, and back. The loop and what is
 * said to the client are bridge.c's, a call's way over HTTP bridge_http.c's, what only this machine
 * can do bridge_local.c's and bridge_ship.c's.
 *
 * A message from the client is read for three things alone: its id, its era and whether it is one
 * of the two calls that take something of this machine along. All else is the site's to judge.
 * Nothing is kept between two messages but what a legacy client said in initialize.
 */
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include <curl/curl.h>

#include "buf.h"
#include "eventstream.h"
#include "reach.h"

struct json_object;

#define BRIDGE_LINE_MAX (9u << 20) /* a little more than the site takes: it says no, not we */
#define BRIDGE_CALLS_MAX 128
#define MCP_META_KEY(name) "io.modelcontextprotocol/" name

/* A message on its way. Its pool holds all of it. */
struct bridge_call {
	struct bridge_call *next;
	struct bridge *bridge;
	struct pool *pool;
	const char *id;		     /* as JSON text; NULL: a notification or an answer */
	const char *method;	     /* "" of an answer */
	const char *name;	     /* what it names (a tool, an address), or NULL */
	const char *version;	     /* of the protocol, as the message says; NULL: legacy */
	struct json_object *message; /* parsed; what is sent is `body` */
	const char *body;
	/* over HTTP */
	CURL *curl; /* NULL: not being asked just now */
	struct curl_slist *headers;
	char key[33]; /* Idempotency-Key: one for all tries */
	struct buf reply;
	struct eventstream events;
	bool is_stream, answered;
	int64_t away_ms; /* since when the site has said nothing, for the bound of retries */
	int64_t sent_ms, heard_ms; /* this try: when it was begun, and when something last came */
	int64_t retry_at_ms;	   /* 0: not to be tried again */
	int64_t pause_ms;
	/* packing and sending a tree: a process of ours */
	pid_t shipper;
	int shipped; /* its answer comes here; -1: none */
	struct buf ship_reply;
	int64_t roots_until_ms; /* so long it waits for the client's answer to roots/list; 0: not */
};

struct bridge {
	struct pool *pool;
	CURLM *multi;
	struct bridge_call *calls;
	int ncalls;
	struct buf in, out;
	bool in_skips; /* the rest of a line that was too long */
	int out_fd;
	bool ended;
	int64_t patience_ms;   /* how long a site may be away */
	int64_t roots_wait_ms; /* how long a call waits for the answer to roots/list */
	/* what a legacy client said in initialize */
	const char *legacy_version;
	bool has_roots;
	/* its answer to roots/list */
	bool roots_asked, roots_known;
	const char *root; /* NULL: it named none */
};

/* --- bridge.c --- */
/* Reads and answers until `in` ends or a signal comes. */
bool bridge_run(struct bridge *b, int in_fd, int signal_fd, struct err *err) NODISCARD;
void bridge_init(struct bridge *b, struct pool *pool, int out_fd, int64_t patience_ms);
void bridge_done(struct bridge *b);
/* One line of the client's, without its newline: bridge_line.c. */
void bridge_take_line(struct bridge *b, const char *line, size_t n);
/* One line to the client. */
void bridge_put(struct bridge *b, const char *line, size_t n);
/* Answers the call with an error of the protocol, or with a tool's result that is an error, as the
 * site says it (docs/mcp.md). Both end the call's need of an answer. */
void bridge_put_error(
	struct bridge_call *c, int code, const char *message, struct json_object *data);
void bridge_put_tool_error(struct bridge_call *c, const struct err *err);
/* Takes it out of the list and frees it, whatever it is doing. */
void bridge_call_end(struct bridge_call *c);

/* --- bridge_http.c --- */
/* Sends c->body; what comes back is put out as it comes. */
void bridge_send(struct bridge_call *c);
/* curl is done with one: the end, or another try. */
void bridge_sent(struct bridge_call *c, CURLcode rc);

/* --- bridge_local.c --- */
#define ROOTS_ID "asb-roots" /* of our own request to a legacy client */
/* The directory of a file: address; NULL where it is none. */
const char *bridge_root_path(struct pool *pool, const char *uri);
/* Does the call take something of this machine along? Then it is begun here, and sent later. */
bool bridge_local_begin(struct bridge_call *c);
/* The tools as the site lists them, with what this machine adds; NULL: nothing to add. */
const char *bridge_local_tools(struct bridge_call *c, const char *answer, size_t n);
/* Goes on with the calls that waited for the client's roots. */
void bridge_local_roots(struct bridge *b);
/* The client has not said in time which it has: the call fails, since any other directory could be
 * the wrong one. What it says later is for the next call. */
void bridge_local_rootless(struct bridge_call *c);
/* The process said its last: the call goes to the site with what was uploaded, or ends. */
void bridge_local_shipped(struct bridge_call *c);
/* The directory that is open, by WORKSPACE_DIR, CLAUDE_PROJECT_DIR, the client's root, our own;
 * NULL: none is known. */
const char *bridge_workspace(struct bridge *b, struct pool *pool);

/* --- bridge_ship.c --- */
struct shipment {
	const char *dir;	   /* the tree, or the directory of sync_from */
	bool is_sync;		   /* by the rules of asb init */
	const char *packages_from; /* of sync, or NULL */
};
/* Starts a process that packs and uploads; it writes {"upload","dir"} or {"error":...} to *fd. */
bool bridge_ship(const struct shipment *s, pid_t *pid, int *fd, struct err *err) NODISCARD;
