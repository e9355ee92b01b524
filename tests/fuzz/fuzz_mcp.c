/*
 * MCP messages under any bytes, each once as it is and once with the headers of the modern era; the
 * first bytes say which version the header names. Besides what the sanitizers see: a request that
 * is taken has an id that is JSON of its own and stands in the body as it is, and a refusal says
 * why; a call that goes to asb-live comes back as it went.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* The door's own are in mcp.c, which needs a database. */
bool mcp_fault(
	struct mcp *m, int status, int code, struct json_object *data_taken, const char *fmt, ...)
{
	va_list ap;

	must(status == 400 && code < 0);
	json_free(data_taken);
	va_start(ap, fmt);
	must(vsnprintf(m->fault.message, sizeof(m->fault.message), fmt, ap) > 0);
	va_end(ap);
	return false;
}

bool mcp_fault_err(struct mcp *m, int status, const struct err *err)
{
	(void)m;
	must(status >= 400 && err->code != ERR_NONE);
	return false;
}

static void check_taken(struct mcp *m, struct pool *pool)
{
	CLEANUP(json) struct json_object *id = NULL;
	CLEANUP(buf) struct buf b = BUF_INIT(8192);
	struct mcp_call back;
	struct err err;

	must(m->call.version && *m->call.version && m->method && *m->method);
	must(strlen(m->call.id) <= MCP_RAW_MAX);
	must(json_parse(m->call.id, strlen(m->call.id), &id, &err));
	must(memmem(m->serve.body, m->serve.body_n, m->call.id, strlen(m->call.id)) != NULL);
	m->call.tool = "run";
	mcp_call_print(&b, &m->call);
	must(mcp_call_parse(pool, b.data, &back, &err));
	must(!strcmp(back.id, m->call.id) && back.era == m->call.era);
	must(!back.token == !m->call.token);
}

static void read_message(const char *const *headers, const char *body, size_t n)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct mcp m = {0};
	struct request rq;
	struct err err;

	must(request_from_memory(&rq, pool, "POST", "/mcp", headers, body, n, &err));
	m.serve.call.rq = &rq;
	m.serve.call.pool = pool;
	if (mcp_request_read(&m) && mcp_request_check(&m, "name") && m.kind == MCP_REQUEST)
		check_taken(&m, pool);
	json_free(m.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const versions[] = {"MCP-Protocol-Version: 2026-07-28",
		"MCP-Protocol-Version: 2025-11-25", "MCP-Protocol-Version: x"};
	const char *plain[] = {NULL}, *modern[5] = {NULL};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct mcp_call call;
	const char *body;
	struct err err;

	if (!n)
		return 0;
	body = pool_memdup(pool, data + 1, n - 1);
	modern[0] = versions[data[0] % 3];
	modern[1] = "Mcp-Method: tools/call";
	modern[2] = data[0] & 4 ? "Mcp-Name: =?base64?cnVu?=" : "Mcp-Name: run";
	read_message(plain, body, n - 1);
	read_message(modern, body, n - 1);
	(void)mcp_call_parse(pool, body, &call, &err);
	return 0;
}
