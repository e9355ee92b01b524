/*
 * Actions that read, done for a resource, a prompt or a completion: the same rows of the same
 * account as by their own routes.
 */
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "field.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "response.h"

static bool perform(struct mcp *m, const char *action, struct json_object *args)
{
	struct serve *s = &m->serve;
	struct err err = {0};

	s->action = action_find(action);
	s->input = pool_alloc(s->call.pool, s->action->input_size);
	if (serve_may(s, &err) &&
		field_from_json(s->action->fields, s->action->nfields, args, s->call.pool, s->input,
			&err) &&
		serve_run(s, &err))
		return true;
	return mcp_fault_err(m, 200, &err);
}

bool mcp_read(
	struct mcp *m, const char *action, struct json_object *args_taken, struct json_object **out)
{
	CLEANUP(json) struct json_object *args = args_taken;
	const struct response *rs = m->serve.call.rs;
	struct err err;

	if (!perform(m, action, args))
		return false;
	return json_parse_ours(rs->body.data, rs->body.len, out, &err) ||
	       mcp_fault_err(m, 200, &err);
}

bool mcp_read_one(struct mcp *m, const char *action, const char *name, const char *value,
	struct json_object **out)
{
	struct json_object *args = json_new_object();

	json_add_text(args, name, value);
	return mcp_read(m, action, args, out);
}

static bool add(void *arg, const void *data, size_t n)
{
	return buf_add(arg, data, n);
}

bool mcp_read_blob(struct mcp *m, const char *name, struct buf *out)
{
	struct response *rs = m->serve.call.rs;
	CLEANUP(json) struct json_object *args = json_new_object();
	bool whole;

	json_add_text(args, "name", name);
	if (!perform(m, "blob", args))
		return false;
	whole = rs->stream_size <= (int64_t)out->max && rs->stream(rs->stream_arg, add, out);
	rs->stream = NULL;
	buf_reset(&rs->headers);
	return whole || mcp_fault(m, 200, MCP_INVALID_PARAMS, NULL,
				"larger than is read here: GET /blob?name=%s has it", name);
}
