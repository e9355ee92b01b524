/*
 * The FastCGI record encoder. It reads nothing: what nginx sends after the parameters is dropped.
 */
#include "live_records.h"

#include <assert.h>

enum { RECORD_VERSION = 1, RECORD_END_REQUEST = 3, RECORD_STDOUT = 6 };

size_t records_size(size_t n)
{
	return n + (n + RECORD_CONTENT_MAX - 1) / RECORD_CONTENT_MAX * RECORD_HEADER_SIZE;
}

static void record_header(char *out, int type, int id, size_t n)
{
	assert(n <= RECORD_CONTENT_MAX && id > 0 && id <= UINT16_MAX);
	out[0] = RECORD_VERSION;
	out[1] = (char)type;
	out[2] = (char)(id >> 8);
	out[3] = (char)(id & 0xff);
	out[4] = (char)(n >> 8);
	out[5] = (char)(n & 0xff);
	out[6] = 0; /* no padding */
	out[7] = 0;
}

bool records_add_stdout(struct buf *b, int id, const void *data, size_t n)
{
	const char *p = data;

	if (!n)
		return true;
	if (!buf_room(b, records_size(n)))
		return false;
	while (n) {
		const size_t part = n < RECORD_CONTENT_MAX ? n : RECORD_CONTENT_MAX;
		char header[RECORD_HEADER_SIZE];

		record_header(header, RECORD_STDOUT, id, part);
		(void)buf_add(b, header, sizeof(header));
		(void)buf_add(b, p, part);
		p += part;
		n -= part;
	}
	return true;
}

bool records_add_end(struct buf *b, int id)
{
	char end[RECORD_HEADER_SIZE * 3] = {0}; /* the last eight: appStatus 0, complete */

	record_header(end, RECORD_STDOUT, id, 0);
	record_header(end + RECORD_HEADER_SIZE, RECORD_END_REQUEST, id, 8);
	return buf_add(b, end, sizeof(end));
}
