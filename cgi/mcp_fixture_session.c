/*
 * Sessions for the scenarios of the suite that need one: production has none. The id proves itself;
 * of one that was ended a file in RUN_DIR is left. A stream that was closed in the middle is gone
 * on with by its event id, which holds the request's.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "encode.h"
#include "json.h"
#include "mcp_door.h"
#include "mcp_fixture.h"
#include "pool.h"
#include "random.h"
#include "request.h"
#include "site.h"
#include "text.h"

#define MAC_CHARS 32
#define EVENT "resume-"

static const char *mac_of(struct mcp *m, const char *id, size_t n)
{
	const struct call *c = &m->serve.call;
	unsigned char mac[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	hmac_sha256(c->site->operator_hash, sizeof(c->site->operator_hash), id, n, mac);
	hex_encode(mac, sizeof(mac), hex);
	return pool_memdup(c->pool, hex, MAC_CHARS);
}

static const char *mark_of(struct mcp *m, const char *id)
{
	return pool_printf(m->serve.call.pool, "%s/conformance-ended-%s",
		m->serve.call.site->cfg->run_dir, id);
}

static bool is_live(struct mcp *m, const char *id)
{
	size_t n = strlen(id);

	return n > MAC_CHARS && text_is_name(id) &&
	       !strcmp(id + n - MAC_CHARS, mac_of(m, id, n - MAC_CHARS)) &&
	       access(mark_of(m, id), F_OK) != 0;
}

void fixture_session_begin(struct mcp *m)
{
	char id[ID_SIZE];

	random_id(id, sizeof(id), "session-", 15);
	(void)response_header(m->serve.call.rs, "Mcp-Session-Id",
		pool_printf(m->serve.call.pool, "%s%s", id, mac_of(m, id, strlen(id))));
}

static bool end(struct mcp *m, const char *id)
{
	CLEANUP(fd) int fd = open(mark_of(m, id), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	m->kind = MCP_NOTIFICATION; /* answered without a body */
	return fd >= 0 || mcp_fault(m, 500, MCP_INTERNAL, NULL, "the session could not be ended");
}

static bool resume(struct mcp *m, const char *event)
{
	CLEANUP(buf) struct buf b = BUF_INIT(MCP_RAW_MAX + 4);

	if (!base64url_decode(event, strlen(event), &b))
		return mcp_bad_params(m, "Last-Event-ID: none of ours");
	m->call.id = pool_memdup(m->serve.call.pool, b.data, b.len);
	m->call.version = mcp_legacy_versions[0];
	m->call.tool = "test_reconnection";
	return fixture_resume(m);
}

const char *fixture_event_id(struct mcp *m)
{
	CLEANUP(buf) struct buf b = BUF_INIT(2 * MCP_RAW_MAX);

	(void)buf_adds(&b, EVENT);
	base64url_add(&b, m->call.id, strlen(m->call.id));
	return pool_memdup(m->serve.call.pool, b.data, b.len);
}

bool mcp_fixture_door(struct mcp *m, bool *ok)
{
	const struct request *rq = m->serve.call.rq;
	const char *id = request_param(rq, "HTTP_MCP_SESSION_ID"),
		   *event = request_param(rq, "HTTP_LAST_EVENT_ID");

	if (!*id)
		return false;
	if (!is_live(m, id)) {
		*ok = mcp_fault(m, 404, MCP_INVALID_REQUEST, NULL, "no such session");
		m->fault.has_id = false;
		return true;
	}
	if (!strcmp(rq->method, "DELETE"))
		*ok = end(m, id);
	else if (!strcmp(rq->method, "GET") && text_has_prefix(event, EVENT))
		*ok = resume(m, event + sizeof(EVENT) - 1);
	else
		return false;
	return true;
}
