/*
 * Cutting output into chunks. Bytes are held once, in order; chunks and the times of newlines are
 * lists beside them, so that a burst costs no copying but the one in.
 */
#include "logsink.h"

#include <string.h>

#include "pool.h"
#include "redact.h"

void logsink_init(
	struct logsink *s, int64_t last_seq, int64_t next_line, uint64_t src_end, uint64_t base)
{
	memset(s, 0, sizeof(*s));
	buf_init(&s->bytes, LOGSINK_HELD + 256u * 1024);
	buf_init(&s->bodies, 2 * s->bytes.max);
	s->next_seq = last_seq + 1;
	s->next_line = next_line;
	s->base = base;
	s->next_off = s->safe_off = src_end > base ? src_end - base : 0;
}

void logsink_done(struct logsink *s)
{
	buf_done(&s->bytes);
	buf_done(&s->bodies);
	free(s->chunks);
	free(s->newlines);
	s->chunks = NULL;
	s->newlines = NULL;
}

void cleanup_logsink(struct logsink *s)
{
	logsink_done(s);
}

static struct chunk *chunk_open(struct logsink *s, int stream, int64_t now_ms)
{
	struct chunk *c;

	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 16;
		s->chunks = mem_realloc(s->chunks, s->room * sizeof(*s->chunks));
	}
	c = &s->chunks[s->count++];
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there is room */
	memset(c, 0, sizeof(*c));
	c->stream = stream;
	c->at = s->bytes.len;
	c->newline = s->newline_count;
	c->first_ms = c->line_ms = now_ms;
	return c;
}

static void newline_add(struct logsink *s, int64_t now_ms)
{
	if (s->newline_count == s->newline_room) {
		s->newline_room = s->newline_room ? s->newline_room * 2 : 256;
		s->newlines = mem_realloc(s->newlines, s->newline_room * sizeof(*s->newlines));
	}
	s->newlines[s->newline_count++] = now_ms;
}

/* Where the last line of the chunk begins: 0 where it has no newline, its size where it ends in
 * one. */
static size_t chunk_cut(const struct logsink *s, const struct chunk *c)
{
	const char *start = s->bytes.data + c->at;
	const char *last = c->nlines ? memrchr(start, '\n', c->size) : NULL;

	return last ? (size_t)(last - start) + 1 : 0;
}

/* Moves what follows the chunk's last newline into a chunk of its own. */
static void chunk_split(struct logsink *s, size_t i)
{
	size_t cut = chunk_cut(s, &s->chunks[i]);
	struct chunk *rest, *c;

	if (!cut || cut == s->chunks[i].size)
		return;
	rest = chunk_open(s, s->chunks[i].stream, s->chunks[i].line_ms);
	c = &s->chunks[i];
	rest->at = c->at + cut;
	rest->size = c->size - cut;
	c->size = cut;
}

static void chunk_fill(struct logsink *s, int stream, const char *p, size_t n, int64_t now_ms)
{
	while (n) {
		struct chunk *c = s->count > s->ready ? &s->chunks[s->count - 1] : NULL;
		const char *end;
		size_t take;

		if (!c || c->stream != stream || c->size == LOGSINK_CHUNK)
			c = chunk_open(s, stream, now_ms);
		take = n < LOGSINK_CHUNK - c->size ? n : LOGSINK_CHUNK - c->size;
		end = memchr(p, '\n', take);
		if (end)
			take = (size_t)(end - p) + 1;
		if (c->size && s->bytes.data[c->at + c->size - 1] == '\n')
			c->line_ms = now_ms;
		(void)buf_add(&s->bytes, p, take);
		c->size += take;
		if (end) {
			newline_add(s, now_ms);
			c->nlines++;
		}
		p += take;
		n -= take;
		if (c->size == LOGSINK_CHUNK)
			chunk_split(s, s->count - 1);
	}
}

bool logsink_feed(struct logsink *s, uint64_t off, int stream, const void *data, size_t n,
	int64_t now_ms, struct err *err)
{
	const char *p = data;

	if (off > s->next_off || off + n < off) {
		(void)err_set(err, ERR_UPSTREAM, "output continues at %llu, expected %llu",
			(unsigned long long)off, (unsigned long long)s->next_off);
		return err_advise(err, "protocol", NULL);
	}
	if (off + n <= s->next_off)
		return true;
	p += s->next_off - off;
	n -= (size_t)(s->next_off - off);
	if (s->bytes.len + n > s->bytes.max)
		return err_set(err, ERR_INTERNAL, "output fed past what may be held");
	chunk_fill(s, stream, p, n, now_ms);
	s->next_off += n;
	return true;
}

int64_t logsink_wait_ms(const struct logsink *s, int64_t now_ms)
{
	const struct chunk *c;
	int64_t due;

	if (s->count == s->ready)
		return -1;
	c = &s->chunks[s->ready];
	if (s->bytes.len >= LOGSINK_CHUNK || s->count > s->ready + 1)
		due = s->bytes.len >= LOGSINK_CHUNK ? now_ms : c->first_ms + LOGSINK_FLUSH_MS;
	else if (c->nlines)
		due = c->first_ms + LOGSINK_FLUSH_MS;
	else
		due = c->line_ms + LOGSINK_PARTIAL_MS;
	return due > now_ms ? due - now_ms : 0;
}

/* Makes the chunk's body. A secret may go on after a chunk that does not end a line: its beginning
 * is left to the next chunk of the stream, so that src_off and src_len stay true to what is there.
 */
static void chunk_body(struct logsink *s, size_t i, int64_t now_ms, bool all)
{
	struct chunk *c = &s->chunks[i], *next = i + 1 < s->count ? c + 1 : NULL;
	const char *p = s->bytes.data + c->at;
	size_t held = 0;

	c->body_at = s->bodies.len;
	if (!s->redactor) {
		(void)buf_add(&s->bodies, p, c->size);
	} else {
		redact(s->redactor, p, c->size, &s->bodies);
		if (p[c->size - 1] != '\n' && (next ? next->stream == c->stream : !all))
			held = redact_held(s->redactor);
		if (held >= c->size)
			held = c->size - 1;
		if (held) {
			/* again, without the tail, which the redactor must see as a beginning later
			 */
			s->bodies.len = c->body_at;
			redact_end(s->redactor, &s->bodies);
			s->bodies.len = c->body_at;
			redact(s->redactor, p, c->size - held, &s->bodies);
		}
		redact_end(s->redactor, &s->bodies);
	}
	c->body_size = s->bodies.len - c->body_at;
	if (!held)
		return;
	if (!next) {
		next = chunk_open(s, c->stream, now_ms);
		c = &s->chunks[i];
		next->at = c->at + c->size;
	}
	next->at -= held;
	next->size += held;
	c->size -= held;
}

/* A chunk past what is kept: its row stands for its bytes, so that offsets and lines go on. */
static void chunk_drop(struct logsink *s, struct chunk *c)
{
	static const char notice[] = "[the log is full: what follows is not kept]\n";

	c->dropped = true;
	c->body_at = s->bodies.len;
	if (!s->full)
		(void)buf_adds(&s->bodies, notice);
	s->full = true;
	c->body_size = s->bodies.len - c->body_at;
}

size_t logsink_take(struct logsink *s, int64_t now_ms, bool all)
{
	int64_t line = s->next_line;
	uint64_t off = s->base + s->safe_off;

	if (s->ready || !s->count)
		return s->ready;
	s->ready = s->count < LOGSINK_TAKE ? s->count : LOGSINK_TAKE;
	if (!all && s->ready == s->count &&
		s->chunks[s->count - 1].line_ms + LOGSINK_PARTIAL_MS > now_ms) {
		size_t last = s->count - 1, cut = chunk_cut(s, &s->chunks[last]);

		if (cut && cut < s->chunks[last].size)
			chunk_split(s, last);
		else if (!cut && s->chunks[last].size < LOGSINK_CHUNK)
			s->ready--;
	}
	buf_reset(&s->bodies);
	for (size_t i = 0; i < s->ready; i++) {
		struct chunk *c;

		if (s->keep && off >= s->keep)
			chunk_drop(s, &s->chunks[i]);
		else
			chunk_body(s, i, now_ms, all);
		c = &s->chunks[i];
		c->seq = s->next_seq + (int64_t)i;
		c->first_line = line;
		c->src_off = off;
		line += c->nlines;
		off += c->size;
	}
	return s->ready;
}

void logsink_drop(struct logsink *s)
{
	size_t bytes = 0, newlines = 0;

	if (!s->ready)
		return;
	for (size_t i = 0; i < s->ready; i++) {
		bytes += s->chunks[i].size;
		newlines += (size_t)s->chunks[i].nlines;
	}
	s->next_seq += (int64_t)s->ready;
	s->next_line += (int64_t)newlines;
	s->safe_off += bytes;
	buf_shift(&s->bytes, bytes);
	s->count -= s->ready;
	s->newline_count -= newlines;
	memmove(s->chunks, s->chunks + s->ready, s->count * sizeof(*s->chunks));
	if (newlines)
		memmove(s->newlines, s->newlines + newlines,
			s->newline_count * sizeof(*s->newlines));
	s->ready = 0;
	for (size_t i = 0; i < s->count; i++) {
		s->chunks[i].at -= bytes;
		s->chunks[i].newline -= newlines;
	}
}
