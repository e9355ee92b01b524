/*
 * asb pool: the boxes that are kept ahead, and whether they were there when they were wanted.
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

static bool pool_show(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *boxes, *hour;

	(void)options;
	(void)nwords;
	(void)words;
	(void)status;
	if (!cli_connect(cli, err) || !http_get_json(cli->http, "/pool_status.json", &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	boxes = json_get(reply, "boxes");
	hour = json_get(reply, "last_hour");
	(void)printf("%-16s %-5s %-8s %6s %8s  %s\n", "IMAGE", "CLASS", "RUNTIME", "POOLED",
		"CREATING", "OLDEST");
	for (size_t i = 0; i < json_count(boxes); i++) {
		struct json_object *b = json_at(boxes, i);

		(void)printf("%-16s %-5s %-8s %6lld %8lld  %s\n", cli_text(b, "image"),
			cli_text(b, "class"), cli_text(b, "runtime"), number(b, "pooled"),
			number(b, "creating"), cli_text(b, "oldest_at"));
	}
	(void)printf("%lld pooled, %lld creating; in the last hour %lld claimed, %lld claims "
		     "failed, %lld cloned\n",
		number(reply, "pooled"), number(reply, "creating"), number(hour, "claimed"),
		number(hour, "claims_failed"), number(hour, "cloned"));
	return true;
}

const struct verb verb_pool = {
	.name = "pool",
	.usage = "",
	.summary = "the boxes that are kept ahead",
	.run = pool_show,
};
