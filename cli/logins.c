/*
 * The file of logins: {"last":URL,"sites":{URL:{"token","since"}}}.
 */
#include "logins.h"

#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"
#include "private.h"
#include "text.h"

#define FILE_NAME "logins.json"
#define FILE_MAX (256u * 1024)

static bool is_this_machine(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(host, names[i], n) && (!host[n] || host[n] == ':' || host[n] == '/'))
			return true;
	}
	return false;
}

bool login_url(struct pool *pool, const char *given, const char **url, struct err *err)
{
	bool is_plain = text_has_prefix(given, "http://");
	const char *host = strstr(given, "://");
	size_t n = strlen(given);
	char *out;

	if (!host || !host[3] || (!is_plain && !text_has_prefix(given, "https://")) ||
		strpbrk(given, "@?# \t\r\n\"\\")) {
		(void)err_set(err, ERR_INVALID, "%.80s is no address of a site",
			strchr(given, '@') ? "that" : given);
		return err_advise(err, NULL, "it looks like https://sandbox.example.org");
	}
	if (is_plain && !is_this_machine(host + 3)) {
		(void)err_set(
			err, ERR_INVALID, "%.80s: a token is not sent over plain http", given);
		return err_advise(err, NULL, "only a site on this machine may go without https");
	}
	out = pool_strdup(pool, given);
	while (n && out[n - 1] == '/')
		out[--n] = '\0';
	*url = out;
	return true;
}

bool login_token_check(const char *token, struct err *err)
{
	size_t n = strlen(token);

	if (!n)
		return err_set(err, ERR_INVALID, "the token is empty");
	for (size_t i = 0; i < n; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return err_set(err, ERR_INVALID,
				"the token must be one line of letters, digits and signs");
	return n <= TOKEN_MAX || err_set(err, ERR_INVALID, "the token is too long");
}

/* Never NULL: an empty one where there is no file. The caller's. */
static bool logins_read(
	struct pool *pool, const char *folder, struct json_object **out, struct err *err)
{
	char *text;

	if (!private_read(pool, folder, FILE_NAME, FILE_MAX, &text, err))
		return false;
	if (!text) {
		*out = json_new_object();
		json_add(*out, "sites", json_new_object());
		return true;
	}
	if (!json_parse(text, strlen(text), out, err))
		return err_wrap(err, "%.150s/%s", folder, FILE_NAME);
	if (!json_is_object(json_get(*out, "sites")))
		json_add(*out, "sites", json_new_object());
	return true;
}

bool login_find(
	struct pool *pool, const char *folder, const char *url, struct login *out, struct err *err)
{
	CLEANUP(json) struct json_object *root = NULL;
	struct json_object *site;

	*out = (struct login){0};
	if (!logins_read(pool, folder, &root, err))
		return false;
	if (!url)
		url = cli_text(root, "last");
	site = json_get(json_get(root, "sites"), url);
	if (!site || !*cli_text(site, "token"))
		return true;
	*out = (struct login){.url = pool_strdup(pool, url),
		.token = pool_strdup(pool, cli_text(site, "token")),
		.since = pool_strdup(pool, cli_text(site, "since"))};
	return true;
}

bool login_store(
	struct pool *pool, const char *folder, const char *url, const char *token, struct err *err)
{
	CLEANUP(json) struct json_object *root = NULL;
	struct json_object *site;
	char now[TIME_TEXT_SIZE];

	if (!logins_read(pool, folder, &root, err))
		return false;
	time_text(time_now_ms(), now);
	site = json_new_object();
	json_add_text(site, "token", token);
	json_add_text(site, "since", now);
	json_add(json_get(root, "sites"), url, site);
	json_add_text(root, "last", url);
	return private_write(pool, folder, FILE_NAME, json_text(root, pool), err);
}

bool login_forget(struct pool *pool, const char *folder, const char *url, struct err *err)
{
	CLEANUP(json) struct json_object *root = NULL, *left = json_new_object();
	struct json_object *sites, *kept = json_new_object();
	const char *key;
	bool found = false;

	json_add(left, "sites", kept);
	if (!logins_read(pool, folder, &root, err))
		return false;
	sites = json_get(root, "sites");
	for (size_t i = 0; (key = json_key_at(sites, i)); i++) {
		if (strcmp(key, url) != 0)
			json_add(kept, key, json_share(json_get(sites, key)));
		else
			found = true;
	}
	if (!found)
		return err_set(err, ERR_NOT_FOUND, "%.120s: nobody is signed in there", url);
	if (strcmp(cli_text(root, "last"), url) != 0)
		json_add_text(left, "last", cli_text(root, "last"));
	return private_write(pool, folder, FILE_NAME, json_text(left, pool), err);
}
