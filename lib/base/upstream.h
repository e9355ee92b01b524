#pragma once
/*
 * The git hosts the operator lets tasks clone from: "NAME=URL NAME2=URL2". A repo is named
 * NAME/owner/repo, or owner/repo, which is the first host's.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct pool;

struct upstream {
	const char *name; /* as in a repo's name: "github.com" */
	const char *url;  /* where the gate goes: http(s)://..., without a slash at the end */
};
struct upstreams {
	const struct upstream *v;
	size_t n;
};

bool upstreams_parse(
	struct pool *pool, const char *text, struct upstreams *out, struct err *err) NODISCARD;
/* The host that serves this repo, and the owner/name on it; NULL where the name is malformed or
 * its host is none of ours. */
const struct upstream *upstream_match(
	const struct upstreams *list, const char *repo, const char **owner_name);
