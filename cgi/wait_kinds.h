#pragma once
/*
 * What can be waited for, and the query of /internal/wait, which says it. asb-web makes the query,
 * asb-live holds the request, and asb-web answers it where asb-live is not there.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "field.h"

struct pool;

struct wait_kind {
	const char *name; /* of the query's member that names one */
	const char *what; /* for errors */
	char news;	  /* first letter of what PostgreSQL tells of it */
	int find;	  /* statement: account, id, name to id and name */
	int read;	  /* name, account to the answer */
	int seen;	  /* the same to what who only reads is answered */
	int states;	  /* ids to the states of those; live_waits.c says what else */
	bool (*boundary)(const char *state);
};

/* box: until a sandbox is made; end: until it is gone. */
enum { WAIT_RUN, WAIT_EXEC, WAIT_BOX, WAIT_END, WAIT_LOOK, WAIT_KIND__COUNT };
extern const struct wait_kind wait_kinds[WAIT_KIND__COUNT];

/* Longest wait there is; the actions allow less. */
#define WAIT_MAX_MS 600000

/* The query's members; `run` to `look` name what is waited for. */
struct wait_input {
	const char *run, *exec, *box, *end, *look, *mcp;
	int64_t wait_ms, account, turn;
	bool read;
};
#define WAIT_FIELDS 10
extern const struct field wait_fields[WAIT_FIELDS];

struct wait_ask {
	const struct wait_kind *kind;
	const char *name; /* of what is waited for, or its number */
	int64_t wait_ms;
	int64_t account; /* 0: not said */
	int64_t turn;	 /* boundaries of earlier ones do not count */
	bool reads;	 /* takes it as it is, also where it has failed */
	const char *mcp; /* the MCP call that waits (mcp_result.h); NULL: none */
};

/* ERR_INVALID where it names nothing, or two things. */
bool wait_ask_take(const struct wait_input *in, struct wait_ask *out, struct err *err) NODISCARD;
bool wait_ask_parse(
	struct pool *pool, const char *query, struct wait_ask *out, struct err *err) NODISCARD;
/* The rows of what is waited for could not be read, which such errors (busy, timeout, internal) say
 * with "send it again": but it was committed, and a model that sends it again has it done twice.
 * They become one that says so, and what to ask instead. Other errors are left as they are. */
void wait_err_unread(const struct wait_kind *kind, const char *name, struct err *err);
