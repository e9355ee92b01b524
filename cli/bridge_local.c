/*
 * What the site cannot do: take the working tree that is open here along. The tools that take one
 * have an argument more, and a call with it is held until a process of ours has uploaded the tree.
 */
#include "bridge.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "encode.h"
#include "json.h"
#include "pool.h"
#include "text.h"

/* The arguments that this machine adds, and to which tool. */
static const struct addition {
	const char *tool, *name, *only; /* only: its one value */
	const char *description;
} additions[] = {
	{"delegate", "source", "local",
		"local: take the working tree that is open on this machine along, with changes "
		"that are not committed and files that git does not know yet; nothing that git "
		"ignores, no credentials. Leave repos and upload out then."},
	{"create_sandbox", "sync_from", NULL,
		"A directory on this machine to copy into the sandbox, once. Only one that a "
		"person "
		"enabled with `asb init` at a terminal, or one below it."},
};
#define NADDITIONS (sizeof(additions) / sizeof(additions[0]))

static void tool_extend(struct json_object *tool)
{
	struct json_object *properties = json_get(json_get(tool, "inputSchema"), "properties");

	for (size_t i = 0; properties && i < NADDITIONS; i++) {
		const struct addition *a = &additions[i];
		struct json_object *o, *words;

		if (strcmp(cli_text(tool, "name"), a->tool) != 0)
			continue;
		o = json_new_object();
		json_add_text(o, "type", "string");
		if (a->only) {
			words = json_new_array();
			json_push_text(words, a->only);
			json_add(o, "enum", words);
		}
		json_add_text(o, "description", a->description);
		json_add(properties, a->name, o);
	}
}

const char *bridge_local_tools(struct bridge_call *c, const char *answer, size_t n)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *tools;
	struct err ignored;

	if (!json_parse(answer, n, &o, &ignored))
		return NULL;
	tools = json_get(json_get(o, "result"), "tools");
	for (size_t i = 0; i < json_count(tools); i++)
		tool_extend(json_at(tools, i));
	return json_count(tools) ? json_text(o, c->pool) : NULL;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return path && *path == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

const char *bridge_root_path(struct pool *pool, const char *uri)
{
	static const char before[] = "file://";
	const char *path = uri + sizeof(before) - 1;
	char *decoded;

	if (!text_has_prefix(uri, before))
		return NULL;
	if (text_has_prefix(path, "localhost/"))
		path += sizeof("localhost") - 1;
	decoded = pool_strdup(pool, path);
	return url_decode(decoded, false) && is_directory(decoded) ? decoded : NULL;
}

/* Our own directory, unless a client started us somewhere that is no project. */
static const char *own_directory(struct pool *pool)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *home = getenv("HOME");
	char here[PATH_MAX];

	if (!getcwd(here, sizeof(here)) || !strcmp(here, "/") || (home && !strcmp(here, home)) ||
		(pw && pw->pw_dir && !strcmp(here, pw->pw_dir)))
		return NULL;
	return pool_strdup(pool, here);
}

static const char *told_directory(void)
{
	static const char *const names[] = {"WORKSPACE_DIR", "CLAUDE_PROJECT_DIR"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_directory(getenv(names[i])))
			return getenv(names[i]);
	return NULL;
}

/* Is it a link? What a tree brings along may name one, which leads anywhere. */
static bool is_told_link(const char *told)
{
	struct stat st;

	return told && !lstat(told, &st) && S_ISLNK(st.st_mode);
}

const char *bridge_workspace(struct bridge *b, struct pool *pool)
{
	const char *told = told_directory();

	if (told)
		return told;
	return b->root ? b->root : own_directory(pool);
}

static bool fail(struct bridge_call *c, const struct err *err)
{
	bridge_put_tool_error(c, err);
	bridge_call_end(c);
	return true;
}

/* Starts packing, now that all is known that can be. Always true: the call is ours. */
static bool ship(struct bridge_call *c)
{
	struct json_object *args = json_get(json_get(c->message, "params"), "arguments");
	const char *here = bridge_workspace(c->bridge, c->pool);
	const char *from = NULL;
	struct shipment s = {.dir = here};
	struct err err;

	s.is_sync = json_get_text(args, "sync_from", &from);
	(void)json_get_text(args, "packages_from", &s.packages_from);
	if (s.is_sync)
		s.dir = *from == '/' || !here ? from : pool_printf(c->pool, "%s/%s", here, from);
	if (!s.dir) {
		(void)err_set(&err, ERR_INVALID, "no working tree is open here that is known");
		(void)err_advise(&err, "no_workspace",
			"ask the person which directory is meant, and to set WORKSPACE_DIR to it "
			"for "
			"this server");
		return fail(c, &err);
	}
	if (!s.is_sync && is_told_link(told_directory())) {
		(void)err_set(&err, ERR_FORBIDDEN, "%.200s: is a link", told_directory());
		(void)err_advise(&err, "workspace_link",
			"Set WORKSPACE_DIR (or CLAUDE_PROJECT_DIR) to the directory itself.");
		return fail(c, &err);
	}
	if (!bridge_ship(&s, &c->shipper, &c->shipped, &err))
		return fail(c, &err);
	return true;
}

bool bridge_local_begin(struct bridge_call *c)
{
	static const char ask[] =
		"{\"jsonrpc\":\"2.0\",\"id\":\"" ROOTS_ID "\",\"method\":\"roots/list\"}";
	struct bridge *b = c->bridge;
	struct json_object *args = json_get(json_get(c->message, "params"), "arguments");
	const char *value = "";
	size_t i = 0;
	struct err err;

	if (!c->id || strcmp(c->method, "tools/call") != 0 || !c->name)
		return false;
	while (i < NADDITIONS &&
		(strcmp(c->name, additions[i].tool) != 0 || !json_get(args, additions[i].name)))
		i++;
	if (i == NADDITIONS)
		return false;
	/* the site, which does not know the argument, would say that there is none */
	if (!json_get_text(args, additions[i].name, &value) ||
		(additions[i].only && strcmp(value, additions[i].only) != 0)) {
		(void)err_set(&err, ERR_INVALID, "%s: must be %s", additions[i].name,
			additions[i].only ? additions[i].only : "text");
		(void)err_advise(&err, "field", "tools/list says what it is for.");
		return fail(c, &err);
	}
	if (c->version || !b->has_roots || b->roots_known || told_directory())
		return ship(c);
	c->roots_until_ms = time_boot_ms() + b->roots_wait_ms;
	if (!b->roots_asked)
		bridge_put(b, ask, sizeof(ask) - 1);
	b->roots_asked = true;
	return true;
}

void bridge_local_rootless(struct bridge_call *c)
{
	struct err err;

	(void)err_set(&err, ERR_TIMEOUT, "the client has not said yet which directory is open");
	(void)err_advise(&err, "no_roots",
		"Call again, or ask the person to set WORKSPACE_DIR to it for this server.");
	(void)fail(c, &err);
}

void bridge_local_roots(struct bridge *b)
{
	for (struct bridge_call *c = b->calls, *next; c; c = next) {
		next = c->next;
		if (!c->roots_until_ms)
			continue;
		c->roots_until_ms = 0;
		(void)ship(c);
	}
}

/* The call as the site takes it: the upload in the place of the argument that it does not know. */
static void rewrite(struct bridge_call *c, struct json_object *shipped)
{
	struct json_object *params = json_get(c->message, "params");
	struct json_object *args = json_get(params, "arguments"), *fresh = json_new_object();
	const char *key, *dir;

	for (size_t i = 0; (key = json_key_at(args, i)); i++)
		if (strcmp(key, "source") != 0 && strcmp(key, "sync_from") != 0)
			json_add(fresh, key, json_share(json_get(args, key)));
	json_add_text(fresh, "upload", cli_text(shipped, "upload"));
	if (json_get_text(shipped, "dir", &dir) && !json_has(fresh, "dir"))
		json_add_text(fresh, "dir", dir);
	json_add(params, "arguments", fresh);
	c->body = json_text(c->message, c->pool);
}

/* The error of the process, as it was. */
static void take_error(struct json_object *e, struct err *err)
{
	(void)err_set(err, ERR_INTERNAL, "the tree could not be sent");
	for (int code = ERR_INVALID; e && code < ERR_CODE__COUNT; code++)
		if (!strcmp(cli_text(e, "code"), err_info((enum err_code)code)->name))
			(void)err_set(err, (enum err_code)code, "%s", cli_text(e, "message"));
	if (*cli_text(e, "fix"))
		(void)err_advise(err, NULL, cli_text(e, "fix"));
	if (*cli_text(json_get(e, "context"), "reason"))
		(void)err_advise(err, cli_text(json_get(e, "context"), "reason"), NULL);
}

void bridge_local_shipped(struct bridge_call *c)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct err err, ignored;

	(void)waitpid(c->shipper, NULL, 0);
	c->shipper = 0;
	(void)close(c->shipped);
	c->shipped = -1;
	if (json_parse(c->ship_reply.data, c->ship_reply.len, &reply, &ignored) &&
		*cli_text(reply, "upload")) {
		rewrite(c, reply);
		bridge_send(c);
		return;
	}
	take_error(json_get(reply, "error"), &err);
	(void)fail(c, &err);
}
