/*
 * log: lines of what a run or an exec has written, by number.
 */
#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "log_lines.h"
#include "pool.h"

#define LINES_MAX 5000
/* Text of one answer; where it is reached, `next` says where to go on. */
#define TEXT_MAX (1024 * 1024)

struct log_input {
	const char *session, *exec;
	int64_t from, limit;
};

static const struct field fields[] = {
	FIELD(TEXT, struct log_input, session, .max = 64, .help = "The run; or give exec."),
	FIELD(TEXT, struct log_input, exec, .max = 64, .help = "The exec."),
	FIELD(INT, struct log_input, from, .max = INT64_MAX / 2,
		.help = "Number of the first line, from 0."),
	FIELD(INT, struct log_input, limit, .min = 1, .max = LINES_MAX, .value = 1000,
		.help = "How many lines at the most."),
};

struct lines {
	struct json_object *list;
	int64_t end;  /* lines before this one are wanted */
	int64_t next; /* where to go on */
	size_t bytes; /* of all lines so far */
};

static enum log_next take_line(void *arg, const struct log_part *p)
{
	struct lines *l = arg;
	struct json_object *o = json_new_object();

	json_add_i64(o, "n", p->n);
	json_add_text(o, "stream", p->is_stderr ? "stderr" : "stdout");
	if (p->ms)
		json_add_i64(o, "ms", p->ms);
	json_add_text_n(o, "text", p->text, p->len);
	if (p->more)
		json_add_bool(o, "cut", true);
	json_push(l->list, o);
	l->bytes += p->len;
	/* the last line has not ended yet: it is shown, and read again the next time */
	l->next = p->ended || p->more ? p->n + 1 : p->n;
	return p->n + 1 >= l->end || l->bytes > TEXT_MAX ? LOG_STOP : LOG_SKIP;
}

static bool get_log(struct call *c, const void *input, struct err *err)
{
	const struct log_input *in = input;
	CLEANUP(json) struct json_object *o = json_new_object();
	struct lines l = {.end = in->from + in->limit, .next = in->from};
	struct log log;

	if (!log_find(c, in->session, in->exec, &log, err))
		return false;
	l.list = json_new_array();
	json_add_i64(o, "first_line", in->from);
	json_add(o, "lines", l.list);
	if (!log_read(c->db, &log, in->from, false, take_line, &l, err))
		return false;
	json_add_i64(o, "next", l.next);
	json_add_i64(o, "total_lines", log.lines);
	return call_answer(c, 200, o);
}

const struct action action_log = {
	.name = "log",
	.summary = "Lines that a run or an exec has written, by number.",
	.method = "GET",
	.path = "/log.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct log_input),
	ACTION_FIELDS(fields),
	.answers =
		"200 "
		"{\"first_line\",\"lines\":[{\"n\",\"stream\",\"ms\",\"text\",\"cut\"}],\"next\","
		"\"total_lines\"}; `ms` (since 1970) where it is known when the line ended, `cut` "
		"where a line is longer than 64 KiB",
	.run = get_log,
};
