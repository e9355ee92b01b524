/*
 * What is run in a sandbox, from a terminal or a script. What the code printed goes to stdout and
 * stderr as it was printed, its exit status becomes ours.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "sandbox_verb.h"
#include "text.h"
#include "verbs.h"

#define CODE_MAX (1024 * 1024)
#define UNHELD_MS 500 /* from one request to the next, at the least */

bool sandbox_add_number(
	struct json_object *body, const char *key, const char *text, struct err *err)
{
	int64_t n;

	if (!text)
		return true;
	if (!text_to_i64(text, 0, INT32_MAX, &n))
		return err_set(err, ERR_INVALID, "%s: must be a whole number", key);
	json_add_i64(body, key, n);
	return true;
}

bool sandbox_post(struct cli *cli, const char *path, struct json_object *body,
	struct json_object **out, struct err *err)
{
	return cli_connect(cli, err) &&
	       http_post_json(cli->http, path, json_text(body, cli->pool), out, err);
}

/* Of a reading action: it holds the request until there is something to say. */
const char *sandbox_wait_query(
	struct cli *cli, const char *path, const char *key, const char *value)
{
	return pool_printf(cli->pool, "%s&wait_ms=%d", cli_query(cli->pool, path, key, value),
		SANDBOX_WAIT_MS);
}

/* One that comes back at once was not held: the program that holds them is just starting. */
void sandbox_pause_unheld(int64_t since_ms)
{
	const int64_t left = UNHELD_MS - (time_boot_ms() - since_ms);
	const struct timespec pause = {.tv_nsec = left * 1000 * 1000};

	if (left > 0)
		(void)nanosleep(&pause, NULL);
}

static bool goes_on(struct json_object *run)
{
	const char *state = cli_text(run, "state");

	return !state[0] || !strcmp(state, "queued") || !strcmp(state, "running");
}

/* Until it has ended: a wait that was over is begun again by reading it. */
static bool run_wait(struct cli *cli, struct json_object **reply, struct err *err)
{
	const char *path = sandbox_wait_query(cli, "/exec.json", "exec", cli_text(*reply, "exec"));
	int64_t since = 0;

	while (goes_on(*reply)) {
		sandbox_pause_unheld(since);
		since = time_boot_ms();
		json_free(*reply);
		*reply = NULL;
		if (!http_get_json(cli->http, path, reply, err))
			return false;
	}
	return true;
}

static bool is_true(struct json_object *o, const char *key)
{
	bool yes;

	return json_get_bool(o, key, &yes) && yes;
}

static void print_output(struct cli *cli, struct json_object *r)
{
	(void)fputs(cli_sane(cli->pool, cli_text(r, "stdout")), stdout);
	(void)fflush(stdout);
	(void)fputs(cli_sane(cli->pool, cli_text(r, "stderr")), stderr);
}

static void report(struct cli *cli, struct json_object *r, int *status)
{
	int64_t code = STATUS_RUN_FAILED;

	print_output(cli, r);
	if (is_true(r, "truncated"))
		cli_say("asb sandbox logs %s %s prints all of it", cli_text(r, "sandbox_id"),
			cli_text(r, "process_id"));
	if (is_true(r, "timed_out")) {
		cli_say("it took too long and was killed, with all it had started");
		cli_say("  the sandbox can be used on; --timeout takes up to 60, --background has "
			"no limit");
	}
	if (is_true(r, "oom")) {
		cli_say("it was killed for want of memory");
		cli_say("  the sandbox can be used on; create --memory-mb makes one with more");
	}
	if (!json_get_i64(r, "exit_code", &code) && !strcmp(cli_text(r, "state"), "failed"))
		cli_say("it has no exit status: %s", cli_text(r, "reason"));
	*status = (int)code;
}

/* A member `files`: the texts of `with`, by the paths that they were given by. */
static bool add_files(
	struct cli *cli, struct json_object *body, const struct flag_texts *with, struct err *err)
{
	struct json_object *files = json_new_object();

	json_add(body, "files", files);
	for (size_t i = 0; i < with->n; i++) {
		const char *path = with->v[i];
		char *text;

		if (!cli_read_text(cli->pool, path, CODE_MAX, &text, err))
			return false;
		while (text_has_prefix(path, "./"))
			path += 2;
		json_add_text(files, path, text);
	}
	return true;
}

bool subverb_run(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL;
	char *code = NULL;

	if (!o->code == !o->file)
		return verb_misused("sandbox", "run wants --code or --file", err);
	if (o->file && !cli_read_file(cli->pool, o->file, CODE_MAX, &code, err))
		return false;
	json_add_text(body, "sandbox_id", args[0]);
	json_add_text(body, "code", o->code ? o->code : code);
	json_add_bool(body, "background", o->background);
	json_add_i64(body, "wait_ms", SANDBOX_WAIT_MS);
	if (!sandbox_add_number(body, "timeout", o->timeout, err) ||
		(o->with.n && !add_files(cli, body, &o->with, err)) ||
		!sandbox_post(cli, "/run.json", body, &reply, err) ||
		(!o->background && !run_wait(cli, &reply, err)))
		return false;
	*status = 0;
	if (o->background && !cli->json) {
		(void)printf("%s\n", cli_text(reply, "process_id"));
		return true;
	}
	if (!cli->json)
		report(cli, reply, status);
	else
		cli_print_json(cli, reply);
	return true;
}

/* What came of a process, in a word. */
static const char *outcome(struct cli *cli, struct json_object *p)
{
	const char *reason = is_true(p, "timed_out") ? "timed out"
			     : is_true(p, "oom")     ? "out of memory"
						     : cli_text(p, "reason");
	int64_t code;

	if (json_get_i64(p, "exit_code", &code) && !*reason)
		return pool_printf(cli->pool, "exit %lld", (long long)code);
	return *reason ? reason : cli_text(p, "state");
}

bool subverb_processes(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *all;

	(void)o;
	if (!cli_connect(cli, err) ||
		!http_get_json(cli->http,
			cli_query(cli->pool, "/processes.json", "sandbox_id", args[0]), &reply,
			err))
		return false;
	*status = 0;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	all = json_get(reply, "processes");
	(void)printf("%-22s %-14s %9s %-8s %s\n", "PROCESS", "OUTCOME", "MS", "RECEIPT", "CODE");
	for (size_t i = 0; i < json_count(all); i++) {
		struct json_object *p = json_at(all, i);
		const char *code = cli_text(p, "code");
		int64_t ms = 0;

		(void)json_get_i64(p, "duration_ms", &ms);
		(void)printf("%-22s %-14s %9lld %-8s %s\n", cli_text(p, "process_id"),
			cli_sane(cli->pool, outcome(cli, p)), (long long)ms,
			is_true(p, "receipt") ? "signed" : "-",
			cli_sane(cli->pool,
				pool_printf(cli->pool, "%.*s", (int)strcspn(code, "\r\n"), code)));
	}
	return true;
}

bool subverb_logs(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	int64_t at = 0, next = 0;
	const char *query;
	bool more = true;

	if (!args[1])
		return verb_misused("sandbox", "logs wants a sandbox and a process", err);
	if (o->offset && !text_to_i64(o->offset, 0, INT64_MAX, &at))
		return verb_misused("sandbox", "--offset is a number of bytes", err);
	if (!cli_connect(cli, err))
		return false;
	query = pool_printf(cli->pool, "%s&%s",
		cli_query(cli->pool, "/get_process_logs.json", "sandbox_id", args[0]),
		cli_query(cli->pool, "", "process_id", args[1]) + 1);
	*status = 0;
	for (; more; at = next) {
		CLEANUP(json) struct json_object *reply = NULL;

		if (!http_get_json(cli->http,
			    pool_printf(cli->pool, "%s&offset=%lld", query, (long long)at), &reply,
			    err))
			return false;
		if (cli->json) {
			cli_print_json(cli, reply);
			return true;
		}
		print_output(cli, reply);
		more = is_true(reply, "more") && json_get_i64(reply, "next_offset", &next) &&
		       next > at;
	}
	return true;
}
