/*
 * asb login, asb logout: a token or API key, stored for one site once the site has taken it. It is
 * typed or piped, never an argument: a command line can be read by everyone.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "hidden.h"
#include "http.h"
#include "json.h"
#include "logins.h"
#include "pool.h"
#include "reach.h"
#include "sync_allow.h"
#include "verbs.h"

struct login_options {
	bool status;
};

static const struct flag flags[] = {
	FLAG(BOOL, struct login_options, status, .help = "which site and whose token is used now"),
};

static bool read_token(struct pool *pool, const char **token, struct err *err)
{
	if (!hidden_read(pool, "token or API key", TOKEN_MAX, token, err)) {
		(void)err_wrap(err, "login");
		return err_advise(err, NULL,
			"type it, or pipe it in; make a key on the site's page /dashboard/keys");
	}
	return login_token_check(*token, err) || err_wrap(err, "login");
}

/* Who the site says we are with this token: *caller is in *session, the caller's. */
static bool ask_session(struct cli *cli, const char *url, const char *token,
	struct json_object **session, struct err *err)
{
	cli->http = http_new(url, token);
	if (!http_get_json(cli->http, "/session.json", session, err)) {
		(void)err_wrap(err, "%.80s", url);
		return err->code == ERR_UNAUTHENTICATED
			       ? err_advise(err, NULL, "is it the token of this site, and whole?")
			       : false;
	}
	return true;
}

static void tell(struct cli *cli, const struct reach *at, struct json_object *session)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *caller = json_get(session, "caller");

	json_add_text(o, "url", at->url);
	json_add_text(o, "url_from", at->url_from);
	json_add_text(o, "token_from", at->token_from);
	json_add_bool(o, "signed_in", session != NULL);
	json_add(o, "caller", caller ? json_share(caller) : NULL);
	if (cli->json) {
		cli_print_json(cli, o);
		return;
	}
	(void)printf("site:   %s (%s)\n", at->url, at->url_from);
	(void)printf("token:  %s\n", at->token_from);
	if (session)
		(void)printf("caller: %s %s\n", cli_text(caller, "kind"),
			cli_sane(cli->pool, cli_text(caller, "name")));
}

static bool show_status(struct cli *cli, struct err *err)
{
	CLEANUP(json) struct json_object *session = NULL;
	struct reach_places places;
	struct reach at;

	if (!reach_places_get(cli->pool, &places, err) || !reach_find(cli->pool, &places, &at, err))
		return false;
	if (!ask_session(cli, at.url, at.token, &session, err))
		return err_wrap(err, "site: %s, token: %s", at.url_from, at.token_from);
	tell(cli, &at, session);
	return true;
}

/* The address that was given, or the one that would be used. */
static bool choose_url(struct cli *cli, char **words, const char **url, struct err *err)
{
	struct reach_places places;
	struct reach at;

	if (words[0])
		return login_url(cli->pool, words[0], url, err);
	if (!reach_places_get(cli->pool, &places, err) || !reach_find(cli->pool, &places, &at, err))
		return false;
	*url = at.url;
	return true;
}

static bool login(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct login_options *o = options;
	CLEANUP(json) struct json_object *session = NULL;
	const char *folder, *token;
	struct reach at = {.url_from = "asb login", .token_from = "asb login"};

	(void)nwords;
	(void)status;
	if (o->status)
		return show_status(cli, err);
	if (!choose_url(cli, words, &at.url, err) || !sync_folder(cli->pool, &folder, err) ||
		!read_token(cli->pool, &token, err) ||
		!ask_session(cli, at.url, token, &session, err) ||
		!login_store(cli->pool, folder, at.url, token, err))
		return false;
	tell(cli, &at, session);
	return true;
}

const struct verb verb_login = {
	.name = "login",
	.usage = "[URL]",
	.summary = "store a token or API key for a site, once the site has taken it",
	.about = "The token is typed, or read from standard input. It lies in\n"
		 "~/.config/agent-sandbox/logins.json, which only you can read, and goes to that\n"
		 "site alone. The site of the last login is used where ASB_URL is not set.",
	VERB_FLAGS(struct login_options, flags),
	.most = 1,
	.run = login,
};

static bool logout(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const char *folder, *url;
	struct login last;

	(void)options;
	(void)nwords;
	(void)status;
	if (!sync_folder(cli->pool, &folder, err))
		return false;
	if (words[0]) {
		if (!login_url(cli->pool, words[0], &url, err))
			return false;
	} else if (!login_find(cli->pool, folder, NULL, &last, err)) {
		return false;
	} else if (!last.url) {
		return err_set(err, ERR_NOT_FOUND, "logout: nobody is signed in");
	} else {
		url = last.url;
	}
	if (!login_forget(cli->pool, folder, url, err))
		return false;
	json_add_text(o, "url", url);
	json_add_bool(o, "signed_in", false);
	if (cli->json)
		cli_print_json(cli, o);
	else
		(void)printf("%s: the token is gone from here; a key is good until it is revoked\n",
			url);
	return true;
}

const struct verb verb_logout = {
	.name = "logout",
	.usage = "[URL]",
	.summary = "forget the token of a site",
	.about = "Without URL that of the last login. A key stays good: asb admin revoke ends it.",
	.most = 1,
	.run = logout,
};
