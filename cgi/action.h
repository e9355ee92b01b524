#pragma once
/*
 * An action is one thing that somebody can ask: a row that says where it is, what the caller needs
 * and what it takes, and a function. actions.c lists them; the router does everything that is the
 * same for all (access, validation, transaction, Idempotency-Key, audit, errors); docs/api.md is
 * printed from them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "db.h"
#include "err.h"
#include "field.h"
#include "request.h"
#include "response.h"

struct json_object;
struct site;

#define TASK_MAX (256 * 1024)
/* An answer goes to the box as one frame of 64 KiB, quoted as JSON beside the question's id. */
#define ANSWER_MAX (60 * 1024)

enum action_needs {
	NEEDS_CALLER, /* somebody signed in */
	NEEDS_NOBODY, /* anybody */
	NEEDS_LOCAL,  /* this machine, or somebody signed in */
};

/* What an action works with. It runs inside a transaction of the caller's account, which the router
 * commits when it returns true and rolls back otherwise (but for rows with own_tx). */
struct call {
	const struct site *site;
	struct request *rq;
	struct response *rs;
	struct db *db;
	struct pool *pool; /* the request's */
	struct caller caller;
	const char *subject;	     /* set by the action: what it was about, for audit and log */
	struct json_object *context; /* set by the action: more of the error's context */
	int64_t retry_s;	     /* Retry-After of a refusal; 0: the default */
};

/* What annotates a tool; a client may ask its person by them. */
enum tool_hint {
	TOOL_READ_ONLY = 1,   /* changes nothing */
	TOOL_DESTRUCTIVE = 2, /* what it ends does not come back */
	TOOL_IDEMPOTENT = 4,  /* twice is the same as once */
	TOOL_OPEN_WORLD = 8,  /* what it starts may reach beyond this site */
};

/* Members of an answer: outputs.h has those that several actions share. */
struct output {
	const struct field *fields;
	size_t nfields;
};

/* What an action needs to be an MCP tool as well, under its own name. */
struct tool {
	const char *title; /* NULL: it is no tool */
	/* Written as a rule for a model: when to call it, what comes back, what to do then. At most
	 * 1,000 characters, the rule first. */
	const char *description;
	unsigned hints; /* of enum tool_hint */
	/* It begins a run. A client whose stream broke calls again, and must not begin a second
	 * one: the same arguments are the same call while the run goes on, and so long after it is
	 * done. */
	int64_t once_ms;
	bool task; /* the run is a task, for clients that declare the extension */
	bool asks; /* its run may ask, by a form of the client's where the call wants that */
	const struct output *output;
	/* Texts of files can be long: the field that bounds them, and its default for a model. */
	const char *bound;
	int64_t bound_value;
};

struct action {
	const char *name;
	const char *summary; /* one sentence */
	const char *method, *path;
	enum action_needs needs;
	enum scope scope; /* what a key must have; 0: run:write where it mutates, else run:read */
	bool mutates;	  /* CSRF layers, audit row, Idempotency-Key */
	bool streams;	  /* reads the body itself; its inputs come by the query string */
	bool own_tx;	  /* no transaction is opened for it */
	const char
		*type; /* of the body; NULL: there is none, and inputs come by the query string */
	size_t input_size;
	const struct field *fields;
	size_t nfields;
	const char *answers; /* status and shape, for the docs */
	bool (*run)(struct call *c, const void *input, struct err *err);
	struct tool tool;
};

#define ACTION_FIELDS(rows) .fields = (rows), .nfields = sizeof(rows) / sizeof((rows)[0])

extern const struct action *const actions[]; /* ended by NULL */

/* What a key must have to do it; SCOPE_NONE: whoever asks needs no caller either. */
enum scope action_scope(const struct action *a);

/* docs/api.md. */
struct buf;
void actions_print(struct buf *b);
/* The row with this name; NULL: none. */
const struct action *action_find(const char *name);
/* The same of those that are tools. */
const struct action *action_find_tool(const char *name);

/* --- what several actions share: call.c --- */
/* Answers with the first column of the statement's one row. ERR_NOT_FOUND "no such WHAT" without.
 */
bool call_json(struct call *c, int status, int q, const struct db_arg *args, size_t nargs,
	const char *what, struct err *err) NODISCARD;
/* Answers with the object's text; it stays the caller's. True. */
bool call_answer(struct call *c, int status, struct json_object *o);
/* Adds "caller": {"kind","name"}, who asks as people know him. */
bool call_add_caller(struct call *c, struct json_object *o, struct err *err) NODISCARD;
/* Hands the request to asb-live once the transaction is committed; `what` is run or exec, and its
 * name is in the URL so that nginx can still say it where asb-live is not there. */
void call_wait(struct call *c, const char *what, const char *name, int64_t turn, int64_t wait_ms);
/* The same for who only reads: answered with what is there, where it has failed as well. In both, a
 * name that the caller sent must have been found, or be of FIELD_NAME's characters. */
void call_wait_read(struct call *c, const char *what, const char *name, int64_t wait_ms);
