/*
 * The text of server-sent events. Knows nothing of runs, rows or sockets.
 */
#include "sse.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "text.h"

/* Takes one number up to `end` off *s. */
static bool part_parse(const char **s, char end, int64_t *out)
{
	const char *stop = strchr(*s, end);
	char digits[20]; /* 19 digits hold every int64 */
	size_t n;

	if (!stop)
		return false;
	n = (size_t)(stop - *s);
	if (!n || n >= sizeof(digits) || (**s == '0' && n > 1) || **s == '-')
		return false;
	memcpy(digits, *s, n);
	digits[n] = '\0';
	*s = end ? stop + 1 : stop;
	return text_to_i64(digits, 0, INT64_MAX, out);
}

bool sse_id_parse(const char *s, struct sse_id *out)
{
	struct sse_id id;

	if (!part_parse(&s, '.', &id.feed) || !part_parse(&s, '.', &id.trace) ||
		!part_parse(&s, '\0', &id.log))
		return false;
	*out = id;
	return true;
}

bool sse_id_add(struct buf *b, const struct sse_id *id)
{
	return buf_addf(
		b, "id: %" PRId64 ".%" PRId64 ".%" PRId64 "\n", id->feed, id->trace, id->log);
}

bool sse_event_add(struct buf *b, const char *name, const char *data, size_t n)
{
	const size_t before = b->len;
	const char *end = data + n;
	bool ok;

	assert(name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == '\0');
	if (memchr(data, '\r', n) || memchr(data, '\0', n))
		return false;
	ok = buf_addf(b, "event: %s\n", name);
	for (const char *line = data; ok && line;) {
		const char *lf = memchr(line, '\n', (size_t)(end - line));

		ok = buf_adds(b, "data: ") && buf_add(b, line, (size_t)((lf ? lf : end) - line)) &&
		     buf_addc(b, '\n');
		line = lf ? lf + 1 : NULL;
	}
	if (ok && buf_addc(b, '\n'))
		return true;
	b->len = before;
	b->data[before] = '\0';
	return false;
}

bool sse_retry_add(struct buf *b, int64_t ms)
{
	return buf_addf(b, "retry: %" PRId64 "\n\n", ms);
}
