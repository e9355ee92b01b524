/*
 * asb status: the fleet as a short table, or one run.
 */
#include <stdio.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "verbs.h"

static void print_fleet(struct cli *cli, struct json_object *fleet)
{
	struct json_object *runs = json_get(fleet, "runs");

	(void)printf("%-22s %-9s %-5s %s\n", "SESSION", "STATE", "TURN", "TITLE");
	for (size_t i = 0; i < json_count(runs); i++) {
		struct json_object *r = json_at(runs, i);
		int64_t turn = 0;

		(void)json_get_i64(r, "turn", &turn);
		(void)printf("%-22s %-9s %-5lld %s\n", cli_text(r, "session"), cli_text(r, "state"),
			(long long)turn, cli_line(cli->pool, cli_text(r, "title")));
	}
}

static void print_run(struct cli *cli, struct json_object *run)
{
	struct json_object *box = json_get(run, "box");
	const char *question = cli_text(json_get(run, "question"), "text");

	(void)printf("%s\n", cli_text(run, "text"));
	(void)printf("title:  %s\n", cli_line(cli->pool, cli_text(run, "title")));
	(void)printf("box:    %s %s, %s\n", cli_text(box, "name"), cli_text(box, "state"),
		cli_text(box, "isolation"));
	if (*question)
		(void)printf("asks:   %s\nanswer: asb resume %s ANSWER\n",
			cli_sane(cli->pool, question), cli_text(run, "session"));
}

static bool status_get(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	const char *path = "/fleet.json";

	(void)options;
	(void)status;
	if (nwords)
		path = cli_query(cli->pool, "/watch.json", "session", words[0]);
	if (!cli_connect(cli, err) || !http_get_json(cli->http, path, &reply, err))
		return false;
	if (cli->json)
		cli_print_json(cli, reply);
	else if (nwords)
		print_run(cli, reply);
	else
		print_fleet(cli, reply);
	return true;
}

const struct verb verb_status = {
	.name = "status",
	.usage = "[SESSION]",
	.summary = "the fleet, or one run",
	.most = 1,
	.word = WORD_SESSION,
	.run = status_get,
};
