/*
 * asb secrets: what the site's gate uses for the account. A value goes in and never comes out: no
 * door gives one back.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "hidden.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "secret.h"
#include "verbs.h"

extern const struct verb verb_secrets;

static bool post(struct cli *cli, const char *path, const char *name, const char *value,
	const char *done, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL;

	json_add_text(body, "name", name);
	if (value)
		json_add_text(body, "value", value);
	if (!http_post_json(cli->http, path, json_text(body, cli->pool), &reply, err))
		return false;
	if (cli->json)
		cli_print_json(cli, reply);
	else
		(void)printf("%s: %s\n", cli_sane(cli->pool, name), done);
	return true;
}

static bool list(struct cli *cli, const char *name, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *secrets;

	(void)name;
	if (!cli_connect(cli, err) || !http_get_json(cli->http, "/secrets.json", &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	secrets = json_get(reply, "secrets");
	(void)printf(
		"%-24s %-12s %-24s %-24s %s\n", "NAME", "SET", "ENTERED", "LAST USED", "TITLE");
	for (size_t i = 0; i < json_count(secrets); i++) {
		struct json_object *s = json_at(secrets, i);
		bool set = false, site = false;

		(void)json_get_bool(s, "set", &set);
		(void)json_get_bool(s, "site", &site);
		(void)printf("%-24s %-12s %-24s %-24s %s\n", cli_text(s, "name"),
			set    ? "yes"
			: site ? "by the site"
			       : "no",
			cli_text(s, "updated_at"), cli_text(s, "last_used_at"),
			cli_sane(cli->pool, cli_text(s, "title")));
	}
	return true;
}

/* The site is asked whether there is such a secret before a person types it. */
static bool is_known(struct cli *cli, const char *name, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *secrets;

	if (!http_get_json(cli->http, "/secrets.json", &reply, err))
		return false;
	secrets = json_get(reply, "secrets");
	for (size_t i = 0; i < json_count(secrets); i++)
		if (!strcmp(cli_text(json_at(secrets, i), "name"), name))
			return true;
	(void)err_set(err, ERR_INVALID, "secrets: there is no %.40s", name);
	return err_advise(err, NULL, "asb secrets list says which there are");
}

static bool secret_set(struct cli *cli, const char *name, struct err *err)
{
	const char *value;

	if (!cli_connect(cli, err) || !is_known(cli, name, err))
		return false;
	if (!hidden_read(cli->pool, name, SECRET_VALUE_MAX, &value, err)) {
		(void)err_wrap(err, "secrets");
		return err_advise(err, NULL, "type it, or pipe it in; it is no argument");
	}
	return post(cli, "/secret_set.json", name, value, "set", err);
}

static bool secret_remove(struct cli *cli, const char *name, struct err *err)
{
	return cli_connect(cli, err) && is_known(cli, name, err) &&
	       post(cli, "/secret_delete.json", name, NULL, "removed", err);
}

static const struct subverb subs[] = {
	{"list", "", "which there are, and which are set; never a secret itself", WORD_ANY},
	{"set", "NAME", "enter one, or replace it: typed, or from standard input", WORD_SECRET},
	{"remove", "NAME", "forget one; twice is fine", WORD_SECRET},
};

static bool secrets(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	static bool (*const runs[])(struct cli * cli, const char *name, struct err *err) = {
		list, secret_set, secret_remove};
	const struct subverb *sub = verb_sub(&verb_secrets, words[0], err);

	(void)options;
	(void)status;
	if (!sub)
		return false;
	if (nwords != (*sub->usage ? 2 : 1))
		return verb_misused("secrets",
			*sub->usage ? "which one? asb secrets list says which there are"
				    : "list takes no words",
			err);
	return runs[sub - subs](cli, words[1], err);
}

const struct verb verb_secrets = {
	.name = "secrets",
	.usage = "",
	.summary = "what the site's gate uses in your name: enter and remove it",
	.about = "It takes the operator's token, or a key with the scope admin. A secret is typed\n"
		 "or piped in, and no door gives it out again.",
	VERB_SUBS(subs),
	.least = 1,
	.most = 2,
	.wants = "list, set or remove?",
	.word = WORD_SUB,
	.run = secrets,
};
