/*
 * exec: runs one command in a run's box, beside whatever the agent does, and gives its result.
 */
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "exec.h"
#include "json.h"
#include "pool.h"
#include "queries.h"

#define CODE_MAX (1024 * 1024)
/* A box is told what to run in one frame of 64 KiB, in which JSON may take six bytes for one: so
 * much may a whole argv be as JSON, and longer code goes by stdin. */
#define ARGV_MAX (48 * 1024)
#define CODE_ARG_MAX (8 * 1024)

struct exec_input {
	const char *session, *code, *stdin_text;
	struct field_texts argv;
	int64_t timeout_ms, wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct exec_input, session, .required = true, .max = 64,
		.help = "The run in whose box it runs.",
		.fix = "Name the run: session is what delegate answered."),
	FIELD(TEXTS, struct exec_input, argv, .max = 1024, .each_max = ARGV_MAX,
		.help = "The command and its arguments; no shell is involved."),
	FIELD(TEXT, struct exec_input, code, .max = CODE_MAX,
		.help = "A bash script, instead of argv."),
	{.name = "stdin",
		.kind = FIELD_KIND_TEXT,
		.offset = offsetof(struct exec_input, stdin_text),
		.max = CODE_MAX,
		.help = "What it reads."},
	FIELD(INT, struct exec_input, timeout_ms, .min = 1, .max = 3600000, .value = 30000,
		.help = "It, and all it started, is killed after this long."),
	FIELD(INT, struct exec_input, wait_ms, .max = 600000,
		.help = "Wait this long for its end; 0: answer at once."),
};

static bool set_command(
	struct call *c, const struct exec_input *in, struct exec_new *out, struct err *err)
{
	CLEANUP(json) struct json_object *argv = json_new_array();
	const char *input = in->stdin_text;

	if (!in->code == !in->argv.n) {
		(void)err_set(err, ERR_INVALID, "argv, code: give one of them");
		return err_advise(
			err, "field", "argv is a command and its arguments, code a bash script.");
	}
	for (size_t i = 0; i < in->argv.n; i++)
		json_push_text(argv, in->argv.v[i]);
	if (in->code) {
		bool is_long = strlen(in->code) > CODE_ARG_MAX;

		if (is_long && input)
			return err_set(err, ERR_INVALID,
				"stdin: cannot stand beside code of more than %d bytes",
				CODE_ARG_MAX);
		json_push_text(argv, "/bin/bash");
		json_push_text(argv, "-c");
		json_push_text(argv, is_long ? "eval \"$(cat)\"" : in->code);
		if (is_long)
			input = in->code;
	}
	out->argv = json_text(argv, c->pool);
	if (strlen(out->argv) > ARGV_MAX) {
		(void)err_set(err, ERR_TOO_LARGE, "argv: more than %d bytes as JSON", ARGV_MAX);
		return err_advise(err, "field", "send long text as stdin or code.");
	}
	*out = (struct exec_new){.argv = out->argv,
		.stdin_data = input,
		.stdin_size = input ? strlen(input) : 0,
		.timeout_ms = in->timeout_ms};
	return true;
}

static bool run_exec(struct call *c, const void *input, struct err *err)
{
	const struct exec_input *in = input;
	struct exec_new exec;
	struct exec_made made;

	c->subject = in->session;
	if (!set_command(c, in, &exec, err) || !exec_submit(c->db, c->caller.account_id,
						       in->session, &exec, c->rq->id, &made, err))
		return false;
	c->subject = pool_strdup(c->pool, made.name);
	if (in->wait_ms) {
		call_wait(c, "exec", made.name, 0, in->wait_ms);
		return true;
	}
	return call_json(c, 202, Q_READ_EXEC,
		ARGS(db_text(made.name), db_i64(c->caller.account_id)), "exec", err);
}

const struct action action_exec = {
	.name = "exec",
	.summary = "Run one command in a run's box and get its real result.",
	.method = "POST",
	.path = "/exec.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct exec_input),
	ACTION_FIELDS(fields),
	.answers = "202 EXEC; with wait_ms 200 EXEC when it has ended",
	.run = run_exec,
};
