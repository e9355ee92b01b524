#pragma once
/*
 * Which git trees a task gets: those that are named in the request, or else those that its text
 * names by a host the operator allows.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct pool;
struct upstreams;

struct repo_input {
	const char *repo; /* owner/name, or host/owner/name */
	const char *ref;
	const char *dir;
};

/* The JSON for the run's row, [{"repo","host","ref","dir"}]; NULL for an empty list. ERR_INVALID
 * with reason "unknown_repo" naming what is possible. */
bool repos_json(struct pool *pool, const struct upstreams *upstreams, const struct repo_input *in,
	size_t n, const char **out, struct err *err) NODISCARD;
/* The repos that text names as HOST/owner/name, at most REPOS_MAX, each once. */
#define REPOS_MAX 8
size_t repos_infer(struct pool *pool, const struct upstreams *upstreams, const char *text,
	struct repo_input out[REPOS_MAX]);
