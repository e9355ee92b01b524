/*
 * Reading a log by lines. Chunks are found by number (halving, since line numbers only grow with
 * them), so that the end of a long log is as near as its beginning.
 */
#include "log_lines.h"

#include <stdlib.h>
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "pool.h"
#include "queries.h"

struct reader {
	struct db *db;
	const struct log *log;
	bool own_tx;
	log_part_fn *take;
	void *arg;
	int64_t from; /* the next line that is wanted */
	int64_t seq;  /* of the last chunk read */
	struct buf text;
	struct log_part part; /* of the line that has begun */
	bool open;	      /* there is one */
	enum log_next next;
};

bool log_find(
	struct call *c, const char *session, const char *exec, struct log *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!session == !exec)
		return err_set(err, ERR_INVALID, "session, exec: give one of them");
	c->subject = session ? session : exec;
	if (!db_query(c->db, Q_WEB_LOG_FIND,
		    ARGS(db_i64(c->caller.account_id), db_text(session), db_text(exec)), &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such %s", session ? "run" : "exec");
	*out = (struct log){.id = result_i64(&res, 0, 0),
		.account_id = c->caller.account_id,
		.lines = result_i64(&res, 0, 1),
		.last_seq = result_i64(&res, 0, 2)};
	return true;
}

/* Bytes of s without a character that only begins at its end. */
static size_t whole(const char *s, size_t n)
{
	size_t back = 1, need;

	while (back < 4 && back < n && ((unsigned char)s[n - back] & 0xc0) == 0x80)
		back++;
	need = (unsigned char)s[n - back] >= 0xf0   ? 4
	       : (unsigned char)s[n - back] >= 0xe0 ? 3
	       : (unsigned char)s[n - back] >= 0xc0 ? 2
						    : 1;
	return back < need ? n - back : n;
}

static void give(struct reader *r, size_t n, bool more, bool ended, int64_t ms)
{
	r->part.text = r->text.data;
	r->part.len = n;
	r->part.more = more;
	r->part.ended = ended;
	r->part.ms = ms;
	r->next = r->take(r->arg, &r->part);
	buf_shift(&r->text, n);
	r->part.first = false;
	if (ended || r->next != LOG_ON) {
		r->open = false;
		r->from = r->part.n + 1;
		buf_reset(&r->text);
	}
}

/* Bytes of line n. */
static void add(struct reader *r, int64_t n, int64_t stream, const char *s, size_t len)
{
	if (!r->open)
		r->part = (struct log_part){.n = n, .is_stderr = stream == 2, .first = true};
	r->open = true;
	while (len && r->open) {
		size_t room = LOG_PART - r->text.len, part = len < room ? len : room;

		(void)buf_add(&r->text, s, part);
		s += part;
		len -= part;
		if (r->text.len == LOG_PART)
			give(r, whole(r->text.data, LOG_PART), true, false, 0);
	}
}

/* When the k-th newline of a chunk came; its times are text, "{5,3,0}". */
struct times {
	int64_t ts;
	const char *next;
};

static int64_t next_time(struct times *t)
{
	char *end;
	long long before;

	if (*t->next != '{' && *t->next != ',')
		return 0;
	before = strtoll(t->next + 1, &end, 10);
	if (end == t->next + 1)
		return 0;
	t->next = end;
	return t->ts - before;
}

static void take_chunk(struct reader *r, int64_t n, int64_t stream, const char *s, size_t size,
	struct times *times)
{
	for (size_t i = 0; i < size && r->next <= LOG_SKIP; n++) {
		const char *lf = memchr(s + i, '\n', size - i);
		size_t len = (lf ? (size_t)(lf - s) : size) - i;
		int64_t ms = lf ? next_time(times) : 0;

		if (n >= r->from) {
			add(r, n, stream, s + i, len);
			if (lf && n >= r->from)
				give(r, r->text.len, false, true, ms);
		}
		i += len + (lf != NULL);
	}
}

static bool read_chunks(struct reader *r, struct result *res, struct err *err)
{
	CLEANUP(tx) struct tx tx = {0};

	if (r->own_tx && !db_begin(r->db, r->log->account_id, &tx, err))
		return false;
	if (!db_query(r->db, Q_WEB_LOG_CHUNKS,
		    ARGS(db_i64(r->log->id), db_i64(r->seq), db_i64(r->log->last_seq)), res, err))
		return false;
	return !r->own_tx || db_commit(&tx, err);
}

/* Lines before the end of the first chunk from seq on. */
static bool line_at(struct reader *r, int64_t seq, int64_t *line, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	CLEANUP(tx) struct tx tx = {0};

	if (r->own_tx && !db_begin(r->db, r->log->account_id, &tx, err))
		return false;
	if (!db_query(r->db, Q_WEB_LOG_LINE_AT, ARGS(db_i64(r->log->id), db_i64(seq)), &res, err))
		return false;
	*line = res.rows ? result_i64(&res, 0, 0) : INT64_MAX;
	return !r->own_tx || db_commit(&tx, err);
}

/* Goes to the chunk before the one in which line `from` begins or whose end it follows. */
static bool seek(struct reader *r, struct err *err)
{
	int64_t low = r->seq + 1, high = r->log->last_seq, line;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (!line_at(r, middle, &line, err))
			return false;
		if (line >= r->from)
			high = middle;
		else
			low = middle + 1;
	}
	r->seq = low - 1;
	return true;
}

static bool read_all(struct reader *r, struct err *err)
{
	int64_t reached = 0;

	while (r->next <= LOG_SKIP) {
		CLEANUP(pool) struct pool *pool = pool_new();
		CLEANUP(result) struct result res = {0};

		if (!r->open && r->from > reached && !seek(r, err))
			return false;
		if (!read_chunks(r, &res, err))
			return false;
		if (!res.rows)
			break;
		for (int i = 0; i < res.rows && r->next <= LOG_SKIP; i++) {
			struct times times = {result_i64(&res, i, 4), result_text(&res, i, 5)};
			size_t size;
			const unsigned char *body = result_bytes(&res, pool, i, 3, &size);

			r->seq = result_i64(&res, i, 0);
			reached = result_i64(&res, i, 6);
			take_chunk(r, result_i64(&res, i, 2), result_i64(&res, i, 1),
				(const char *)body, size, &times);
		}
	}
	/* the last line has not ended yet */
	if (r->open && r->next <= LOG_SKIP)
		give(r, r->text.len, false, false, 0);
	return r->next != LOG_BROKEN || err_set(err, ERR_INTERNAL, "the log was not taken");
}

bool log_read(struct db *db, const struct log *log, int64_t from, bool own_tx, log_part_fn *take,
	void *arg, struct err *err)
{
	struct reader r = {.db = db,
		.log = log,
		.own_tx = own_tx,
		.take = take,
		.arg = arg,
		.from = from,
		.text = BUF_INIT(LOG_PART)};
	bool ok = read_all(&r, err);

	buf_done(&r.text);
	return ok;
}
