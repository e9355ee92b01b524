/*
 * asb sandbox: sealed boxes to run code in, from a terminal or a script. What the code printed goes
 * to stdout and stderr as it was printed, its exit status becomes ours.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "sync.h"
#include "text.h"
#include "verbs.h"

#define CODE_MAX (1024 * 1024)
#define WAIT_MS 50000 /* of one request; after that it is asked again */
#define UNHELD_MS 500 /* from one to the next, at the least */

extern const struct verb verb_sandbox;

struct sandbox_options {
	const char *language, *image, *backend, *code, *file;
	const char *timeout, *memory_mb, *cpus, *offset, *packages_from, *sync;
	bool background;
	struct flag_texts package;
};

static const char *const languages[] = {"python", "javascript", "bash", "go", "java", NULL};

static const struct flag flags[] = {
	FLAG(TEXT, struct sandbox_options, language, .value = "NAME", .words = languages,
		.help = "create: python, javascript, bash, go or java"),
	FLAG(TEXT, struct sandbox_options, image, .value = "NAME",
		.help = "create: another image than the language's"),
	FLAG(TEXT, struct sandbox_options, backend, .value = "NAME", .help = "create: the runtime"),
	FLAG(TEXTS, struct sandbox_options, package, .value = "P",
		.help = "create: name==version; may be repeated"),
	FLAG(TEXT, struct sandbox_options, memory_mb, .value = "N", .help = "create: memory"),
	FLAG(TEXT, struct sandbox_options, cpus, .value = "N", .help = "create: processors"),
	FLAG(TEXT, struct sandbox_options, sync, .value = "DIR",
		.help = "create: with a copy of DIR, see asb init"),
	FLAG(TEXT, struct sandbox_options, packages_from, .value = "FILE",
		.help = "create: packages of a lock file in DIR"),
	FLAG(TEXT, struct sandbox_options, code, .value = "TEXT", .help = "run: this"),
	FLAG(TEXT, struct sandbox_options, file, .value = "FILE",
		.help = "run: what is in FILE (-: standard input)"),
	FLAG(TEXT, struct sandbox_options, timeout, .value = "S",
		.help = "run: killed after so many seconds"),
	FLAG(BOOL, struct sandbox_options, background,
		.help = "run: print the process and do not wait"),
	FLAG(TEXT, struct sandbox_options, offset, .value = "N", .help = "logs: from this byte on"),
};

static bool add_number(struct json_object *body, const char *key, const char *text, struct err *err)
{
	int64_t n;

	if (!text)
		return true;
	if (!text_to_i64(text, 0, INT32_MAX, &n))
		return err_set(err, ERR_INVALID, "%s: must be a whole number", key);
	json_add_i64(body, key, n);
	return true;
}

static bool post(struct cli *cli, const char *path, struct json_object *body,
	struct json_object **out, struct err *err)
{
	return cli_connect(cli, err) &&
	       http_post_json(cli->http, path, json_text(body, cli->pool), out, err);
}

/* Of a reading action: it holds the request until there is something to say. */
static const char *wait_query(struct cli *cli, const char *path, const char *key, const char *value)
{
	return pool_printf(
		cli->pool, "%s&wait_ms=%d", cli_query(cli->pool, path, key, value), WAIT_MS);
}

/* One that comes back at once was not held: the program that holds them is just starting. */
static void pause_unheld(int64_t since_ms)
{
	const int64_t left = UNHELD_MS - (time_boot_ms() - since_ms);
	const struct timespec pause = {.tv_nsec = left * 1000 * 1000};

	if (left > 0)
		(void)nanosleep(&pause, NULL);
}

/* Until it is made or has failed: packages may take longer than a wait. */
static bool create_wait(struct cli *cli, struct json_object *box, struct json_object **list,
	struct json_object **out, struct err *err)
{
	const char *path =
		wait_query(cli, "/sandboxes.json", "sandbox_id", cli_text(box, "sandbox_id"));
	int64_t since = 0;

	*out = box;
	while (!cli_text(*out, "state")[0] || !strcmp(cli_text(*out, "state"), "creating")) {
		pause_unheld(since);
		since = time_boot_ms();
		json_free(*list);
		*list = NULL;
		if (!http_get_json(cli->http, path, list, err))
			return false;
		*out = json_at(json_get(*list, "sandboxes"), 0);
		if (!*out)
			return err_set(err, ERR_NOT_FOUND, "the sandbox is not there");
	}
	return !strcmp(cli_text(*out, "state"), "ready") ||
	       err_set(err, ERR_UPSTREAM, "the sandbox could not be made: %s: %s",
		       cli_text(*out, "reason"), cli_text(*out, "detail"));
}

static bool create_body(const struct sandbox_options *o, struct json_object *body, struct err *err)
{
	json_add_text(body, "language", o->language);
	if (o->image)
		json_add_text(body, "environment", o->image);
	if (o->backend)
		json_add_text(body, "backend", o->backend);
	if (o->package.n) {
		struct json_object *list = json_new_array();

		for (size_t i = 0; i < o->package.n; i++)
			json_push_text(list, o->package.v[i]);
		json_add(body, "packages", list);
	}
	if (o->packages_from)
		json_add_text(body, "packages_from", o->packages_from);
	json_add_i64(body, "wait_ms", WAIT_MS);
	return add_number(body, "memory_mb", o->memory_mb, err) &&
	       add_number(body, "cpus", o->cpus, err);
}

static bool create(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL, *list = NULL;
	struct json_object *box;
	struct sync_copy copy;

	(void)args;
	if (!o->language)
		return verb_misused("sandbox", "create wants --language", err);
	if (o->packages_from && !o->sync)
		return verb_misused("sandbox", "--packages-from wants --sync", err);
	if (!create_body(o, body, err) || !cli_connect(cli, err) ||
		(o->sync && !sync_send(cli, o->sync, o->packages_from, body, &copy, err)) ||
		!http_post_json(cli->http, "/create_sandbox.json", json_text(body, cli->pool),
			&reply, err) ||
		!create_wait(cli, reply, &list, &box, err))
		return false;
	if (o->sync)
		json_add(box, "synced", sync_report(&copy));
	if (cli->json)
		cli_print_json(cli, box);
	else
		(void)printf("%s\n", cli_text(box, "sandbox_id"));
	*status = 0;
	return true;
}

static bool goes_on(struct json_object *run)
{
	const char *state = cli_text(run, "state");

	return !state[0] || !strcmp(state, "queued") || !strcmp(state, "running");
}

/* Until it has ended: a wait that was over is begun again by reading it. */
static bool run_wait(struct cli *cli, struct json_object **reply, struct err *err)
{
	const char *path = wait_query(cli, "/exec.json", "exec", cli_text(*reply, "exec"));
	int64_t since = 0;

	while (goes_on(*reply)) {
		pause_unheld(since);
		since = time_boot_ms();
		json_free(*reply);
		*reply = NULL;
		if (!http_get_json(cli->http, path, reply, err))
			return false;
	}
	return true;
}

static void report(struct cli *cli, struct json_object *r, int *status)
{
	int64_t code = STATUS_RUN_FAILED;
	bool yes;

	(void)fputs(cli_sane(cli->pool, cli_text(r, "stdout")), stdout);
	(void)fputs(cli_sane(cli->pool, cli_text(r, "stderr")), stderr);
	if (json_get_bool(r, "timed_out", &yes) && yes)
		cli_say("it took too long and was killed, with all it had started");
	if (json_get_bool(r, "oom", &yes) && yes)
		cli_say("it was killed for want of memory");
	if (!json_get_i64(r, "exit_code", &code) && !strcmp(cli_text(r, "state"), "failed"))
		cli_say("it has no exit status: %s", cli_text(r, "reason"));
	*status = (int)code;
}

static bool run(
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
	json_add_i64(body, "wait_ms", WAIT_MS);
	if (!add_number(body, "timeout", o->timeout, err) ||
		!post(cli, "/run.json", body, &reply, err) ||
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

static bool logs(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	const char *path;

	if (!args[1])
		return verb_misused("sandbox", "logs wants a sandbox and a process", err);
	path = pool_printf(cli->pool, "%s&%s&%s",
		cli_query(cli->pool, "/get_process_logs.json", "sandbox_id", args[0]),
		cli_query(cli->pool, "", "process_id", args[1]) + 1,
		cli_query(cli->pool, "", "offset", o->offset ? o->offset : "0") + 1);
	if (!cli_connect(cli, err) || !http_get_json(cli->http, path, &reply, err))
		return false;
	*status = 0;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	(void)fputs(cli_sane(cli->pool, cli_text(reply, "stdout")), stdout);
	(void)fputs(cli_sane(cli->pool, cli_text(reply, "stderr")), stderr);
	return true;
}

static bool destroy(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL;

	(void)o;
	json_add_text(body, "sandbox_id", args[0]);
	json_add_i64(body, "wait_ms", WAIT_MS);
	if (!post(cli, "/destroy_sandbox.json", body, &reply, err))
		return false;
	if (cli->json)
		cli_print_json(cli, reply);
	else
		(void)printf("%s\n", cli_text(reply, "status"));
	*status = strcmp(cli_text(reply, "status"), "destroyed") ? STATUS_RUN_WAITING : 0;
	return true;
}

static bool list(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *all;

	(void)o;
	(void)args;
	if (!cli_connect(cli, err) || !http_get_json(cli->http, "/sandboxes.json", &reply, err))
		return false;
	*status = 0;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	all = json_get(reply, "sandboxes");
	(void)printf("%-22s %-10s %-11s %s\n", "SANDBOX", "STATE", "LANGUAGE", "ISOLATION");
	for (size_t i = 0; i < json_count(all); i++) {
		struct json_object *s = json_at(all, i);

		(void)printf("%-22s %-10s %-11s %s\n", cli_text(s, "sandbox_id"),
			cli_text(s, "state"), cli_text(s, "language"), cli_text(s, "isolation"));
	}
	return true;
}

static const struct subverb subs[] = {
	{"create", "", "make one; prints its name", WORD_ANY},
	{"run", "SANDBOX", "run code; prints what it printed, its exit status is ours",
		WORD_SANDBOX},
	{"logs", "SANDBOX PROCESS", "what a process has printed so far", WORD_SANDBOX},
	{"destroy", "SANDBOX", "twice is fine", WORD_SANDBOX},
	{"list", "", "those that live", WORD_ANY},
};

static bool sandbox(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	static bool (*const runs[])(struct cli * cli, const struct sandbox_options *o, char **args,
		int *status, struct err *err) = {create, run, logs, destroy, list};
	const struct subverb *sub = verb_sub(&verb_sandbox, words[0], err);

	if (!sub)
		return false;
	if (*sub->usage && nwords < 2)
		return verb_misused("sandbox", "which sandbox?", err);
	return runs[sub - subs](cli, options, words + 1, status, err);
}

const struct verb verb_sandbox = {
	.name = "sandbox",
	.usage = "",
	.summary = "a sealed box to run code in, and what really happened",
	VERB_SUBS(subs),
	VERB_FLAGS(struct sandbox_options, flags),
	.least = 1,
	.most = 3,
	.wants = "create, run, logs, destroy or list?",
	.word = WORD_SUB,
	.run = sandbox,
};
