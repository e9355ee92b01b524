/*
 * The `script` agent: the task is a shell script. Its stdout is what it says, its stderr is shown
 * as errors; one row for each stretch of one stream in a flush.
 */
#include "agents.h"

#include <stdio.h>
#include <string.h>

#include "guest.h"
#include "logsink.h"
#include "trace.h"

extern const struct agent agent_script;

static bool script_prepare(struct guest *g, const char *task, int64_t deadline, struct err *err)
{
	return guest_file_in(
		g, "/run/asb", "task.sh", "agent", 0700, task, strlen(task), deadline, err);
}

static void script_output(struct trace *trace, const struct logsink *s)
{
	for (size_t i = 0, end; i < s->ready; i = end) {
		const struct chunk *c = &s->chunks[i];
		size_t size = 0;
		int64_t lines = 0;
		char data[96];

		for (end = i; end < s->ready && s->chunks[end].stream == c->stream; end++) {
			size += s->chunks[end].body_size;
			lines += s->chunks[end].nlines;
		}
		(void)snprintf(data, sizeof(data), "{\"first_line\":%lld,\"nlines\":%lld}",
			(long long)c->first_line, (long long)lines);
		if (!size) /* past what is kept of the log */
			continue;
		/* the row's end is the line's end */
		if (s->bodies.data[c->body_at + size - 1] == '\n')
			size--;
		trace_add(trace, c->stream == 1 ? "say" : "error", s->bodies.data + c->body_at,
			size, data);
	}
}

static const char *const script_argv[] = {"/bin/bash", "/run/asb/task.sh", NULL};

const struct agent agent_script = {
	.name = "script",
	.argv = script_argv,
	.prepare = script_prepare,
	.output = script_output,
};
