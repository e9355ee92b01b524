/*
 * The table of what can be waited for, and the reader of what asb-web wrote into a redirect.
 */
#include "wait_kinds.h"

#include <stdio.h>
#include <string.h>

#include "queries.h"

static bool run_boundary(const char *state)
{
	static const char *const ends[] = {"waiting", "done", "failed", "stopped", "lost"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(state, ends[i]))
			return true;
	return false;
}

static bool exec_boundary(const char *state)
{
	return !strcmp(state, "done") || !strcmp(state, "failed");
}

static bool box_made(const char *state)
{
	return strcmp(state, "creating") != 0;
}

static bool box_ended(const char *state)
{
	return !strcmp(state, "gone") || !strcmp(state, "failed");
}

const struct wait_kind wait_kinds[WAIT_KIND__COUNT] = {
	[WAIT_RUN] = {"run", "run", 'r', Q_LIVE_WAIT_RUN, Q_READ_RUN, Q_READ_RUN, Q_LIVE_RUN_STATES,
		run_boundary},
	[WAIT_EXEC] = {"exec", "exec", 'x', Q_LIVE_WAIT_EXEC, Q_READ_EXEC, Q_READ_EXEC,
		Q_LIVE_EXEC_STATES, exec_boundary},
	[WAIT_BOX] = {"box", "sandbox", 'b', Q_LIVE_WAIT_BOX, Q_READ_SANDBOX, Q_READ_SANDBOXES,
		Q_LIVE_BOX_STATES, box_made},
	[WAIT_END] = {"end", "sandbox", 'b', Q_LIVE_WAIT_BOX, Q_READ_SANDBOX, Q_READ_SANDBOXES,
		Q_LIVE_BOX_STATES, box_ended},
	[WAIT_LOOK] = {"look", "look", 'k', Q_LIVE_WAIT_LOOK, Q_READ_LOOK, Q_READ_LOOK,
		Q_LIVE_LOOK_STATES, exec_boundary},
};

const struct field wait_fields[WAIT_FIELDS] = {
	FIELD(TEXT, struct wait_input, run, .max = 64, .pattern = FIELD_NAME,
		.help = "Run id or name."),
	FIELD(TEXT, struct wait_input, exec, .max = 64, .pattern = FIELD_NAME,
		.help = "Exec id or name."),
	FIELD(TEXT, struct wait_input, box, .max = 64, .pattern = FIELD_NAME,
		.help = "Sandbox, until it is made."),
	FIELD(TEXT, struct wait_input, end, .max = 64, .pattern = FIELD_NAME,
		.help = "Sandbox, until it is gone."),
	FIELD(TEXT, struct wait_input, look, .max = 64, .pattern = FIELD_NAME,
		.help = "Look id or name."),
	FIELD(TEXT, struct wait_input, mcp, .max = 8192, .help = "The MCP call that waits."),
	FIELD(INT, struct wait_input, wait_ms, .max = WAIT_MAX_MS, .help = "How long at the most."),
	FIELD(INT, struct wait_input, account, .max = INT64_MAX, .help = "Whose it is."),
	FIELD(INT, struct wait_input, turn, .max = INT32_MAX, .help = "The turn that was started."),
	FIELD(BOOL, struct wait_input, read, .help = "Answer with it, also where it has failed."),
};

/* Exactly one of them says what is waited for. */
static bool name_take(const struct wait_input *in, struct wait_ask *out)
{
	const char *const names[WAIT_KIND__COUNT] = {
		[WAIT_RUN] = in->run,
		[WAIT_EXEC] = in->exec,
		[WAIT_BOX] = in->box,
		[WAIT_END] = in->end,
		[WAIT_LOOK] = in->look,
	};
	size_t named = 0;

	for (size_t i = 0; i < WAIT_KIND__COUNT; i++) {
		if (!names[i])
			continue;
		out->kind = &wait_kinds[i];
		out->name = names[i];
		named++;
	}
	return named == 1;
}

bool wait_ask_take(const struct wait_input *in, struct wait_ask *out, struct err *err)
{
	*out = (struct wait_ask){.wait_ms = in->wait_ms,
		.account = in->account,
		.turn = in->turn,
		.reads = in->read,
		.mcp = in->mcp};
	return name_take(in, out) ||
	       err_set(err, ERR_INVALID, "run, exec, box, end, look: exactly one of them");
}

bool wait_ask_parse(struct pool *pool, const char *query, struct wait_ask *out, struct err *err)
{
	struct wait_input in = {0};

	return field_from_query(wait_fields, WAIT_FIELDS, query, pool, &in, err) &&
	       wait_ask_take(&in, out, err);
}

void wait_err_unread(const struct wait_kind *kind, const char *name, struct err *err)
{
	char fix[sizeof(err->fix)];

	if (err->code != ERR_BUSY && err->code != ERR_TIMEOUT && err->code != ERR_INTERNAL)
		return;
	(void)err_set(err, ERR_BUSY, "%s %s: its state cannot be read just now", kind->what, name);
	(void)snprintf(fix, sizeof(fix),
		kind == &wait_kinds[WAIT_RUN]
			? "It was begun and goes on: call status with session=%s."
			: "It was begun: ask for %s again in a moment.",
		name);
	(void)err_advise(err, "unread", fix);
}
