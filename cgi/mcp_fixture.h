#pragma once
/*
 * What the official conformance suite wants of a server beside what a server is for: tools, prompts
 * and resources with fixed names. They are there where ASB_CONFORMANCE is set, which is only
 * taken on a loopback site, and never in production. The suite's words are the names here.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "response.h"

struct buf;
struct config;
struct json_object;
struct mcp;
struct pool;

/* --- for mcp.c --- */
/* Before the HTTP method is looked at: sessions. */
bool mcp_fixture_door(struct mcp *m, bool *ok);
/* Takes the message if it is one for a fixture; *ok is then what its method returned. */
bool mcp_fixture_run(struct mcp *m, bool *ok);
/* Makes the answer a stream of one event where the client would rather have that. */
void mcp_fixture_as_stream(struct mcp *m);
/* Adds the fixtures to what a list or a handshake answers. */
void mcp_fixture_extend(struct mcp *m);

/* --- among themselves --- */
struct fixture_tool {
	const char *name, *description;
	const char *input;  /* schema as JSON; NULL: no arguments */
	const char *result; /* as JSON; NULL: run */
	bool (*run)(struct mcp *m);
};
extern const struct fixture_tool mcp_fixture_tools[]; /* ended by an empty row */

/* JSON of ours, which is known to be good. */
struct json_object *fixture_json(const char *text);
#define FIXTURE_PNG                                                                \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ" \
	"/pLvAAAAAElFTkSuQmCC"

/* mcp_fixture_rounds.c: results that ask for more input */
bool fixture_rounds(struct mcp *m);
extern const struct fixture_rounds_row {
	const char *name;
	const char *requests[2]; /* what is asked in each round, as JSON */
	bool has_state;
} mcp_fixture_rounds[]; /* ended by an empty row */
/* mcp_fixture_stream.c: answers that are streams */
bool fixture_progress(struct mcp *m), fixture_logging(struct mcp *m), fixture_ask(struct mcp *m),
	fixture_listen(struct mcp *m), fixture_trigger(struct mcp *m);
/* A stream that ends too soon, and what its client finds when it comes back. */
bool fixture_reconnection(struct mcp *m), fixture_resume(struct mcp *m);
/* mcp_fixture_tasks.c */
extern const struct fixture_tool mcp_fixture_task_tools[]; /* ended by an empty row */
bool fixture_job(struct mcp *m);
/* Takes the message if it is about one of the fixtures' tasks. */
bool fixture_tasks(struct mcp *m, bool *ok);
/* mcp_fixture_session.c */
void fixture_session_begin(struct mcp *m);
const char *fixture_event_id(struct mcp *m);
/* mcp_fixture_reads.c */
bool fixture_resource(struct mcp *m), fixture_prompt(struct mcp *m);
bool fixture_is_resource(const char *uri), fixture_is_prompt(const char *name);
void fixture_add_resources(struct json_object *list),
	fixture_add_templates(struct json_object *list),
	fixture_add_prompts(struct json_object *list);

/* mcp_fixture_post.c: letters between the children of asb-web, one of which holds a stream while
 * another gets the client's answer. A box is a socket below RUN_DIR that goes with its pool. */
struct fixture_box;
struct fixture_box *fixture_box_open(
	struct pool *pool, const struct config *cfg, const char *name, struct err *err);
/* A letter within wait_ms; false: none came. */
bool fixture_box_take(struct fixture_box *box, int wait_ms, struct buf *out);
/* To the box of this name, or to each whose name begins so. */
void fixture_post(
	const struct config *cfg, const char *name, bool each, const char *text, size_t n);
