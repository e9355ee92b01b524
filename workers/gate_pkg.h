#pragma once
/*
 * The package routes: /pkg/npm, pypi, debian, go and maven, read-only, each to the one index that
 * the operator has set (ASB_PKG_*), and only while the box's package window is open. What an index
 * says of where its files lie is rewritten so that the box comes back through the same route.
 */
#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "err.h"
#include "gate_http.h"

struct config;
struct gate_caller;
struct gate_stream;
struct gate_target;
struct pool;

/* `map` of their rows in gate_routes.c; reasons: pkg_path, pkg_unset. */
typedef bool pkg_map(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err);
pkg_map pkg_map_npm, pkg_map_pypi, pkg_map_debian, pkg_map_go, pkg_map_maven;

/* Replaces `from` by `into` in a body that comes in pieces. */
struct rewrite {
	const char *from, *into;
	struct buf held; /* the end of what came that may be the beginning of `from` */
};
#define REWRITE_FROM_MIN 9 /* "http://a/": what is shorter is no base URL */
#define REWRITE_FROM_MAX 256
#define REWRITE_GROW 72 /* no `into` is longer than its `from` by more */
/* What a piece of n bytes may become. */
#define REWRITE_ROOM(n) ((n) + REWRITE_FROM_MAX + ((n) / REWRITE_FROM_MIN + 1) * REWRITE_GROW)

void rewrite_init(struct rewrite *r, const char *from, const char *into);
void rewrite_done(struct rewrite *r);
/* Adds the piece to out, except for what is held back. */
void rewrite_feed(struct rewrite *r, const char *data, size_t n, struct buf *out);
/* What was held back. */
void rewrite_end(struct rewrite *r, struct buf *out);

/* n more bytes are to go down to the box of this stream: false, and s->stopped says why, where its
 * budget is used up or its window closed meanwhile. */
bool pkg_goes_on(struct gate_stream *s, size_t n);
