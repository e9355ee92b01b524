/*
 * asb capabilities: what this site's sandboxes can be, what they may not exceed, and what is not
 * claimed of them.
 */
#include <stdio.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "verbs.h"

static long long number(struct json_object *o, const char *key)
{
	int64_t n = 0;

	(void)json_get_i64(o, key, &n);
	return n;
}

static void print_languages(struct json_object *all)
{
	for (size_t i = 0; i < json_count(all); i++) {
		struct json_object *l = json_at(all, i);
		bool ready = false;

		(void)json_get_bool(l, "ready", &ready);
		(void)printf("%-13s %-11s packages by %-6s %s\n", i ? "" : "languages",
			cli_text(l, "language"), cli_text(l, "packages"),
			ready ? "ready"
			      : "not built: ASB_IMAGES of deploy/stack up, docs/packages.md");
	}
}

/* isolation: what stands beside a text, by it; NULL: nothing */
static void print_texts(const char *name, struct json_object *all, struct json_object *isolation)
{
	for (size_t i = 0; i < json_count(all); i++) {
		const char *text = "";

		(void)json_as_text(json_at(all, i), &text);
		(void)printf("%-13s %s%s%s\n", i ? "" : name, text, isolation ? ": " : "",
			isolation ? cli_text(isolation, text) : "");
	}
}

static void print_limits(struct json_object *l)
{
	(void)printf("%-13s %lld MB and %lld processors where nothing is asked for; classes:",
		"limits", number(l, "memory_mb"), number(l, "cpus"));
	for (size_t i = 0; i < json_count(json_get(l, "sizes")); i++) {
		struct json_object *s = json_at(json_get(l, "sizes"), i);

		(void)printf("%s %lld MB, %lld", i ? ";" : "", number(s, "memory_bytes") >> 20,
			number(s, "cpus"));
	}
	(void)printf(
		"\n%-13s a run: %lld s, at most %lld; code %lld bytes, output %lld characters a "
		"stream\n",
		"", number(l, "timeout_s"), number(l, "timeout_max_s"), number(l, "code_bytes"),
		number(l, "output_characters"));
	(void)printf(
		"%-13s a sandbox: %lld packages, %lld processes in the background; it ends %lld s "
		"after its last use, %lld s after its beginning\n",
		"", number(l, "packages"), number(l, "background_processes"), number(l, "idle_s"),
		number(l, "lifetime_s"));
}

static bool capabilities(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;

	(void)options;
	(void)nwords;
	(void)words;
	(void)status;
	if (!cli_connect(cli, err) || !http_get_json(cli->http, "/capabilities.json", &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	print_languages(json_get(reply, "languages"));
	print_texts("images", json_get(reply, "environments"), NULL);
	print_texts("backends", json_get(reply, "backends"), json_get(reply, "isolation"));
	print_limits(json_get(reply, "limits"));
	(void)printf("%-13s %s\n%-13s %s\n", "network", cli_text(reply, "network"), "state",
		cli_text(reply, "state"));
	print_texts("not claimed", json_get(reply, "not_claimed"), NULL);
	return true;
}

const struct verb verb_capabilities = {
	.name = "capabilities",
	.usage = "",
	.summary = "what sandboxes can be here, their limits, and what is not claimed",
	.run = capabilities,
};
