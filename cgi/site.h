#pragma once
/*
 * What a web process has for its whole life: settings, its database connection, and what is worked
 * out from the settings once.
 */
#include "upstream.h"

struct config;
struct db;
struct err;
struct pool;

struct site {
	const struct config *cfg;
	struct db *db;
	unsigned char operator_hash[32];
	struct upstreams upstreams;
	/* mcp_tools_print's, made once for all processes: the same for everybody */
	const char *tools;
};

/* ERR_INVALID where the settings do not do: no operator token, odd git upstreams. */
bool site_init(struct site *site, struct pool *pool, const struct config *cfg, struct db *db,
	const char *tools, struct err *err) NODISCARD;
