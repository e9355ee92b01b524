/*
 * asb sandbox: sealed boxes to run code in, from a terminal or a script. What the code printed goes
 * to stdout and stderr as it was printed, its exit status becomes ours.
 */
#include <getopt.h>
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

struct sandbox_options {
	const char *language, *image, *backend, *code, *file;
	const char *timeout, *memory_mb, *cpus, *offset, *packages_from, *sync;
	bool background;
	struct json_object *packages;
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

static void pause_short(void)
{
	const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};

	(void)nanosleep(&pause, NULL);
}

/* Until it is made or has failed: packages may take longer than a wait. */
static bool create_wait(struct cli *cli, struct json_object *box, struct json_object **list,
	struct json_object **out, struct err *err)
{
	const char *path =
		cli_query(cli->pool, "/sandboxes.json", "sandbox_id", cli_text(box, "sandbox_id"));

	*out = box;
	while (!cli_text(*out, "state")[0] || !strcmp(cli_text(*out, "state"), "creating")) {
		pause_short();
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
	if (json_count(o->packages)) {
		struct json_object *list = json_new_array();

		for (size_t i = 0; i < json_count(o->packages); i++) {
			const char *spec = "";

			(void)json_as_text(json_at(o->packages, i), &spec);
			json_push_text(list, spec);
		}
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
	const char *path = cli_query(cli->pool, "/exec.json", "exec", cli_text(*reply, "exec"));

	while (goes_on(*reply)) {
		pause_short();
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

static const struct {
	const char *name;
	bool wants_sandbox;
	bool (*run)(struct cli *cli, const struct sandbox_options *o, char **args, int *status,
		struct err *err);
} commands[] = {
	{"create", false, create},
	{"run", true, run},
	{"logs", true, logs},
	{"destroy", true, destroy},
	{"list", false, list},
};

static bool options_take(
	struct cli *cli, struct sandbox_options *o, int argc, char **argv, struct err *err)
{
	static const struct option options[] = {
		{"language", required_argument, NULL, 0},
		{"image", required_argument, NULL, 0},
		{"backend", required_argument, NULL, 0},
		{"memory-mb", required_argument, NULL, 0},
		{"cpus", required_argument, NULL, 0},
		{"code", required_argument, NULL, 0},
		{"file", required_argument, NULL, 0},
		{"timeout", required_argument, NULL, 0},
		{"offset", required_argument, NULL, 0},
		{"packages-from", required_argument, NULL, 0},
		{"sync", required_argument, NULL, 0},
		{"package", required_argument, NULL, 'p'},
		{"background", no_argument, NULL, 'b'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	const char **const texts[] = {&o->language, &o->image, &o->backend, &o->memory_mb, &o->cpus,
		&o->code, &o->file, &o->timeout, &o->offset, &o->packages_from, &o->sync};
	int which = 0;

	opterr = 0;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, &which)) != -1;) {
		if (c == '?')
			return verb_bad_option(argv, err);
		if (!c)
			*texts[which] = optarg;
		if (c == 'p')
			json_push_text(o->packages, optarg);
		o->background |= c == 'b';
		cli->json |= c == 'j';
	}
	return true;
}

bool verb_sandbox(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *packages = json_new_array();
	struct sandbox_options o = {.packages = packages};

	if (!options_take(cli, &o, argc, argv, err))
		return false;
	for (size_t i = 0; optind < argc && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, argv[optind]))
			continue;
		if (commands[i].wants_sandbox && optind + 1 >= argc)
			return verb_misused("sandbox", "which sandbox?", err);
		return commands[i].run(cli, &o, argv + optind + 1, status, err);
	}
	return verb_misused("sandbox", "create, run, logs, destroy or list?", err);
}
