/*
 * log: lines of what a run or an exec has written, by number. The rows hold bytes; lines are cut
 * here, from as many chunks as the answer needs.
 */
#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "queries.h"

#define LINES_MAX 5000
/* Text of one answer; where it is reached, `next` says where to go on. */
#define TEXT_MAX (1024 * 1024)
/* One line that is longer is cut, and says so. */
#define LINE_MAX_BYTES (256 * 1024)

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
	int64_t from, end; /* [from, end) is wanted */
	int64_t n;	   /* of the line in `text` */
	int64_t stream;	   /* of its first byte; 0: it has none yet */
	bool cut;
	struct buf text;
	size_t bytes; /* of all lines so far */
	bool full;
};

static void line_end(struct lines *l)
{
	struct json_object *o = json_new_object();

	json_add_i64(o, "n", l->n);
	json_add_text(o, "stream", l->stream == 2 ? "stderr" : "stdout");
	json_add_text_n(o, "text", l->text.data, l->text.len);
	if (l->cut)
		json_add_bool(o, "cut", true);
	json_push(l->list, o);
	l->bytes += l->text.len;
	buf_reset(&l->text);
	l->stream = 0;
	l->cut = false;
}

/* The bytes of one chunk, which begin in line `n`. */
static void take_chunk(
	struct lines *l, int64_t n, int64_t stream, const unsigned char *s, size_t size)
{
	for (size_t i = 0; i < size && !l->full; n++) {
		const unsigned char *lf = memchr(s + i, '\n', size - i);
		size_t len = (lf ? (size_t)(lf - s) : size) - i, room;

		if (n >= l->from && n < l->end) {
			l->n = n;
			if (!l->stream)
				l->stream = stream;
			room = LINE_MAX_BYTES - l->text.len;
			l->cut = l->cut || len > room;
			(void)buf_add(&l->text, s + i, len < room ? len : room);
			if (lf)
				line_end(l);
		}
		l->full = n + 1 >= l->end || l->bytes > TEXT_MAX;
		if (!lf)
			l->full = false;
		i += len + (lf != NULL);
	}
}

static bool read_lines(struct call *c, int64_t log_id, struct lines *l, struct err *err)
{
	int64_t seq = 0;

	while (!l->full) {
		CLEANUP(pool) struct pool *pool = pool_new();
		CLEANUP(result) struct result res = {0};

		if (!db_query(c->db, Q_WEB_LOG_CHUNKS,
			    ARGS(db_i64(log_id), db_i64(l->from), db_i64(seq)), &res, err))
			return false;
		if (!res.rows)
			return true;
		for (int i = 0; i < res.rows && !l->full; i++) {
			size_t size;
			const unsigned char *body = result_bytes(&res, pool, i, 3, &size);

			seq = result_i64(&res, i, 0);
			if (result_i64(&res, i, 2) >= l->end)
				l->full = true;
			else
				take_chunk(l, result_i64(&res, i, 2), result_i64(&res, i, 1), body,
					size);
		}
	}
	return true;
}

static void answer(struct call *c, struct lines *l, int64_t total)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	bool partial = l->stream != 0;
	int64_t next = l->from;

	/* the last line has not ended yet: it is shown, and read again the next time */
	if (l->bytes || l->full || partial)
		next = partial ? l->n : l->n + 1;
	if (partial)
		line_end(l);
	json_add_i64(o, "first_line", l->from);
	json_add(o, "lines", l->list);
	json_add_i64(o, "next", next);
	json_add_i64(o, "total_lines", total);
	l->list = NULL;
	response_json(c->rs, 200, json_text(o, c->pool));
}

static bool get_log(struct call *c, const void *input, struct err *err)
{
	const struct log_input *in = input;
	CLEANUP(result) struct result res = {0};
	struct lines l = {.from = in->from, .end = in->from + in->limit, .n = in->from - 1};
	bool ok;

	if (!in->session == !in->exec)
		return err_set(err, ERR_INVALID, "session, exec: give one of them");
	c->subject = in->session ? in->session : in->exec;
	if (!db_query(c->db, Q_WEB_LOG_FIND,
		    ARGS(db_i64(c->caller.account_id), db_text(in->session), db_text(in->exec)),
		    &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such %s", in->session ? "run" : "exec");
	buf_init(&l.text, LINE_MAX_BYTES);
	l.list = json_new_array();
	ok = read_lines(c, result_i64(&res, 0, 0), &l, err);
	if (ok)
		answer(c, &l, result_i64(&res, 0, 1));
	json_free(l.list);
	buf_done(&l.text);
	return ok;
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
		"{\"first_line\",\"lines\":[{\"n\",\"stream\",\"text\"}],\"next\",\"total_lines\"}",
	.run = get_log,
};
