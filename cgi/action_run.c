/*
 * run: runs code in a sandbox and gives its real result. A program's own non-zero exit is a result,
 * not an error. Files persist from one run to the next; what was in memory does not.
 */
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "exec.h"
#include "json.h"
#include "outputs.h"
#include "pool.h"
#include "queries.h"
#include "sandbox.h"

#define FILES_MAX 100

struct run_input {
	const char *sandbox_id, *code;
	struct field_map files;
	int64_t timeout, wait_ms;
	bool background;
};

static const struct field fields[] = {
	FIELD(TEXT, struct run_input, sandbox_id, .required = true, .max = 64,
		.help = "The sandbox.", .fix = "Name the sandbox_id that create_sandbox answered."),
	FIELD(TEXT, struct run_input, code, .required = true, .max = SANDBOX_CODE_MAX,
		.help = "The program, in the sandbox's language.",
		.fix = "Send the program as text."),
	FIELD(INT, struct run_input, timeout, .min = 1, .max = SANDBOX_TIMEOUT_MAX_S,
		.no_null = true,
		.help = "Seconds until it, and all it started, is killed. Where it is absent: 30, "
			"and in the background none.",
		.fix = "What takes longer is run with background=true, which has no limit."),
	FIELD(BOOL, struct run_input, background,
		.help = "Answer at once with a process_id and let it run; it is killed with the "
			"sandbox."),
	FIELD(MAP, struct run_input, files, .max = FILES_MAX, .each_max = SANDBOX_CODE_MAX,
		.help = "Texts by path, written below the working folder before it starts.",
		.fix = "Send an object of texts by path."),
	FIELD(INT, struct run_input, wait_ms, .max = 600000,
		.help = "Wait this long for its end; 0: answer at once."),
};

/* Below the working folder, and nothing else can be meant. */
static bool path_is_plain(const char *path)
{
	size_t n = strlen(path);

	if (!n || n > 255 || path[0] == '/' || path[n - 1] == '/' || strchr(path, '\\'))
		return false;
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		n = strcspn(part, "/");
		if (!n || (n == 1 && part[0] == '.') || (n == 2 && !memcmp(part, "..", 2)))
			return false;
	}
	return true;
}

static bool set_files(
	struct call *c, const struct field_map *files, const char **out, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();

	for (size_t i = 0; i < files->n; i++) {
		if (!path_is_plain(files->names[i])) {
			(void)err_set(err, ERR_INVALID,
				"files: a path must lead below the working folder");
			return err_advise(err, "field",
				"Use paths like tests/test_a.py, without / in front, . or .. in "
				"them.");
		}
		json_add_text(o, files->names[i], files->texts[i]);
	}
	*out = files->n ? json_text(o, c->pool) : NULL;
	return true;
}

static bool run_code(struct call *c, const void *input, struct err *err)
{
	const struct run_input *in = input;
	struct exec_made made;
	struct sandbox_run run = {
		.account_id = c->caller.account_id,
		.sandbox = in->sandbox_id,
		.code = in->code,
		.background = in->background,
		.timeout_ms = in->timeout * 1000,
		.request_id = c->rq->id,
	};

	c->subject = in->sandbox_id;
	if (!in->timeout && !in->background)
		run.timeout_ms = SANDBOX_TIMEOUT_S * 1000;
	if (!set_files(c, &in->files, &run.files, err) || !sandbox_run(c->db, &run, &made, err))
		return false;
	if (in->wait_ms && !in->background) {
		call_wait(c, "exec", made.name, 0, in->wait_ms);
		return true;
	}
	return call_json(c, 202, Q_READ_EXEC,
		ARGS(db_text(made.name), db_i64(c->caller.account_id)), "process", err);
}

const struct action action_run = {
	.name = "run",
	.summary = "Run code in a sandbox and get its real output and exit code.",
	.method = "POST",
	.path = "/run.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct run_input),
	ACTION_FIELDS(fields),
	.answers = "202 RESULT with a process_id; with wait_ms 200 RESULT when it has ended, or "
		   "202 RESULT with what it has written so far",
	.run = run_code,
	.tool = {.title = "Run code",
		.description = "Run a program in a sandbox and get its real stdout, stderr "
			       "and exit code. Call it to check a claim, a fix or a "
			       "calculation by running it, and report what came back; an "
			       "exit code that is not 0 is a result, not an error. Needs a "
			       "sandbox_id from create_sandbox. With background=true it "
			       "answers at once with a process_id for get_process_logs.",
		.output = &output_result},
};
