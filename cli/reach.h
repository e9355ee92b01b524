#pragma once
/*
 * Which site `asb` talks to, and with what: the one place that says so.
 *
 * The address is the first of
 *	1. ASB_URL
 *	2. the site of the last `asb login`
 *	3. the one site on this machine (deploy/stack)
 * and the token the first of
 *	1. the file that ASB_TOKEN_FILE names
 *	2. what `asb login` stored for that address
 *	3. the operator's token of a site on this machine, where this user may read it
 *	4. none
 */
#include "err.h"

struct pool;

struct reach {
	const char *url;
	const char *token; /* "": none */
	const char
		*token_file; /* where it is, for who hands it on as a path; NULL: in the logins */
	const char *url_from, *token_from; /* for people: "ASB_URL", "asb login", ... */
};

/* Where to look; all of it is found by reach_places, and given by tests. */
struct reach_places {
	const char *folder;	       /* of logins */
	const char *const *site_lists; /* folders in which sites of this machine are listed; NULL */
	const char *url, *token_file;  /* ASB_URL, ASB_TOKEN_FILE; NULL or "": unset */
};

bool reach_places_get(struct pool *pool, struct reach_places *out, struct err *err) NODISCARD;
/* ERR_INVALID where no site is known, or several are and nothing says which. */
bool reach_find(struct pool *pool, const struct reach_places *places, struct reach *out,
	struct err *err) NODISCARD;
