/*
 * Resources: what a sandbox can be, and of each run itself, its log, its diff and its files. A run
 * that is not the caller's is not there.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "text.h"

#define RUNS "asb://runs/"
#define BLOBS "asb://blobs/"
#define CAPABILITIES "asb://capabilities"
/* Of a log or a diff; whatever is longer is downloaded. */
#define TEXT_MAX (4u << 20)
#define LOG_LINES 5000
#define NAMED_SIZE 80

typedef bool read_fn(struct mcp *m, const char *session, struct json_object *content);

static struct json_object *resource(const char *key, const char *uri, const char *name,
	const char *title, const char *description, const char *type)
{
	struct json_object *o = json_new_object();

	json_add_text(o, key, uri);
	json_add_text(o, "name", name);
	json_add_text(o, "title", title);
	json_add_text(o, "description", description);
	json_add_text(o, "mimeType", type);
	return o;
}

bool mcp_resources_list(struct mcp *m)
{
	CLEANUP(json) struct json_object *fleet = NULL;
	struct pool *pool = m->serve.call.pool;
	struct json_object *list, *runs;

	if (!mcp_one_page(m) || !mcp_read(m, "fleet", json_new_object(), &fleet))
		return false;
	list = json_new_array();
	json_push(list, resource("uri", CAPABILITIES, "capabilities", "Capabilities",
				"What a sandbox can be, its limits, and what is not claimed of it.",
				"application/json"));
	runs = json_get(fleet, "runs");
	for (size_t i = 0; i < json_count(runs); i++) {
		const char *session = "", *title = NULL, *text = "";

		(void)json_get_text(json_at(runs, i), "session", &session);
		(void)json_get_text(json_at(runs, i), "title", &title);
		(void)json_get_text(json_at(runs, i), "text", &text);
		json_push(list, resource("uri", pool_printf(pool, RUNS "%s", session), session,
					title, text, "application/json"));
	}
	m->result = json_new_object();
	json_add(m->result, "resources", list);
	return true;
}

static bool read_run(struct mcp *m, const char *session, struct json_object *content)
{
	CLEANUP(json) struct json_object *run = NULL;

	if (!mcp_read_one(m, "watch", "session", session, &run))
		return false;
	json_add_text(content, "text", json_text(run, m->serve.call.pool));
	return true;
}

/* The lines from *from on that fit; *from is the first that was not read, or the last again where
 * it has not ended yet. */
static bool add_lines(
	struct mcp *m, const char *session, int64_t *from, int64_t *total, struct buf *out)
{
	CLEANUP(json) struct json_object *log = NULL;
	struct json_object *args = json_new_object(), *lines;

	json_add_text(args, "session", session);
	json_add_i64(args, "from", *from);
	json_add_i64(args, "limit", LOG_LINES);
	if (!mcp_read(m, "log", args, &log))
		return false;
	(void)json_get_i64(log, "total_lines", total);
	lines = json_get(log, "lines");
	for (size_t i = 0; i < json_count(lines); i++) {
		const char *text = "";

		(void)json_get_text(json_at(lines, i), "text", &text);
		if (out->len + strlen(text) + 1 > TEXT_MAX)
			return true;
		(void)buf_adds(out, text);
		(void)buf_addc(out, '\n');
		(void)json_get_i64(json_at(lines, i), "n", from);
		++*from;
	}
	return true;
}

static bool read_log(struct mcp *m, const char *session, struct json_object *content)
{
	CLEANUP(buf) struct buf b = BUF_INIT(TEXT_MAX + 200);
	int64_t from = 0, total = 0, before;

	do {
		before = from;
		if (!add_lines(m, session, &from, &total, &b))
			return false;
	} while (from > before && from < total);
	if (from < total)
		(void)buf_addf(&b,
			"[the first %lld of %lld lines; the whole log: GET /log.txt?session=%s]\n",
			(long long)from, (long long)total, session);
	json_add_text_n(content, "text", b.data, b.len);
	return true;
}

/* A patch, a bundle, a produced file or a tar: for whoever has no other way to this site. */
static bool read_blob(struct mcp *m, const char *name, struct json_object *content)
{
	CLEANUP(buf) struct buf b = BUF_INIT(TEXT_MAX), encoded = BUF_INIT(2 * TEXT_MAX);

	if (!mcp_read_blob(m, name, &b))
		return false;
	if (text_is_utf8(b.data, b.len)) {
		json_add_text_n(content, "text", b.data, b.len);
		return true;
	}
	base64_add(&encoded, b.data, b.len);
	json_add_text_n(content, "blob", encoded.data, encoded.len);
	return true;
}

static bool read_diff(struct mcp *m, const char *session, struct json_object *content)
{
	CLEANUP(json) struct json_object *run = NULL;
	const char *blob;

	if (!mcp_read_one(m, "watch", "session", session, &run))
		return false;
	if (!json_get_text(json_get(run, "patch"), "blob", &blob))
		return mcp_bad_params(
			m, "this run has no patch yet: call diff for its box as it is");
	return read_blob(m, blob, content);
}

static bool read_files(struct mcp *m, const char *session, struct json_object *content)
{
	CLEANUP(json) struct json_object *run = NULL, *o = json_new_object();
	static const char *const members[] = {"files", "patch", "bundle"};

	if (!mcp_read_one(m, "watch", "session", session, &run))
		return false;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		json_add(o, members[i], json_share(json_get(run, members[i])));
	json_add_text(o, "download", "read the resource asb://blobs/BLOB, or GET /blob?name=BLOB");
	json_add_text(content, "text", json_text(o, m->serve.call.pool));
	return true;
}

static bool read_capabilities(struct mcp *m, const char *session, struct json_object *content)
{
	CLEANUP(json) struct json_object *o = NULL;

	(void)session;
	if (!mcp_read(m, "capabilities", json_new_object(), &o))
		return false;
	json_add_text(content, "text", json_text(o, m->serve.call.pool));
	return true;
}

/* Where what is named in the URI stands, and what comes before and after it. */
static const struct template
{
	const char *before, *key, *after, *name, *title, *description, *type;
	read_fn *read;
}
templates[] = {
	{RUNS, "session", "", "run", "A run",
		"A run as it is now: state, turns, questions, box, end of its trace.",
		"application/json", read_run},
	{RUNS, "session", "/log", "log", "A run's log",
		"What a run has written: all of it, or its first 4 MiB.", "text/plain", read_log},
	{RUNS, "session", "/diff", "diff", "A run's diff",
		"What a run has changed, as a unified patch.", "text/x-diff", read_diff},
	{RUNS, "session", "/files", "files", "A run's files", "What can be downloaded of a run.",
		"application/json", read_files},
	{BLOBS, "blob", "", "blob", "A download",
		"A patch, a bundle, a produced file or a tar of get_files, up to 4 MiB.",
		"application/octet-stream", read_blob},
};
#define TEMPLATES (sizeof(templates) / sizeof(templates[0]))

bool mcp_resources_templates(struct mcp *m)
{
	struct json_object *list;

	if (!mcp_one_page(m))
		return false;
	list = json_new_array();
	for (size_t i = 0; i < TEMPLATES; i++) {
		const struct template *t = &templates[i];

		json_push(list, resource("uriTemplate",
					pool_printf(m->serve.call.pool, "%s{%s}%s", t->before,
						t->key, t->after),
					t->name, t->title, t->description, t->type));
	}
	m->result = json_new_object();
	json_add(m->result, "resourceTemplates", list);
	return true;
}

/* Is it this template's, and what is named in it? */
static bool matches(const struct template *t, const char *uri, char named[NAMED_SIZE])
{
	size_t n;

	if (!text_has_prefix(uri, t->before))
		return false;
	uri += strlen(t->before);
	n = strcspn(uri, "/");
	if (!n || n >= NAMED_SIZE || strcmp(uri + n, t->after) != 0)
		return false;
	(void)snprintf(named, NAMED_SIZE, "%.*s", (int)n, uri);
	return text_is_name(named);
}

/* What reads the URI, and what is named in it. */
static read_fn *find(const char *uri, char named[NAMED_SIZE], const char **type)
{
	*type = "application/json";
	named[0] = '\0';
	if (!strcmp(uri, CAPABILITIES))
		return read_capabilities;
	for (size_t i = 0; i < TEMPLATES; i++)
		if (matches(&templates[i], uri, named)) {
			*type = templates[i].type;
			return templates[i].read;
		}
	return NULL;
}

static bool not_found(struct mcp *m, const char *uri)
{
	struct json_object *data = json_new_object();

	json_add_text(data, "uri", uri);
	return mcp_fault(m, 200, MCP_INVALID_PARAMS, data,
		"no such resource: resources/list and resources/templates/list say which there "
		"are");
}

bool mcp_resources_read(struct mcp *m)
{
	struct json_object *content, *contents;
	const char *uri, *type;
	char named[NAMED_SIZE];
	read_fn *read;

	if (!mcp_param(m, "uri", &uri))
		return false;
	read = find(uri, named, &type);
	if (!read)
		return not_found(m, uri);
	content = json_new_object();
	json_add_text(content, "uri", uri);
	json_add_text(content, "mimeType", type);
	if (!read(m, named, content)) {
		json_free(content);
		return m->fault.code == err_info(ERR_NOT_FOUND)->jsonrpc ? not_found(m, uri)
									 : false;
	}
	contents = json_new_array();
	json_push(contents, content);
	m->result = json_new_object();
	json_add(m->result, "contents", contents);
	return true;
}
