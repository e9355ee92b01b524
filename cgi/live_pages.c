/*
 * Pages: rows in, text of events out. The JSON of feed and trace rows is made by PostgreSQL and
 * copied; that of log chunks is made here, since a chunk is bytes and not text.
 */
#include "live_pages.h"

#include <inttypes.h>

#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "json.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

/* A page is 256 KiB of rows, which JSON can make six times longer, and one row may be longer alone.
 */
#define PAGE_TEXT_MAX (64 * 1024 * 1024)
/* as in live.sql */
#define PAGE_ROWS 256

void page_done(struct page *p)
{
	buf_done(&p->text);
}

void cleanup_page(struct page *p)
{
	page_done(p);
}

int64_t page_last(const struct page *p)
{
	return p->n ? p->items[p->n - 1].seq : p->after;
}

static void item_event(
	struct page *p, struct item *it, const char *name, const char *json, size_t n)
{
	it->at = p->text.len;
	if (!sse_event_add(&p->text, name, json, n))
		p->text.failed = true;
	it->size = p->text.len - it->at;
}

static bool feed_read(struct db *db, struct pool *pool, struct page *p, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_LIVE_FEED_PAGE, ARGS(db_i64(p->after)), &res, err))
		return false;
	p->n = (size_t)res.rows;
	p->items = POOL_ARRAY(pool, struct item, p->n);
	p->complete = res.rows < PAGE_ROWS;
	for (int i = 0; i < res.rows; i++) {
		struct item *it = &p->items[i];

		it->seq = result_i64(&res, i, 0);
		it->account_id = result_i64(&res, i, 2);
		it->run_id = result_i64(&res, i, 3);
		it->box_id = result_i64(&res, i, 4);
		item_event(p, it, result_text(&res, i, 1), result_text(&res, i, 5),
			result_len(&res, i, 5));
	}
	return true;
}

/* found: how many rows there were before the cut by bytes. */
static bool rows_complete(const struct result *res, int found_col)
{
	return !res->rows || (result_i64(res, 0, found_col) == res->rows && res->rows < PAGE_ROWS);
}

static bool trace_read(
	struct db *db, struct pool *pool, int64_t run_id, struct page *p, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_LIVE_TRACE_PAGE, ARGS(db_i64(run_id), db_i64(p->after)), &res, err))
		return false;
	p->n = (size_t)res.rows;
	p->items = POOL_ARRAY(pool, struct item, p->n);
	p->complete = rows_complete(&res, 2);
	for (int i = 0; i < res.rows; i++) {
		p->items[i].seq = result_i64(&res, i, 0);
		item_event(
			p, &p->items[i], "trace", result_text(&res, i, 1), result_len(&res, i, 1));
	}
	return true;
}

/* Bytes that are no text go out twice: readable in body, exact in body_b64. */
static void chunk_json(struct buf *b, const struct result *res, int row, const char *body, size_t n)
{
	(void)buf_addf(b,
		"{\"seq\":%" PRId64 ",\"stream\":%" PRId64 ",\"first_line\":%" PRId64
		",\"nlines\":%" PRId64 ",\"ts\":\"%s\",\"body\":",
		result_i64(res, row, 0), result_i64(res, row, 1), result_i64(res, row, 2),
		result_i64(res, row, 3), result_text(res, row, 4));
	json_add_quoted(b, body, n);
	if (!text_is_utf8(body, n)) {
		(void)buf_adds(b, ",\"body_b64\":\"");
		base64_add(b, body, n);
		(void)buf_addc(b, '"');
	}
	(void)buf_addc(b, '}');
}

static bool log_read(struct db *db, struct pool *pool, int64_t log_id, bool bodies, struct page *p,
	struct err *err)
{
	CLEANUP(result) struct result res = {0};
	CLEANUP(buf) struct buf json = BUF_INIT(PAGE_TEXT_MAX);

	if (!db_query(db, Q_LIVE_LOG_PAGE, ARGS(db_i64(log_id), db_i64(p->after), db_bool(bodies)),
		    &res, err))
		return false;
	p->n = (size_t)res.rows;
	p->items = POOL_ARRAY(pool, struct item, p->n);
	p->complete = rows_complete(&res, 7);
	for (int i = 0; i < res.rows; i++) {
		struct item *it = &p->items[i];
		const unsigned char *body;
		size_t n;

		it->seq = result_i64(&res, i, 0);
		it->first_line = result_i64(&res, i, 2);
		it->nlines = result_i64(&res, i, 3);
		it->bytes = result_i64(&res, i, 5);
		if (!bodies)
			continue;
		body = result_bytes(&res, pool, i, 6, &n);
		buf_reset(&json);
		chunk_json(&json, &res, i, (const char *)body, n);
		item_event(p, it, "log", json.data, json.len);
	}
	return true;
}

bool page_read(struct db *db, struct pool *pool, const struct source *src, int64_t after,
	bool bodies, struct page *out, struct err *err)
{
	struct page p = {.kind = src->kind, .after = after, .text = BUF_INIT(PAGE_TEXT_MAX)};
	bool ok = false;

	switch (src->kind) {
	case SOURCE_FEED:
		ok = feed_read(db, pool, &p, err);
		break;
	case SOURCE_TRACE:
		ok = trace_read(db, pool, src->id, &p, err);
		break;
	case SOURCE_LOG:
		ok = log_read(db, pool, src->id, bodies, &p, err);
		break;
	case SOURCE_KIND__COUNT:
		break;
	}
	if (ok && p.text.failed)
		ok = err_set(err, ERR_INTERNAL, "page after %" PRId64 " is too long", after);
	if (!ok) {
		page_done(&p);
		return false;
	}
	*out = p;
	return true;
}

bool page_add_notice(const struct page *p, size_t from, struct buf *out)
{
	CLEANUP(buf) struct buf json = BUF_INIT(512);
	int64_t to = 0, bytes = 0;

	for (size_t i = from; i < p->n; i++) {
		to = p->items[i].first_line + p->items[i].nlines;
		bytes += p->items[i].bytes;
	}
	(void)buf_addf(&json,
		"{\"seq\":%" PRId64 ",\"first_line\":%" PRId64 ",\"nlines\":%" PRId64
		",\"bytes\":%" PRId64 "}",
		page_last(p), p->items[from].first_line, to - p->items[from].first_line, bytes);
	return sse_event_add(out, "log", json.data, json.len);
}
