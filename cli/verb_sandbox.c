/*
 * asb sandbox: sealed boxes to run code in, from a terminal or a script. What is run in one:
 * sandbox_run.c.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "sandbox_verb.h"
#include "sync.h"
#include "text.h"
#include "verbs.h"

extern const struct verb verb_sandbox;

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
	FLAG(TEXTS, struct sandbox_options, with, .value = "FILE",
		.help = "run: FILE beside the code, by the same path; may be repeated"),
	FLAG(TEXT, struct sandbox_options, timeout, .value = "S",
		.help = "run: killed after so many seconds, 60 at the most (default: 30)"),
	FLAG(BOOL, struct sandbox_options, background,
		.help = "run: print the process and do not wait"),
	FLAG(TEXT, struct sandbox_options, offset, .value = "N", .help = "logs: from this byte on"),
};

/* Until it is made or has failed: packages may take longer than a wait. */
static bool create_wait(struct cli *cli, struct json_object *box, struct json_object **list,
	struct json_object **out, struct err *err)
{
	const char *path = sandbox_wait_query(
		cli, "/sandboxes.json", "sandbox_id", cli_text(box, "sandbox_id"));
	int64_t since = 0;

	*out = box;
	while (!cli_text(*out, "state")[0] || !strcmp(cli_text(*out, "state"), "creating")) {
		sandbox_pause_unheld(since);
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
	json_add_i64(body, "wait_ms", SANDBOX_WAIT_MS);
	return sandbox_add_number(body, "memory_mb", o->memory_mb, err) &&
	       sandbox_add_number(body, "cpus", o->cpus, err);
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

static bool destroy(
	struct cli *cli, const struct sandbox_options *o, char **args, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL;

	(void)o;
	json_add_text(body, "sandbox_id", args[0]);
	json_add_i64(body, "wait_ms", SANDBOX_WAIT_MS);
	if (!sandbox_post(cli, "/destroy_sandbox.json", body, &reply, err))
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
	{"processes", "SANDBOX", "what was run in one, the newest first", WORD_SANDBOX},
	{"logs", "SANDBOX PROCESS", "what a process has printed so far", WORD_SANDBOX},
	{"destroy", "SANDBOX", "twice is fine", WORD_SANDBOX},
	{"list", "", "those that live", WORD_ANY},
};

static bool sandbox(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	static bool (*const runs[])(struct cli * cli, const struct sandbox_options *o, char **args,
		int *status, struct err *err) = {
		create, subverb_run, subverb_processes, subverb_logs, destroy, list};
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
	.wants = "create, run, processes, logs, destroy or list?",
	.word = WORD_SUB,
	.run = sandbox,
};
