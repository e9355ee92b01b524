/*
 * log_txt, log_ndjson: a whole log as a file. It is read while it is sent, half a MiB at a time, in
 * transactions of that length: neither a log of a GiB nor a slow reader holds anything.
 */
#include <inttypes.h>
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "log_lines.h"
#include "pool.h"
#include "text.h"

#define OUT_MAX (1024 * 1024)
#define OUT_LOW (64 * 1024) /* sent when there is as much */

struct file_input {
	const char *session, *exec;
};

static const struct field fields[] = {
	FIELD(TEXT, struct file_input, session, .max = 64, .help = "The run; or give exec."),
	FIELD(TEXT, struct file_input, exec, .max = 64, .help = "The exec."),
};

typedef void add_part_fn(struct buf *b, const struct log_part *p);

struct sending {
	struct db *db;
	struct log log;
	add_part_fn *add;
	struct buf out;
	response_write_fn *write;
	void *write_arg;
};

static void add_txt(struct buf *b, const struct log_part *p)
{
	text_add_sane(b, p->text, p->len);
	if (p->ended)
		(void)buf_addc(b, '\n');
}

static void add_ndjson(struct buf *b, const struct log_part *p)
{
	if (p->first)
		(void)buf_addf(b, "{\"n\":%" PRId64 ",\"stream\":\"%s\",\"text\":\"", p->n,
			p->is_stderr ? "stderr" : "stdout");
	json_add_escaped(b, p->text, p->len);
	if (p->more)
		return;
	(void)buf_addc(b, '"');
	if (p->ms)
		(void)buf_addf(b, ",\"ms\":%" PRId64, p->ms);
	(void)buf_adds(b, "}\n");
}

static bool flush(struct sending *s)
{
	bool ok = !s->out.failed && s->write(s->write_arg, s->out.data, s->out.len);

	buf_reset(&s->out);
	return ok;
}

static enum log_next take_part(void *arg, const struct log_part *p)
{
	struct sending *s = arg;

	s->add(&s->out, p);
	return s->out.len < OUT_LOW || flush(s) ? LOG_ON : LOG_BROKEN;
}

static bool send_log(void *stream_arg, response_write_fn *write, void *arg)
{
	struct sending *s = stream_arg;
	struct err err;
	bool ok;

	s->write = write;
	s->write_arg = arg;
	buf_init(&s->out, OUT_MAX);
	ok = log_read(s->db, &s->log, 0, true, take_part, s, &err) && (!s->out.len || flush(s));
	buf_done(&s->out);
	return ok;
}

static bool send_file(struct call *c, const struct file_input *in, add_part_fn *add,
	const char *type, const char *ending, struct err *err)
{
	struct sending *s = POOL_NEW(c->pool, struct sending);

	if (!log_find(c, in->session, in->exec, &s->log, err))
		return false;
	s->db = c->db;
	s->add = add;
	c->rs->content_type = type;
	c->rs->stream = send_log;
	c->rs->stream_arg = s;
	c->rs->stream_size = -1;
	(void)response_header(c->rs, "Content-Disposition",
		pool_printf(c->pool, "attachment; filename=\"%s.%s\"", c->subject, ending));
	return true;
}

static bool log_txt(struct call *c, const void *input, struct err *err)
{
	return send_file(c, input, add_txt, "text/plain; charset=utf-8", "txt", err);
}

static bool log_ndjson(struct call *c, const void *input, struct err *err)
{
	return send_file(c, input, add_ndjson, "application/x-ndjson", "ndjson", err);
}

const struct action action_log_txt = {
	.name = "log_txt",
	.summary = "A whole log as text, without colours and control characters.",
	.method = "GET",
	.path = "/log.txt",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct file_input),
	ACTION_FIELDS(fields),
	.answers = "200 the text, as an attachment",
	.run = log_txt,
};

const struct action action_log_ndjson = {
	.name = "log_ndjson",
	.summary = "A whole log, an object a line.",
	.method = "GET",
	.path = "/log.ndjson",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct file_input),
	ACTION_FIELDS(fields),
	.answers =
		"200 {\"n\",\"stream\",\"text\",\"ms\"} in each line, as an attachment; `ms` where "
		"it is known",
	.run = log_ndjson,
};
