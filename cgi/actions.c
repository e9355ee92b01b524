/*
 * THE table of actions, and docs/api.md as it is printed from it.
 */
#include "action.h"

#include <string.h>

#include "buf.h"

extern const struct action action_accepted, action_blob, action_capabilities, action_create_sandbox,
	action_delegate, action_destroy_sandbox, action_diff, action_egress, action_exec,
	action_exec_get, action_fleet, action_get_files, action_get_process_logs, action_healthz,
	action_list_files, action_log, action_log_ndjson, action_log_search, action_log_txt,
	action_login, action_logout, action_look_get, action_metrics, action_monitor,
	action_openapi, action_pool_status, action_processes, action_read_file, action_receipt,
	action_resume, action_run, action_sandboxes, action_search_files, action_session,
	action_signin_code, action_site, action_status, action_teardown, action_trace,
	action_upload, action_watch;
/* who may ask */
extern const struct action action_connect, action_consent, action_create_key, action_clients,
	action_secrets, action_secret_set, action_secret_delete, action_grants, action_keys,
	action_revoke_grant, action_revoke_key;

const struct action *const actions[] = {
	&action_delegate,
	&action_upload,
	&action_fleet,
	&action_monitor,
	&action_pool_status,
	&action_status,
	&action_watch,
	&action_trace,
	&action_egress,
	&action_resume,
	&action_teardown,
	&action_exec,
	&action_exec_get,
	&action_create_sandbox,
	&action_run,
	&action_get_process_logs,
	&action_destroy_sandbox,
	&action_sandboxes,
	&action_processes,
	&action_capabilities,
	&action_receipt,
	&action_log,
	&action_log_search,
	&action_log_txt,
	&action_log_ndjson,
	&action_list_files,
	&action_read_file,
	&action_search_files,
	&action_diff,
	&action_get_files,
	&action_look_get,
	&action_accepted,
	&action_blob,
	&action_healthz,
	&action_metrics,
	&action_session,
	&action_site,
	&action_openapi,
	&action_login,
	&action_signin_code,
	&action_logout,
	&action_create_key,
	&action_keys,
	&action_revoke_key,
	&action_clients,
	&action_secrets,
	&action_secret_set,
	&action_secret_delete,
	&action_connect,
	&action_consent,
	&action_grants,
	&action_revoke_grant,
	NULL,
};

const struct action *action_find(const char *name)
{
	for (size_t i = 0; actions[i]; i++)
		if (!strcmp(actions[i]->name, name))
			return actions[i];
	return NULL;
}

const struct action *action_find_tool(const char *name)
{
	const struct action *a = action_find(name);

	return a && a->tool.title ? a : NULL;
}

enum scope action_scope(const struct action *a)
{
	if (a->needs == NEEDS_NOBODY || a->scope)
		return a->scope;
	return a->mutates ? SCOPE_RUN_WRITE : SCOPE_RUN_READ;
}

static const char *const needs[] = {
	[NEEDS_CALLER] = "a caller",
	[NEEDS_NOBODY] = "nothing",
	[NEEDS_LOCAL] = "this machine, or a caller",
};

static const char intro[] =
	"# API\n\n"
	"Printed from the table of actions by `make docs`; a test fails where it is stale.\n\n"
	"Send `Authorization: Bearer TOKEN` with an API key or the operator's token, or sign in "
	"and "
	"send the session cookie,\n"
	"with `X-CSRF-Token` on everything that changes something (from `login`, or from the "
	"`X-CSRF-Token`\n"
	"header of any answer to a GET). Not both. Times are RFC 3339 UTC, sizes bytes, durations "
	"milliseconds.\n\n"
	"A key has a scope: `run:read`, `run:write`, or `admin`, each with those before it. Where "
	"it does not do,\n"
	"the answer is 403 `insufficient_scope` and names the one that is needed; "
	"[access.md](access.md) has the rest.\n\n"
	"Everything that changes something takes `Idempotency-Key`: the same request again under "
	"one key gets\n"
	"the first answer (`Idempotent-Replayed: true`), another request under it is refused with "
	"422.\n\n"
	"Errors are `{\"error\":{\"code\",\"message\",\"fix\",\"context\",\"request_id\"}}`:\n\n"
	"| code | status | what to do |\n|---|---|---|\n"
	"| `malformed` | 400 | not JSON, not the content type that is taken, or a token in the "
	"address |\n"
	"| `unauthenticated` | 401 | sign in |\n"
	"| `forbidden` | 403 | Host, Origin, CSRF or scope: `context.reason` says which |\n"
	"| `not_found` | 404 | there is none, or it is not yours |\n"
	"| `conflict` | 409 | the state is another: `context` says which |\n"
	"| `too_large` | 413 | send less |\n"
	"| `invalid` | 422 | mend the request; the message begins with the field |\n"
	"| `limited` | 429 | wait for `Retry-After` |\n"
	"| `internal` | 500 | our fault; tell the operator the request id |\n"
	"| `upstream` | 502 | something behind us failed |\n"
	"| `busy` | 503 | try again after `Retry-After` |\n"
	"| `timeout` | 504 | it took too long |\n";

/* What several actions answer with; made by the views of sql/migrations. A member that is not known
 * is null, never 0. */
static const char shapes[] =
	"\n## What is answered\n\n"
	"RUN: `{\"session\",\"state\",\"text\",\"turn\",\"exit_code\",\"reason\",\"detail\","
	"\"title\",\"task\",\"agent\",\"source\",\"repos\":[{\"repo\",\"host\",\"ref\",\"dir\"}],"
	"\"created_by\",\"box\":BOX,\"question\":{\"id\",\"text\",\"asked_at\"},"
	"\"usage\":{\"input_tokens\",\"output_tokens\",\"cache_read_tokens\","
	"\"cache_write_tokens\",\"cost_usd\"},\"last\":{\"kind\",\"text\",\"ts\"},"
	"\"patch\":{\"blob\",\"size_bytes\",\"files\",\"added\",\"removed\"},"
	"\"bundle\":{\"blob\",\"size_bytes\"},\"files\":[{\"blob\",\"name\",\"size_bytes\"}],"
	"\"trace_rows\",\"log_bytes\",\"log_lines\",\"created_at\",\"started_at\","
	"\"finished_at\"}`. `task` is its first 2,000 characters but for `watch`; `usage` is the "
	"sum "
	"over its turns, null where none was reported; `last` the newest line of its trace that "
	"says "
	"something (160 characters).\n\n"
	"BOX: `{\"name\",\"state\",\"reason\",\"runtime\",\"isolation\",\"image\",\"class\","
	"\"memory_bytes\",\"cpus\",\"disk_bytes\",\"guest_boot_id\",\"guest_kernel\","
	"\"created_at\",\"ready_at\",\"expires_at\",\"gone_at\"}`; in `watch` and `monitor` also "
	"`\"limits\":{\"memory_bytes\",\"cpus\",\"disk_bytes\",\"lifetime_ms\"}`, `\"readback\"` "
	"(what the kernel said of them before the box was handed out) and "
	"`\"run\":{\"session\",\"title\",\"state\"}`.\n\n"
	"EXEC: `{\"exec\",\"session\",\"state\",\"exit_code\",\"signal\",\"timed_out\",\"oom\","
	"\"stdout\",\"stderr\",\"truncated\",\"duration_ms\",\"reason\",\"created_at\","
	"\"started_at\",\"finished_at\"}`.\n\n"
	"SANDBOX: `{\"sandbox_id\",\"state\",\"status\",\"language\",\"network\","
	"\"isolation\",\"runtime\",\"image\",\"workdir\",\"limits\",\"packages\","
	"\"installed\",\"seal\",\"reason\",\"detail\",\"created_at\",\"ready_at\","
	"\"used_at\",\"expires_at\",\"gone_at\"}`; `status` is `destroyed` once it is proved "
	"gone.\n\n"
	"RESULT: `{\"sandbox_id\",\"process_id\",\"exec\",\"state\",\"stdout\",\"stderr\","
	"\"exit_code\",\"signal\",\"success\",\"timed_out\",\"oom\",\"language\","
	"\"background\",\"truncated\",\"duration_ms\",\"timeout_ms\",\"code_sha256\","
	"\"checks\",\"reason\",\"created_at\",\"started_at\",\"finished_at\"}`. stdout and stderr "
	"end after "
	"20,000 characters with a mark. A program's own exit code is a result: `success` is null "
	"while it runs. `checks` is null, or what its output says of tests: "
	"`{\"framework\",\"passed\",\"failed\",\"skipped\","
	"\"failures\":[{\"name\",\"message\"}]}`.\n\n"
	"KEY: `{\"key_id\",\"title\",\"prefix\",\"scopes\",\"state\",\"created_by\","
	"\"created_at\",\"expires_at\",\"last_used_at\",\"last_used_address\","
	"\"last_used_client\"}`; `state` is active, expired or revoked; `prefix` is the key's "
	"beginning.\n\n"
	"GRANT: `{\"grant_id\",\"client_id\",\"title\",\"redirect_uri\",\"scopes\","
	"\"resource\",\"created_at\",\"last_used_at\",\"last_used_address\","
	"\"last_used_client\"}`.\n\n"
	"LOOK: `{\"look\",\"op\",\"state\",\"sandbox_id\",\"session\"}` and, once `state` is "
	"`done`, what each action names; looking.md has the limits.\n";

void actions_print(struct buf *b)
{
	(void)buf_adds(b, intro);
	(void)buf_adds(b, shapes);
	for (size_t i = 0; actions[i]; i++) {
		const struct action *a = actions[i];

		(void)buf_addf(b, "\n## %s %s\n\n`%s`: %s\n\nNeeds %s", a->method, a->path, a->name,
			a->summary, needs[a->needs]);
		if (action_scope(a))
			(void)buf_addf(b, " with `%s`", scope_name(action_scope(a)));
		(void)buf_addc(b, '.');
		if (a->type)
			(void)buf_addf(b, " Body: `%s`%s.", a->type,
				a->streams ? "; fields by the query string" : "");
		(void)buf_addf(b, " Answers %s.\n", a->answers);
		if (a->nfields) {
			(void)buf_addc(b, '\n');
			field_print(b, a->fields, a->nfields);
		}
	}
}
