/*
 * asb files, asb diff: what is in a box, without running anything there. What a box says is made
 * fit for a terminal; into a file or a pipe go the bytes as they are.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "encode.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "verbs.h"

extern const struct verb verb_files;

struct files_options {
	const char *depth, *output;
	bool ignore_case;
};

static const struct flag flags[] = {
	FLAG(TEXT, struct files_options, depth, .letter = 'd', .value = "N",
		.help = "list: levels of the folder (default: 1)"),
	FLAG(BOOL, struct files_options, ignore_case, .letter = 'i', .help = "search: in any case"),
	FLAG(TEXT, struct files_options, output, .letter = 'o', .value = "FILE",
		.help = "get: where the tar goes"),
};

/* /path.json?session=.. or ?sandbox_id=.., by what the name looks like. */
static const char *box_query(struct cli *cli, const char *path, const char *box)
{
	return cli_query(cli->pool, path, strncmp(box, "run-", 4) ? "sandbox_id" : "session", box);
}

static const char *query_add(struct cli *cli, const char *query, const char *key, const char *value)
{
	CLEANUP(buf) struct buf b = BUF_INIT(16384);

	if (!value)
		return query;
	(void)buf_addf(&b, "%s&%s=", query, key);
	url_add(&b, value);
	return pool_strdup(cli->pool, b.data);
}

/* Asks, and asks again for what is not there in time. */
static bool look(struct cli *cli, const char *query, struct json_object **reply, struct err *err)
{
	if (!cli_connect(cli, err) ||
		!http_get_json(cli->http, query_add(cli, query, "wait_ms", "50000"), reply, err))
		return false;
	while (!strcmp(cli_text(*reply, "state"), "queued")) {
		const char *again =
			cli_query(cli->pool, "/look.json", "look", cli_text(*reply, "look"));

		json_free(*reply);
		*reply = NULL;
		if (!http_get_json(cli->http, again, reply, err))
			return false;
	}
	return true;
}

static bool list(struct cli *cli, const struct files_options *o, char **args, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	const char *query = box_query(cli, "/list_files.json", args[0]);
	struct json_object *entries;
	bool truncated = false;
	int64_t size;

	query = query_add(cli, query, "path", args[1]);
	query = query_add(cli, query, "depth", o->depth);
	if (!look(cli, query_add(cli, query, "limit", "1000"), &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	entries = json_get(reply, "entries");
	for (size_t i = 0; i < json_count(entries); i++) {
		struct json_object *e = json_at(entries, i);
		const char *target = cli_text(e, "target");

		size = 0;
		(void)json_get_i64(e, "size", &size);
		(void)printf("%-7s %10lld  %s%s%s\n", cli_sane(cli->pool, cli_text(e, "kind")),
			(long long)size, cli_line(cli->pool, cli_text(e, "path")),
			*target ? " -> " : "", cli_line(cli->pool, target));
	}
	if (json_get_i64(reply, "next_offset", &size) ||
		(json_get_bool(reply, "truncated", &truncated) && truncated))
		cli_say("there is more: name a folder in it");
	return true;
}

static bool read_piece(struct cli *cli, struct json_object *reply, FILE *to, struct err *err)
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(1u << 20);
	const char *text = cli_text(reply, "content");

	if (!base64_decode(text, strlen(text), &bytes))
		return err_set(err, ERR_UPSTREAM, "the site's answer is not base64");
	if (isatty(fileno(to))) {
		(void)fputs(cli_sane(cli->pool, bytes.data), to);
		return true;
	}
	return fwrite(bytes.data, 1, bytes.len, to) == bytes.len ||
	       err_errno(err, ERR_INTERNAL, "write");
}

static bool read_all(struct cli *cli, const struct files_options *o, char **args, struct err *err)
{
	const char *query =
		query_add(cli, box_query(cli, "/read_file.json", args[0]), "path", args[1]);
	int64_t at = 0;
	bool more = true;

	(void)o;
	if (!args[1])
		return verb_misused("files", "read wants a path", err);
	query = query_add(cli, query, "encoding", "base64");
	query = query_add(cli, query, "max_bytes", "262144");
	while (more) {
		CLEANUP(json) struct json_object *reply = NULL;
		int64_t next = 0;

		if (!look(cli,
			    query_add(cli, query, "offset",
				    pool_printf(cli->pool, "%lld", (long long)at)),
			    &reply, err))
			return false;
		if (cli->json)
			cli_print_json(cli, reply);
		else if (!read_piece(cli, reply, stdout, err))
			return false;
		more = json_get_i64(reply, "next_offset", &next) && next > at;
		at = next;
	}
	return true;
}

static bool search(struct cli *cli, const struct files_options *o, char **args, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	const char *query =
		query_add(cli, box_query(cli, "/search_files.json", args[0]), "text", args[1]);
	struct json_object *matches;

	if (!args[1])
		return verb_misused("files", "search wants a text", err);
	query = query_add(cli, query, "path", args[2]);
	if (!look(cli, query_add(cli, query, "ignore_case", o->ignore_case ? "true" : NULL), &reply,
		    err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	matches = json_get(reply, "matches");
	for (size_t i = 0; i < json_count(matches); i++) {
		struct json_object *m = json_at(matches, i);
		int64_t line = 0;

		(void)json_get_i64(m, "line", &line);
		(void)printf("%s:%lld:%s\n", cli_line(cli->pool, cli_text(m, "path")),
			(long long)line, cli_sane(cli->pool, cli_text(m, "text")));
	}
	return true;
}

static bool to_file(void *arg, const char *data, size_t n)
{
	return fwrite(data, 1, n, arg) == n;
}

static bool get(struct cli *cli, const struct files_options *o, char **args, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	CLEANUP(file) FILE *to = NULL;
	const char *query =
		query_add(cli, box_query(cli, "/get_files.json", args[0]), "path", args[1]);

	if (!o->output)
		return verb_misused("files", "get wants -o FILE", err);
	if (!look(cli, query, &reply, err))
		return false;
	to = fopen(o->output, "we");
	if (!to)
		return err_errno(err, ERR_INVALID, "%s", o->output);
	if (!http_stream(cli->http, cli_query(cli->pool, "/blob", "name", cli_text(reply, "blob")),
		    "", 60, to_file, to, err))
		return false;
	if (fflush(to))
		return err_errno(err, ERR_INTERNAL, "%s", o->output);
	if (cli->json)
		cli_print_json(cli, reply);
	return true;
}

static const struct subverb subs[] = {
	{"list", "BOX [PATH]", "a folder", WORD_BOX},
	{"read", "BOX PATH", "a file, to stdout", WORD_BOX},
	{"search", "BOX TEXT [PATH]", "the lines that have the text", WORD_BOX},
	{"get", "BOX [PATH]", "a folder as a tar", WORD_BOX},
};

static bool files(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	static bool (*const runs[])(struct cli * cli, const struct files_options *o, char **args,
		struct err *err) = {list, read_all, search, get};
	const struct subverb *sub = verb_sub(&verb_files, words[0], err);

	(void)status;
	if (!sub)
		return false;
	if (nwords < 2)
		return verb_misused("files", "of which sandbox or run?", err);
	return runs[sub - subs](cli, options, words + 1, err);
}

const struct verb verb_files = {
	.name = "files",
	.usage = "",
	.summary = "look at files of a box; nothing is run there",
	.about = "BOX is a sandbox or a session.",
	VERB_SUBS(subs),
	VERB_FLAGS(struct files_options, flags),
	.least = 1,
	.most = 4,
	.wants = "what, and of which sandbox or run?",
	.word = WORD_SUB,
	.run = files,
};

/* Links, what is not text and what is too long have no place in a patch. */
static void say_left_out(struct cli *cli, struct json_object *reply)
{
	struct json_object *changes = json_get(reply, "changes");
	bool yes;

	cli_say("the patch does not have all that changed%s", json_count(changes) ? ":" : "");
	for (size_t i = 0; i < json_count(changes); i++) {
		struct json_object *c = json_at(changes, i);

		if (json_get_bool(c, "in_patch", &yes) && !yes)
			cli_say("  %s: %s", cli_text(c, "change"),
				cli_sane(cli->pool, cli_text(c, "path")));
	}
	if (json_get_bool(reply, "truncated", &yes) && yes)
		cli_say("  and more");
}

static bool diff(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	bool complete = true;
	const char *patch;

	(void)options;
	(void)nwords;
	(void)status;
	if (!look(cli, query_add(cli, box_query(cli, "/diff.json", words[0]), "tree", words[1]),
		    &reply, err))
		return false;
	if (cli->json) {
		cli_print_json(cli, reply);
		return true;
	}
	patch = cli_text(reply, "patch");
	(void)fputs(isatty(STDOUT_FILENO) ? cli_sane(cli->pool, patch) : patch, stdout);
	(void)fflush(stdout);
	if (json_get_bool(reply, "patch_complete", &complete) && !complete)
		say_left_out(cli, reply);
	return true;
}

const struct verb verb_diff = {
	.name = "diff",
	.usage = "SANDBOX|SESSION [TREE]",
	.summary = "what differs from the tree that was synced or delivered",
	.least = 1,
	.most = 2,
	.wants = "one sandbox or run",
	.word = WORD_BOX,
	.run = diff,
};
