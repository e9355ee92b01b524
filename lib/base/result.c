/*
 * Reading the rows of a result: text out of libpq's memory, numbers and bytes made of it.
 */
#include <assert.h>
#include <string.h>

#include <libpq-fe.h>

#include "db.h"
#include "encode.h"
#include "pool.h"
#include "text.h"

void result_done(struct result *r)
{
	PQclear(r->pg);
	*r = (struct result){0};
}

void cleanup_result(struct result *r)
{
	result_done(r);
}

bool result_is_null(const struct result *r, int row, int col)
{
	assert(row < r->rows && col < PQnfields(r->pg));
	return PQgetisnull(r->pg, row, col);
}

const char *result_text(const struct result *r, int row, int col)
{
	assert(row < r->rows && col < PQnfields(r->pg));
	return PQgetvalue(r->pg, row, col);
}

size_t result_len(const struct result *r, int row, int col)
{
	assert(row < r->rows && col < PQnfields(r->pg));
	return (size_t)PQgetlength(r->pg, row, col);
}

int64_t result_i64(const struct result *r, int row, int col)
{
	int64_t v = 0;
	bool ok = result_is_null(r, row, col) ||
		  text_to_i64(result_text(r, row, col), INT64_MIN, INT64_MAX, &v);

	assert(ok);
	return v;
}

bool result_bool(const struct result *r, int row, int col)
{
	return result_text(r, row, col)[0] == 't';
}

const unsigned char *result_bytes(
	const struct result *r, struct pool *pool, int row, int col, size_t *n)
{
	const char *hex = result_text(r, row, col);
	size_t len = result_len(r, row, col);
	unsigned char *out;
	bool ok;

	*n = len < 2 ? 0 : len / 2 - 1;
	out = pool_alloc(pool, *n + 1);
	ok = len < 2 || (!strncmp(hex, "\\x", 2) && hex_decode(hex + 2, out, *n));
	assert(ok);
	return out;
}
