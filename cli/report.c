/*
 * The end of a run as a person wants to read it: what changed, how it ended, where to look.
 */
#include <errno.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "patchstat.h"
#include "pool.h"

#define LISTED_FILES 20

struct listing {
	struct cli *cli;
	FILE *out;
	int n;
};

static void list_file(
	void *arg, const char *path, size_t path_n, long added, long removed, bool binary)
{
	struct listing *l = arg;
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *name = cli_line(pool, pool_memdup(pool, path, path_n));

	if (++l->n > LISTED_FILES)
		return;
	if (binary)
		(void)fprintf(l->out, "  %s | binary\n", name);
	else
		(void)fprintf(l->out, "  %s | +%ld -%ld\n", name, added, removed);
}

static bool store(const char *path, const struct buf *b, struct err *err)
{
	CLEANUP(file) FILE *f = fopen(path, "we");

	if (!f || fwrite(b->data, 1, b->len, f) != b->len || fflush(f))
		return err_errno(err, ERR_INVALID, "store the patch in %.120s", path);
	return true;
}

static bool report_patch(struct cli *cli, struct json_object *run, const char *patch_file,
	FILE *out, struct err *err)
{
	CLEANUP(buf) struct buf patch = BUF_INIT(HTTP_REPLY_MAX);
	struct listing l = {.cli = cli, .out = out};
	const char *blob = cli_text(json_get(run, "patch"), "blob");
	struct patchstat stat;

	if (*blob && !http_get(cli->http, cli_query(cli->pool, "/blob", "name", blob), &patch, err))
		return err_wrap(err, "get the patch");
	if (patch_file && !store(patch_file, &patch, err))
		return false;
	if (!*blob)
		return true;
	patchstat_count(patch.data, patch.len, &stat, list_file, &l);
	if (l.n > LISTED_FILES)
		(void)fprintf(out, "  ... and %d more\n", l.n - LISTED_FILES);
	(void)fprintf(out, "patch:   %d files changed, %ld insertions, %ld deletions, %zu bytes\n",
		stat.files, stat.added, stat.removed, patch.len);
	return true;
}

static void report_files(struct cli *cli, struct json_object *run, FILE *out)
{
	struct json_object *files = json_get(run, "files");

	for (size_t i = 0; files && i < json_count(files); i++) {
		struct json_object *f = json_at(files, i);
		int64_t size = 0;

		(void)json_get_i64(f, "size_bytes", &size);
		(void)fprintf(out, "file:    %s (%lld bytes) %s%s\n",
			cli_line(cli->pool, cli_text(f, "name")), (long long)size,
			http_url(cli->http),
			cli_query(cli->pool, "/blob", "name", cli_text(f, "blob")));
	}
}

/* What its agent used of a model, where it did. */
static void report_usage(struct json_object *usage, FILE *out)
{
	int64_t in = 0, cached = 0, written = 0, output = 0;
	double usd = 0;

	if (!json_get_i64(usage, "output_tokens", &output))
		return;
	(void)json_get_i64(usage, "input_tokens", &in);
	(void)json_get_i64(usage, "cache_read_tokens", &cached);
	(void)json_get_i64(usage, "cache_write_tokens", &written);
	(void)json_get_f64(usage, "cost_usd", &usd);
	(void)fprintf(out, "\nmodel:   %lld tokens in (%lld of them cached), %lld out, $%.4f",
		(long long)(in + cached + written), (long long)cached, (long long)output, usd);
}

bool report_run(struct cli *cli, struct json_object *run, const char *patch_file, int *status,
	struct err *err)
{
	FILE *out = cli->json ? stderr : stdout;
	const char *session = cli_text(run, "session"), *state = cli_text(run, "state");
	const char *reason = cli_text(run, "reason");
	int64_t code = -1;
	bool has_code = json_get_i64(run, "exit_code", &code);

	*status = strcmp(state, "done") == 0 ? 0 : STATUS_RUN_FAILED;
	if (strcmp(state, "waiting") == 0) {
		*status = STATUS_RUN_WAITING;
		(void)fprintf(
			out, "%s waits; answer with: asb resume %s ANSWER\n", session, session);
	} else {
		if (!report_patch(cli, run, patch_file, out, err))
			return false;
		report_files(cli, run, out);
		(void)fprintf(out, "run:     %s %s%s%s", session, state, *reason ? ", reason " : "",
			reason);
		if (has_code)
			(void)fprintf(out, ", exit %lld", (long long)code);
		if (*cli_text(run, "detail"))
			(void)fprintf(
				out, "\ndetail:  %s", cli_sane(cli->pool, cli_text(run, "detail")));
		report_usage(json_get(run, "usage"), out);
		(void)fprintf(out, "\nsite:    %s%s\n", http_url(cli->http),
			cli_query(cli->pool, "/watch.json", "session", session));
	}
	if (cli->json)
		cli_print_json(cli, run);
	return true;
}
