#pragma once
/*
 * The MCP door: POST /mcp (and /mcp/), Streamable HTTP, stateless, both eras of the protocol at one
 * address. docs/mcp.md says what it does; mcp_door.h how it is built.
 */
#include <stdbool.h>

struct pool;
struct request;
struct response;
struct site;

bool mcp_is_path(const char *path);
/* The `tools` of tools/list as JSON; memory of the pool. */
const char *mcp_tools_print(struct pool *pool);
/* Fills rs, which is initialised; always answers. */
void mcp_serve(const struct site *site, struct request *rq, struct response *rs);
