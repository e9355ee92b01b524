/*
 * asb admin: API keys. A new key goes to standard output, this once, so that it can be piped to
 * where it is kept.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "verbs.h"

#define DAY_MS (24LL * 60 * 60 * 1000)

extern const struct verb verb_admin;

struct admin_options {
	const char *scope, *days;
};

static const char *const scopes[] = {"run:read", "run:write", "admin", NULL};

static const struct flag flags[] = {
	FLAG(TEXT, struct admin_options, scope, .value = "SCOPE", .words = scopes,
		.help = "create: run:read, run:write (default) or admin"),
	FLAG(TEXT, struct admin_options, days, .value = "N",
		.help = "create: it expires after so many days (default: 90)"),
};

static bool create(struct cli *cli, const struct admin_options *o, char **words, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL;
	int64_t days = 90;

	if (!words[0])
		return verb_misused("admin", "what is the key for?", err);
	if (o->days && !text_to_i64(o->days, 1, 3650, &days))
		return verb_misused("admin", "--days is a number of days", err);
	json_add_text(body, "title", words[0]);
	json_add_text(body, "scope", o->scope ? o->scope : "run:write");
	json_add_i64(body, "lifetime_ms", days * DAY_MS);
	if (!cli_connect(cli, err) || !http_post_json(cli->http, "/create_key.json",
					      json_text(body, cli->pool), &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	(void)printf("%s\n", cli_text(reply, "key"));
	cli_say("%s, for %s: it is not shown again", cli_text(reply, "key_id"),
		cli_sane(cli->pool, words[0]));
	return true;
}

static bool list(struct cli *cli, const struct admin_options *o, char **words, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *keys;

	(void)o;
	(void)words;
	if (!cli_connect(cli, err) || !http_get_json(cli->http, "/keys.json", &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	keys = json_get(reply, "keys");
	(void)printf("%-22s %-9s %-9s %-24s %-24s %s\n", "KEY", "SCOPE", "STATE", "EXPIRES",
		"LAST USED", "TITLE");
	for (size_t i = 0; i < json_count(keys); i++) {
		struct json_object *k = json_at(keys, i), *has = json_get(k, "scopes");
		const char *scope = "";

		/* each includes those before it */
		(void)json_as_text(json_at(has, json_count(has) - 1), &scope);
		(void)printf("%-22s %-9s %-9s %-24s %-24s %s\n", cli_text(k, "key_id"), scope,
			cli_text(k, "state"), cli_text(k, "expires_at"),
			cli_text(k, "last_used_at"), cli_line(cli->pool, cli_text(k, "title")));
	}
	return true;
}

static bool key_revoke(
	struct cli *cli, const struct admin_options *o, char **words, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object(), *reply = NULL;

	(void)o;
	if (!words[0])
		return verb_misused("admin", "which key? asb admin list says which there are", err);
	json_add_text(body, "key_id", words[0]);
	if (!cli_connect(cli, err) || !http_post_json(cli->http, "/revoke_key.json",
					      json_text(body, cli->pool), &reply, err))
		return false;
	if (cli->json)
		cli_print_json(cli, reply);
	else
		(void)printf("%s: revoked\n", words[0]);
	return true;
}

static const struct subverb subs[] = {
	{"create", "TITLE", "make an API key; prints it, this once", WORD_ANY},
	{"list", "", "the keys there are, and when each was last used", WORD_ANY},
	{"revoke", "KEY", "end one, from the next request on", WORD_ANY},
};

static bool admin(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	static bool (*const runs[])(struct cli * cli, const struct admin_options *o, char **words,
		struct err *err) = {create, list, key_revoke};
	const struct subverb *sub = verb_sub(&verb_admin, words[0], err);

	(void)nwords;
	(void)status;
	return sub && runs[sub - subs](cli, options, words + 1, err);
}

const struct verb verb_admin = {
	.name = "admin",
	.usage = "",
	.summary = "API keys: make, list and revoke",
	.about = "It takes the operator's token, or a key with the scope admin.",
	VERB_SUBS(subs),
	VERB_FLAGS(struct admin_options, flags),
	.least = 1,
	.most = 2,
	.wants = "create, list or revoke?",
	.word = WORD_SUB,
	.run = admin,
};
