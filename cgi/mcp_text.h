#pragma once
/*
 * What a model reads of a tool's result: a line that begins with the state, then what it is about,
 * then a line that says what to do next. Clients cut long results, some in the middle, so the first
 * and the last line must do alone.
 */
#include <stdbool.h>

#include "buf.h"

struct json_object;

/* Bytes of a question; more of it is behind the run's link. */
#define MCP_QUESTION_MAX 5000

struct mcp_text {
	struct buf state; /* one line */
	struct buf body;  /* any lines; its middle is left out where all is too long */
	struct buf next;  /* one line, an imperative sentence */
};

/* The text of the tool's answer; of a tool without a text of its own the answer as JSON. */
void mcp_text_say(struct mcp_text *t, const char *tool, struct json_object *answer);
/* Of {"code","message","fix","context",...}. */
void mcp_text_say_error(struct mcp_text *t, struct json_object *error);
/* Whether its middle will be left out, with a last line as long as one may be. */
bool mcp_text_is_cut(const struct mcp_text *t);
/* That the same call began this run before, and how another is begun. */
void mcp_text_say_repeat(struct mcp_text *t, struct json_object *run);
/* All of it in at most max bytes. */
void mcp_text_join(struct buf *out, const struct mcp_text *t, size_t max);

/* --- by the shape of an answer: mcp_text_run.c, mcp_text_box.c --- */
void mcp_say_run(struct mcp_text *t, struct json_object *run);
void mcp_say_watch(struct mcp_text *t, struct json_object *run);
void mcp_say_monitor(struct mcp_text *t, struct json_object *monitor);
void mcp_say_sandbox(struct mcp_text *t, struct json_object *sandbox);
void mcp_say_result(struct mcp_text *t, struct json_object *result);
void mcp_say_look(struct mcp_text *t, struct json_object *look);
void mcp_say_pool(struct mcp_text *t, struct json_object *pool);
