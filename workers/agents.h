#pragma once
/*
 * THE table of coding agents: how each is started in a box and what its output means. Their names
 * are agent_list.h's.
 *
 * An agent that has a reader is talked to: its first message lies in a file, answers come over its
 * stdin, and it says itself when it is through with a message. Its reader is a function of the
 * bytes that the exec wrote from its first one on, so that a new runner has the same one after
 * feeding it the log.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct config;
struct guest;
struct logsink;
struct pool;
struct trace;
struct trees;

/* What an agent is to begin with. */
struct agent_start {
	const struct config *cfg;
	struct pool *pool;
	const char *message;	   /* the task, or what it is told when it is taken up again */
	const char *session;	   /* its conversation's name; NULL: it has none */
	bool resume;		   /* the conversation is there already */
	const struct trees *trees; /* where its work lies */
};

/* How far it is, by its own words. */
struct agent_facts {
	int64_t begun;	    /* how often it took up what it was told */
	int64_t ended;	    /* how often it was through with it */
	bool working;	    /* something came after the last end */
	int64_t background; /* tasks of its own that still run beside it */
	/* of the last end */
	bool failed;
	int64_t status;	   /* what the model's host answered; 0: nothing, or it was not that */
	char word[40];	   /* why it ended, in the agent's word */
	char message[240]; /* what it says about it */
	/* of the last try that did not come through and was made again; attempt 0: none */
	int64_t attempt, attempt_status;
};

struct agent_reader;

struct agent {
	const char *ask; /* how asb-ask answers it, "block" or "return": wire.h */
	/* Where its message lies that goes along with the EXEC, if it fits; NULL: prepare does it.
	 */
	const char *code;
	/* Puts what the agent needs into the box, the message among it; as files, never in argv. */
	bool (*prepare)(struct guest *g, const struct agent_start *start, int64_t deadline,
		struct err *err);
	const char *const *(*argv)(const struct agent_start *start);
	const char *const *(*env)(const struct agent_start *start); /* pairs: name, value */
	/* Makes trace rows of the chunks that are about to be committed. */
	void (*output)(
		struct agent_reader *reader, struct trace *trace, const struct logsink *sink);
	/* NULL: it has no reader. cost_usd: what its conversation has cost before this exec. */
	struct agent_reader *(*open)(double cost_usd);
	void (*close)(struct agent_reader *reader);
	/* Bytes of stdout that an earlier runner has made rows of. */
	void (*replay)(struct agent_reader *reader, const char *data, size_t n, int64_t written_ms);
	const struct agent_facts *(*facts)(const struct agent_reader *reader);
	/* What stands around an answer, as JSON text, on its stdin. */
	const char *before, *after;
};

const struct agent *agent_find(const char *name); /* NULL: none of that name */
