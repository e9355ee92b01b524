/*
 * The site and its token, by the order of reach.h. Sites of this machine are known by the lists
 * that deploy/stack keeps: a list is believed where root or this user alone can write it.
 */
#include "reach.h"

#include <sys/stat.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "logins.h"
#include "pool.h"
#include "sync_allow.h"
#include "text.h"

#define CLAIM_MAX 4096

/* A site of this machine, as its claim says. */
struct claim {
	const char *url, *state;
};

bool reach_places_get(struct pool *pool, struct reach_places *out, struct err *err)
{
	const char **lists = POOL_ARRAY(pool, const char *, 3);
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	*out = (struct reach_places){.site_lists = lists,
		.url = getenv("ASB_URL"),
		.token_file = getenv("ASB_TOKEN_FILE")};
	lists[0] = "/var/lib/agent-sandbox/sites";
	if (state && *state == '/')
		lists[1] = pool_printf(pool, "%s/agent-sandbox/sites", state);
	else if (home && *home == '/')
		lists[1] = pool_printf(pool, "%s/.local/state/agent-sandbox/sites", home);
	return sync_folder(pool, &out->folder, err);
}

static bool is_trusted(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && !S_ISLNK(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH);
}

/* The value of KEY in its lines; NULL: none. */
static const char *claim_value(struct pool *pool, const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, key, n) && line[n] == '=')
			return pool_memdup(pool, line + n + 1, strcspn(line, "\n") - n - 1);
	return NULL;
}

static bool claim_read(struct pool *pool, const char *path, struct claim *out)
{
	const char *port, *state;
	struct err ignored;
	int64_t number;
	char *text;

	if (!is_trusted(path) || !cli_read_file(pool, path, CLAIM_MAX, &text, &ignored))
		return false;
	port = claim_value(pool, text, "PORT");
	state = claim_value(pool, text, "STATE");
	if (!port || !state || !text_to_i64(port, 1, 65535, &number))
		return false;
	*out = (struct claim){
		.url = pool_printf(pool, "http://127.0.0.1:%d", (int)number), .state = state};
	return true;
}

/* The claims of a list: those at url, or all where url is NULL. *n counts them; *last is one. */
static void claims_look(
	struct pool *pool, const char *list, const char *url, size_t *n, struct claim *last)
{
	DIR *dir = is_trusted(list) ? opendir(list) : NULL;
	struct claim c;

	for (struct dirent *d; dir && (d = readdir(dir));) {
		size_t len = strlen(d->d_name);

		if (len < 5 || strcmp(d->d_name + len - 5, ".site") != 0 ||
			!claim_read(pool, pool_printf(pool, "%s/%s", list, d->d_name), &c) ||
			(url && strcmp(url, c.url) != 0))
			continue;
		*last = c;
		++*n;
	}
	if (dir)
		(void)closedir(dir);
}

static size_t claims_find(
	struct pool *pool, const struct reach_places *places, const char *url, struct claim *last)
{
	size_t n = 0;

	for (const char *const *list = places->site_lists; list && *list; list++)
		claims_look(pool, *list, url, &n, last);
	return n;
}

static bool find_url(
	struct pool *pool, const struct reach_places *places, struct reach *out, struct err *err)
{
	struct claim claim = {0};
	struct login login;
	size_t n;

	if (places->url && *places->url) {
		out->url_from = "ASB_URL";
		return login_url(pool, places->url, &out->url, err) || err_wrap(err, "ASB_URL");
	}
	if (!login_find(pool, places->folder, NULL, &login, err))
		return false;
	if (login.url) {
		out->url = login.url;
		out->url_from = "asb login";
		return true;
	}
	n = claims_find(pool, places, NULL, &claim);
	if (n == 1) {
		out->url = claim.url;
		out->url_from = "the site on this machine";
		return true;
	}
	(void)err_set(err, ERR_INVALID,
		n ? "there are several sites on this machine, and nothing says which"
		  : "ASB_URL is not set, nobody is signed in, and no site is on this machine");
	return err_advise(err, "no_site",
		n ? "export ASB_URL (`deploy/stack status` prints yours), or asb login URL"
		  : "asb login URL, or export ASB_URL=http://127.0.0.1:8380, or start one here: "
		    "deploy/stack up");
}

static bool take_file(
	struct pool *pool, const char *path, const char *from, struct reach *out, struct err *err)
{
	char *token;

	if (!cli_read_file(pool, path, TOKEN_MAX, &token, err))
		return err_wrap(err, "%s", from);
	if (*token && !login_token_check(token, err))
		return err_wrap(err, "%s", from);
	out->token = token;
	out->token_file = path;
	out->token_from = from;
	return true;
}

bool reach_find(
	struct pool *pool, const struct reach_places *places, struct reach *out, struct err *err)
{
	struct claim claim = {0};
	struct login login;
	const char *path;

	*out = (struct reach){.token = "", .token_from = "nothing"};
	if (!find_url(pool, places, out, err))
		return false;
	if (places->token_file && *places->token_file)
		return take_file(pool, places->token_file, "ASB_TOKEN_FILE", out, err);
	if (!login_find(pool, places->folder, out->url, &login, err))
		return false;
	if (login.url) {
		out->token = login.token;
		out->token_from = "asb login";
		return true;
	}
	if (claims_find(pool, places, out->url, &claim) != 1)
		return true;
	path = pool_printf(pool, "%s/secrets/operator.token", claim.state);
	if (access(path, R_OK))
		return true;
	return take_file(pool, path, "the operator's token of this machine's site", out, err);
}
