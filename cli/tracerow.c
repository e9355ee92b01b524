/*
 * A row of the trace on a terminal: the time of day, the kind, the text. What an agent's tools put
 * out is shortened, since the log holds it; how long a call took and how it failed stand before it;
 * what a subagent does is set in.
 */
#include "tracerow.h"

#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"

#define RESULT_LINES 8 /* shown of what a tool put out */
#define THINKING_LINES 4

/* "exit 2, 1.2 s: " of a tool's result. */
static const char *outcome(struct pool *pool, struct json_object *data)
{
	const char *exit = "", *took = "";
	int64_t n;
	bool failed = false;

	(void)json_get_bool(data, "is_error", &failed);
	if (failed)
		exit = json_get_i64(data, "exit_code", &n)
			       ? pool_printf(pool, "exit %lld", (long long)n)
			       : "failed";
	if (json_get_i64(data, "duration_ms", &n))
		took = pool_printf(
			pool, "%lld.%lld s", (long long)(n / 1000), (long long)(n % 1000 / 100));
	if (!*exit && !*took)
		return "";
	return pool_printf(pool, "(%s%s%s) ", exit, *exit && *took ? ", " : "", took);
}

static size_t lines_of(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '\n' && text[1];
	return n;
}

void tracerow_print(FILE *out, struct json_object *row)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct json_object *data = json_get(row, "data");
	const char *kind = cli_text(row, "kind"), *ts = cli_text(row, "ts"), *parent;
	const char *lead = json_get_text(data, "parent", &parent) ? "  | " : "";
	bool is_output = !strcmp(kind, "result") && *cli_text(row, "ref");
	char *line = pool_strdup(pool, cli_sane(pool, cli_text(row, "text"))), *next;
	size_t lines = lines_of(line), most = lines;

	if (is_output && lines > RESULT_LINES)
		most = RESULT_LINES;
	if (!strcmp(kind, "thinking") && lines > THINKING_LINES)
		most = THINKING_LINES;
	for (size_t i = 0; i < most && line; i++, line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		/* the time of day is enough on a terminal: 2026-01-02T03:04:05.678Z */
		(void)fprintf(out, "%.8s %-8s %s%s%s\n", strlen(ts) >= 19 ? ts + 11 : "",
			cli_sane(pool, kind), lead, is_output && !i ? outcome(pool, data) : "",
			line);
	}
	if (most < lines)
		(void)fprintf(out, "%.8s %-8s %s... %zu lines more\n",
			strlen(ts) >= 19 ? ts + 11 : "", cli_sane(pool, kind), lead, lines - most);
	(void)fflush(out);
}
