#pragma once
/*
 * What the files of Claude Code's driver share: the reader of its stream-json, one event a line.
 * Every byte of it is hostile: lines are bounded, what is not understood is kept raw and bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents.h"
#include "buf.h"

struct json_object;
struct trace;

/* A longer line is left out; its bytes are in the log. */
#define CLAUDE_LINE_MAX (8u << 20)
#define CLAUDE_CALLS 64 /* open tool calls remembered for their durations */

struct claude_call {
	char id[64]; /* "": none */
	int64_t since_ms;
};

struct agent_reader {
	struct buf line;
	bool skipping;	/* the line under way is too long */
	size_t skipped; /* bytes of it */
	struct agent_facts facts;
	struct claude_call calls[CLAUDE_CALLS];
	size_t next_call;
	char model[80];
	double cost_usd;     /* of the whole conversation up to the last result */
	int64_t unknown;     /* events that were not understood */
	bool said_api_error; /* since the last result */
};

/* --- agent_claude_stream.c --- */
/* n bytes of stdout, the last of which came at now_ms. */
void claude_feed(
	struct agent_reader *c, const char *data, size_t n, int64_t now_ms, struct trace *trace);

/* --- agent_claude_result.c --- */
void claude_result(struct agent_reader *c, struct json_object *event, struct trace *trace);
void claude_retry(struct agent_reader *c, struct json_object *event, struct trace *trace);

/* --- agent_claude_tool.c --- */
/* "Bash: first line", "Edit: path". */
void claude_tool_line(struct buf *out, const char *tool, struct json_object *input);
/* The block tool_use or tool_result of an event as a row. parent: the call of the subagent, or
 * NULL. */
void claude_tool_use(struct agent_reader *c, struct json_object *block, const char *parent,
	int64_t now_ms, struct trace *trace);
void claude_tool_result(struct agent_reader *c, struct json_object *block, const char *parent,
	int64_t now_ms, struct trace *trace);
/* Appends ,"parent":".." where there is one. */
void claude_add_parent(struct buf *data, const char *parent);
