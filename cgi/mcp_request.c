/*
 * A JSON-RPC message, its era and its version. The body decides the era: a header alone may come
 * from a proxy. All of it is hostile; what is not clearly right is refused with what is wrong.
 */
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "json_scan.h"
#include "mcp_door.h"
#include "pool.h"
#include "request.h"
#include "router.h"
#include "text.h"

#define VERSION_KEY MCP_META("protocolVersion")
#define CAPABILITIES_KEY MCP_META("clientCapabilities")
/* What a client that says nothing has: the header came with 2025-06-18. */
#define ASSUMED_VERSION "2025-03-26"

const char *const mcp_legacy_versions[] = {
	"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", NULL};

static bool is_legacy_version(const char *version)
{
	for (size_t i = 0; mcp_legacy_versions[i]; i++)
		if (!strcmp(mcp_legacy_versions[i], version))
			return true;
	return false;
}

static bool read_body(struct mcp *m)
{
	struct serve *s = &m->serve;
	struct err err;

	if (!request_body(s->call.rq, ROUTER_BODY_MAX, &s->body, &s->body_n, &err)) {
		(void)mcp_fault_err(m, err_info(err.code)->http, &err);
		return false;
	}
	if (!json_parse(s->body, s->body_n, &m->body, &err))
		return mcp_fault(m, 400, MCP_PARSE, NULL, "%s", err.msg);
	if (json_count(m->body) || !json_is_object(m->body))
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, NULL,
			"the body must be one JSON-RPC message, an object; batches are not taken");
	return true;
}

/* The id is echoed as it was written, which a parser's copy of it need not be. */
static bool read_id(struct mcp *m)
{
	struct json_object *id = json_get(m->body, "id");
	const char *text;
	const char *at = NULL;
	int64_t number;
	size_t n = 0;

	if (!json_as_text(id, &text) && !json_as_i64(id, &number))
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, NULL,
			"id: must be text or a whole number, not null");
	if (!json_scan_member(m->serve.body, m->serve.body_n, "id", &at, &n))
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, NULL,
			"id: the member's name must be written without escapes");
	if (n > MCP_RAW_MAX)
		return mcp_fault(
			m, 400, MCP_INVALID_REQUEST, NULL, "id: longer than %d bytes", MCP_RAW_MAX);
	m->call.id = pool_memdup(m->serve.call.pool, at, n);
	return true;
}

static bool read_token(struct mcp *m)
{
	struct json_object *token = json_get(m->meta, "progressToken");
	const char *text;
	int64_t number;

	if (!token)
		return true;
	if (!json_as_text(token, &text) && !json_as_i64(token, &number))
		return mcp_fault(m, 400, MCP_INVALID_PARAMS, NULL,
			"_meta.progressToken: must be text or a whole number");
	m->call.token = json_text(token, m->serve.call.pool);
	if (strlen(m->call.token) > MCP_RAW_MAX)
		return mcp_fault(m, 400, MCP_INVALID_PARAMS, NULL,
			"_meta.progressToken: longer than %d bytes", MCP_RAW_MAX);
	return true;
}

bool mcp_request_read(struct mcp *m)
{
	const char *version = "";
	bool has_id;

	if (!read_body(m))
		return false;
	has_id = json_has(m->body, "id");
	if (has_id && !read_id(m))
		return false;
	if (!json_get_text(m->body, "jsonrpc", &version) || strcmp(version, "2.0") != 0)
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, NULL, "jsonrpc: must be \"2.0\"");
	if (!json_has(m->body, "method") && has_id &&
		(json_has(m->body, "result") || json_has(m->body, "error"))) {
		m->kind = MCP_RESPONSE;
		m->method = "";
		return true;
	}
	if (!json_get_text(m->body, "method", &m->method) || !*m->method)
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, NULL, "method: must be text");
	m->kind = has_id ? MCP_REQUEST : MCP_NOTIFICATION;
	m->params = json_get(m->body, "params");
	if (m->params && !json_is_object(m->params))
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, NULL, "params: must be an object");
	m->meta = json_get(m->params, "_meta");
	if (m->meta && !json_is_object(m->meta))
		return mcp_fault(
			m, 400, MCP_INVALID_PARAMS, NULL, "params._meta: must be an object");
	return read_token(m);
}

/* A date as the protocol's versions are named by. */
static bool is_date(const char *s)
{
	return strlen(s) == 10 && strspn(s, "0123456789-") == 10 && s[4] == '-' && s[7] == '-';
}

static struct json_object *supported(struct pool *pool, const char *requested)
{
	struct json_object *data = json_new_object(), *list = json_new_array();

	json_push_text(list, MCP_MODERN_VERSION);
	json_add(data, "supported", list);
	json_add_text(data, "requested", pool_strdup(pool, requested));
	return data;
}

/* Without the white space around it, which HTTP lets be there. */
static const char *trim(struct pool *pool, const char *value)
{
	size_t n;

	value += strspn(value, " \t");
	n = strlen(value);
	while (n && strchr(" \t", value[n - 1]))
		n--;
	return pool_memdup(pool, value, n);
}

const char *mcp_header_decode(struct pool *pool, const char *value)
{
	static const char before[] = "=?base64?", after[] = "?=";
	const char *trimmed = trim(pool, value);
	size_t n = strlen(trimmed), around = sizeof(before) - 1 + sizeof(after) - 1;
	CLEANUP(buf) struct buf b = BUF_INIT(65536);

	if (!text_has_prefix(trimmed, before) || n < around ||
		strcmp(trimmed + n - (sizeof(after) - 1), after) != 0)
		return trimmed;
	if (!base64_decode(trimmed + sizeof(before) - 1, n - around, &b))
		return NULL;
	return pool_memdup(pool, b.data, b.len);
}

static bool mismatch(struct mcp *m, const char *header, const char *what)
{
	return mcp_fault(m, 400, MCP_HEADER_MISMATCH, NULL, "%s: %s", header, what);
}

static bool check_headers(struct mcp *m, const char *version, const char *named)
{
	const struct request *rq = m->serve.call.rq;
	struct pool *pool = m->serve.call.pool;
	const char *value, *in_body = NULL;

	if (!*rq->mcp_version)
		return mismatch(m, "MCP-Protocol-Version", "the header is missing");
	if (strcmp(trim(pool, rq->mcp_version), version) != 0)
		return mismatch(m, "MCP-Protocol-Version",
			"the header and params._meta name different versions");
	if (!*rq->mcp_method)
		return mismatch(m, "Mcp-Method", "the header is missing");
	if (strcmp(trim(pool, rq->mcp_method), m->method) != 0)
		return mismatch(m, "Mcp-Method", "the header is not the body's method");
	if (!named || m->kind != MCP_REQUEST || !json_get_text(m->params, named, &in_body))
		return true;
	if (!*rq->mcp_name)
		return mismatch(m, "Mcp-Name", "the header is missing");
	value = mcp_header_decode(pool, rq->mcp_name);
	if (!value)
		return mismatch(m, "Mcp-Name", "not base64");
	if (strcmp(value, in_body) != 0)
		return mismatch(m, "Mcp-Name", "the header is not what the body names");
	return true;
}

static bool check_modern(struct mcp *m, const char *named)
{
	const char *version;

	m->call.era = MCP_MODERN;
	m->call.version = MCP_MODERN_VERSION;
	if (m->kind == MCP_RESPONSE)
		return true;
	if (!json_get_text(m->meta, VERSION_KEY, &version))
		return mcp_fault(m, 400, MCP_INVALID_PARAMS, NULL,
			"params._meta: " VERSION_KEY " is missing or no text");
	m->capabilities = json_get(m->meta, CAPABILITIES_KEY);
	if (!json_is_object(m->capabilities))
		return mcp_fault(m, 400, MCP_INVALID_PARAMS, NULL,
			"params._meta: " CAPABILITIES_KEY " is missing or no object");
	if (!check_headers(m, version, named))
		return false;
	if (strcmp(version, MCP_MODERN_VERSION) != 0)
		return mcp_fault(m, 400, MCP_VERSION_UNSUPPORTED,
			supported(m->serve.call.pool, version),
			"this version of the protocol is not served here");
	return true;
}

bool mcp_request_check(struct mcp *m, const char *named)
{
	const char *header = trim(m->serve.call.pool, m->serve.call.rq->mcp_version);

	if (json_has(m->meta, VERSION_KEY) ||
		(is_date(header) && strcmp(header, MCP_MODERN_VERSION) >= 0))
		return check_modern(m, named);
	m->call.era = MCP_LEGACY;
	m->call.version = ASSUMED_VERSION;
	/* a handshake names its version in the body */
	if (!*header || !strcmp(m->method, "initialize"))
		return true;
	if (!is_legacy_version(header))
		return mcp_fault(m, 400, MCP_INVALID_REQUEST, supported(m->serve.call.pool, header),
			"MCP-Protocol-Version: this version of the protocol is not served here");
	m->call.version = pool_strdup(m->serve.call.pool, header);
	return true;
}
