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

#define TASK "/run/asb/task.sh"

extern const struct agent agent_script;

static bool script_prepare(
	struct guest *g, const struct agent_start *start, int64_t deadline, struct err *err)
{
	size_t n = strlen(start->message);

	/* else it goes along with the EXEC: a round trip less */
	return guest_text_fits(start->message, n) ||
	       guest_file_in(
		       g, "/run/asb", "task.sh", "agent", 0700, start->message, n, deadline, err);
}

static const char *const *script_argv(const struct agent_start *start)
{
	static const char *const argv[] = {"/bin/bash", TASK, NULL};

	(void)start;
	return argv;
}

static void script_output(struct agent_reader *reader, struct trace *trace, const struct logsink *s)
{
	(void)reader;
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
		trace_add(trace, c->stream == 1 ? TRACE_SAY : TRACE_ERROR, NULL,
			s->bodies.data + c->body_at, size, data);
	}
}

const struct agent agent_script = {
	.ask = "block",
	.code = TASK,
	.prepare = script_prepare,
	.argv = script_argv,
	.output = script_output,
};
