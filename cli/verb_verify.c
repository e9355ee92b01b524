/*
 * asb verify: checks a receipt. No site is asked, but for its public key where none is given.
 */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "receipt.h"
#include "text.h"
#include "verbs.h"

#define KEY_FILE_MAX 4096

/* A key as it is written, or the file that holds it. */
static bool key_read(struct cli *cli, const char *given, const char **key, struct err *err)
{
	char *text;

	if (!receipt_key_is_name(given)) {
		if (!cli_read_file(cli->pool, given, KEY_FILE_MAX, &text, err))
			return false;
		given = text;
	}
	if (!receipt_key_is_name(given)) {
		(void)err_set(err, ERR_INVALID, "verify: no public key");
		return err_advise(err, NULL,
			"it looks like ed25519:...=, and is receipt_key in the site's /site.json");
	}
	*key = given;
	return true;
}

/* The key of the site that ASB_URL names; NULL where no site is set. */
static bool key_ask(struct cli *cli, const char **key, struct err *err)
{
	CLEANUP(json) struct json_object *site = NULL;
	const char *url = getenv("ASB_URL"), *found;

	*key = NULL;
	if (!url || !*url)
		return true;
	if (!cli_connect(cli, err) || !http_get_json(cli->http, "/site.json", &site, err)) {
		(void)err_wrap(err, "the site's key");
		return err_advise(err, NULL, "give it with --key to check without the site");
	}
	found = cli_text(site, "receipt_key");
	return !*found || key_read(cli, pool_strdup(cli->pool, found), key, err);
}

static void report_json(struct cli *cli, const struct receipt_verdict *v, bool proved)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *faults = json_new_array();

	for (size_t i = 0; i < v->nfaults; i++)
		json_push_text(faults, v->faults[i]);
	json_add_bool(o, "valid", v->valid && proved);
	json_add_text(o, "receipt", v->signed_body ? cli_text(v->signed_body, "receipt") : NULL);
	json_add_text(o, "key", v->key);
	json_add_bool(o, "key_proved", proved && v->signed_body);
	json_add(o, "faults", faults);
	cli_print_json(cli, o);
}

static void report(struct cli *cli, const struct receipt_verdict *v, bool proved)
{
	struct json_object *body = v->signed_body, *outcome = json_get(body, "outcome");
	const char *name = body ? cli_text(body, "receipt") : "no receipt", *said;
	int64_t code;

	(void)printf("%s: %s\n", !v->valid ? "NOT VALID" : proved ? "valid" : "whole", name);
	for (size_t i = 0; i < v->nfaults; i++)
		(void)printf("  %s\n", cli_sane(cli->pool, v->faults[i]));
	if (!v->valid)
		return;
	said = json_get_i64(outcome, "exit_code", &code)
		       ? pool_printf(cli->pool, "exit %lld", (long long)code)
		       : cli_text(outcome, "state");
	(void)printf("  %s %s in %s: %s, at %s\n", cli_text(body, "of"),
		cli_sane(cli->pool,
			cli_text(body, strcmp(cli_text(body, "of"), "turn") ? "exec" : "session")),
		cli_sane(cli->pool, cli_text(json_get(body, "box"), "name")), said,
		cli_sane(cli->pool, cli_text(body, "finished_at")));
	(void)printf("  signed by %s\n", v->key);
	if (!proved)
		(void)printf("  nobody said whose key that is: give the site's with --key\n");
}

struct verify_options {
	const char *key;
};

static const struct flag flags[] = {
	FLAG(TEXT, struct verify_options, key, .value = "FILE|KEY",
		.help = "the site's public key, or a file with it (default: what the site of\n"
			"ASB_URL says; without either nobody vouches for the key)"),
};

static bool verify(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct verify_options *o = options;
	struct receipt_verdict v;
	const char *key;
	char *text;

	(void)nwords;
	if (sodium_init() < 0)
		return err_set(err, ERR_INTERNAL, "libsodium does not start");
	if (!cli_read_file(cli->pool, words[0], RECEIPT_MAX, &text, err) ||
		!(o->key ? key_read(cli, o->key, &key, err) : key_ask(cli, &key, err)) ||
		!receipt_verify(cli->pool, text, strlen(text), key, &v, err))
		return false;
	if (cli->json)
		report_json(cli, &v, key != NULL);
	else
		report(cli, &v, key != NULL);
	*status = !v.valid ? STATUS_RECEIPT_BAD : key ? 0 : STATUS_KEY_UNKNOWN;
	return true;
}

const struct verb verb_verify = {
	.name = "verify",
	.usage = "FILE",
	.summary = "check a receipt, without any site",
	.about = "Exits with 0 (valid), 1 (changed: each member is named), 11 (whole, by a key "
		 "that\n"
		 "nobody vouched for) or 2 (no receipt). FILE - is standard input.",
	VERB_FLAGS(struct verify_options, flags),
	.least = 1,
	.most = 1,
	.wants = "one file",
	.word = WORD_FILE,
	.run = verify,
};
