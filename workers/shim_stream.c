/*
 * Streams and the spool. The frames of an exec are kept encoded, in order, until the runner has
 * acknowledged them after its commit; they are also what a live runner is fed from, so that there
 * is one queue and not two, and a runner that does not read costs the box its credit and us
 * nothing. An acknowledgement in the middle of a frame cuts the frame, so that a replay begins at
 * exactly the first byte that was not acknowledged.
 */
#include "shim.h"

#include <string.h>

#include "pool.h"

/* A runner's queue is filled up to here; more would only be memory. */
#define RUNNER_FILL (256u * 1024)
/* Credit is given in steps, since each one wakes the guest. */
#define CREDIT_STEP (32u * 1024)
/* Frames of one byte cost 21: a window and the spool of those, and some. */
#define STREAM_BUF_MAX (64u * 1024 * 1024)
#define COMPACT_AT (256u * 1024)

static uint32_t get_u32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static bool is_output(unsigned type)
{
	return type == WIRE_STDOUT || type == WIRE_STDERR;
}

bool stream_is_exec(const struct stream *s)
{
	return s->request == WIRE_EXEC;
}

bool stream_sends_data(const struct stream *s)
{
	return s->request == WIRE_TAR_OUT || s->request == WIRE_LIST || s->request == WIRE_READ ||
	       s->request == WIRE_SEARCH || s->request == WIRE_DIFF;
}

struct stream *stream_find(struct shim *shim, uint32_t id)
{
	for (struct stream *s = shim->streams; s; s = s->next)
		if (s->id == id && !s->dead)
			return s;
	return NULL;
}

struct stream *stream_add(struct shim *shim, uint32_t id, enum wire_type request, struct lane *lane)
{
	struct stream *s;

	if (shim->nstreams >= SHIM_STREAMS_MAX)
		return NULL;
	s = mem_alloc(sizeof(*s));
	s->id = id;
	s->request = request;
	s->lane = lane;
	s->tar_credit = WIRE_WINDOW;
	buf_init(&s->frames, STREAM_BUF_MAX);
	s->next = shim->streams;
	shim->streams = s;
	shim->nstreams++;
	return s;
}

static size_t stream_bytes(const struct stream *s)
{
	return s->frames.len - s->head;
}

/* Everything before `to` is kept no longer. */
static void stream_drop(struct shim *shim, struct stream *s, size_t to)
{
	shim->spool_bytes -= to - s->head;
	s->head = to;
	if (s->sent < to)
		s->sent = to;
	if (s->head < s->frames.len && s->head < COMPACT_AT)
		return;
	/* moving the rest costs its length, so it waits until as much has gone */
	if (s->head < s->frames.len / 2)
		return;
	buf_shift(&s->frames, s->head);
	s->sent -= s->head;
	s->head = 0;
}

static bool frame_keep(
	struct shim *shim, struct stream *s, const struct wire_frame *f, struct err *err)
{
	size_t before = s->frames.len;

	if (!wire_add(&s->frames, (enum wire_type)f->type, f->stream, f->payload, f->length))
		return err_set(err, ERR_UPSTREAM, "stream %u: more than can be kept", s->id);
	shim->spool_bytes += s->frames.len - before;
	return true;
}

static bool output_take(struct stream *s, const struct wire_frame *f, struct err *err)
{
	uint64_t offset, n;

	if (!wire_u64(f, &offset) || f->length <= WIRE_OFFSET)
		return err_set(err, ERR_UPSTREAM, "stream %u: output without bytes", s->id);
	n = f->length - WIRE_OFFSET;
	if (offset != s->received)
		return err_set(err, ERR_UPSTREAM, "stream %u: output at %llu, expected %llu", s->id,
			(unsigned long long)offset, (unsigned long long)s->received);
	if (s->received + n > s->credited + WIRE_WINDOW)
		return err_set(err, ERR_UPSTREAM, "stream %u: output beyond its credit", s->id);
	s->received += n;
	return true;
}

void stream_allow(struct stream *s, uint64_t total)
{
	if (total > s->tar_credit)
		s->tar_credit = total;
}

/* The shim keeps what the runner has not read yet: the credit bounds it, whoever wrote boxd. */
static bool tar_take(struct stream *s, const struct wire_frame *f, struct err *err)
{
	s->tar_sent += f->length;
	if (s->tar_sent > s->tar_credit && !s->orphan)
		return err_set(err, ERR_UPSTREAM, "stream %u: archive beyond its credit", s->id);
	return true;
}

/* Which frames of the box belong on a stream that was opened so. */
static bool type_fits(const struct stream *s, const struct wire_frame *f)
{
	switch (f->type) {
	case WIRE_STARTED:
	case WIRE_STDOUT:
	case WIRE_STDERR:
	case WIRE_EXIT:
		return s->request == WIRE_EXEC;
	case WIRE_DATA:
		return stream_sends_data(s);
	case WIRE_CREDIT:
		return s->request == WIRE_EXEC || s->request == WIRE_TAR_IN;
	case WIRE_DONE:
		return s->request != WIRE_EXEC;
	case WIRE_METRICS:
	case WIRE_PROBE:
		return s->request == f->type;
	case WIRE_ERROR:
		return true;
	default:
		return false;
	}
}

static bool is_last(const struct stream *s, const struct wire_frame *f)
{
	return f->type == WIRE_EXIT || f->type == WIRE_DONE || f->type == WIRE_ERROR ||
	       f->type == WIRE_METRICS || (f->type == WIRE_PROBE && s->request == WIRE_PROBE);
}

/* A SIGNAL that came too late, or that failed: not the end of the exec, whose EXIT comes all the
 * same, and so nothing that its runner is to hear. */
static bool is_late_signal(const struct stream *s, const struct wire_frame *f)
{
	return f->type == WIRE_ERROR && stream_is_exec(s) && (s->started || s->ended);
}

bool stream_take(struct shim *shim, struct stream *s, const struct wire_frame *f, struct err *err)
{
	if (is_late_signal(s, f) || (s->ended && f->type == WIRE_CREDIT))
		return true;
	if (s->ended || !type_fits(s, f))
		return err_set(err, ERR_UPSTREAM, "stream %u: %s does not belong there", s->id,
			wire_type_name(f->type));
	if ((is_output(f->type) && !output_take(s, f, err)) ||
		(f->type == WIRE_DATA && !tar_take(s, f, err)))
		return false;
	if (f->type == WIRE_CREDIT) {
		if (!wire_u64(f, &s->stdin_credit))
			return err_set(
				err, ERR_UPSTREAM, "stream %u: credit without a number", s->id);
		s->stdin_news = true;
		return true;
	}
	if (f->type == WIRE_STARTED && s->started)
		return err_set(err, ERR_UPSTREAM, "stream %u: started twice", s->id);
	s->started |= f->type == WIRE_STARTED;
	s->ended = is_last(s, f);
	if (s->ended && shim->question.id && shim->question.stream == s->id)
		question_clear(shim);
	if (s->orphan) {
		s->dead = s->ended;
		return true;
	}
	return frame_keep(shim, s, f, err);
}

/* The first frame loses its first `cut` bytes of output: a new header is written over them. */
static void frame_cut(struct shim *shim, struct stream *s, size_t cut)
{
	unsigned char *old = (unsigned char *)s->frames.data + s->head, *at = old + cut;
	uint32_t length = get_u32(old);
	unsigned char type = old[4];
	uint64_t offset = wire_get_u64(old + WIRE_HEADER);
	size_t was = s->head;

	put_u32(at, length - (uint32_t)cut);
	put_u32(at + 4, type);
	put_u32(at + 8, s->id);
	wire_put_u64(at + WIRE_HEADER, offset + cut);
	s->head = was + cut;
	shim->spool_bytes -= cut;
	/* where the runner was not given the frame yet, it is given the rest of it */
	if (s->sent < s->head)
		s->sent = s->head;
}

bool stream_ack(struct shim *shim, struct stream *s, uint64_t offset)
{
	size_t at = s->head;

	if (offset > s->given)
		return false;
	if (offset > s->acked)
		s->acked = offset;
	while (at < s->frames.len) {
		const unsigned char *p = (const unsigned char *)s->frames.data + at;
		size_t total = WIRE_HEADER + get_u32(p);

		if (p[4] == WIRE_STARTED) {
			if (!offset && at >= s->sent)
				break;
		} else if (!is_output(p[4]) ||
			   wire_get_u64(p + WIRE_HEADER) + total - WIRE_HEADER - WIRE_OFFSET >
				   offset) {
			break;
		}
		at += total;
	}
	stream_drop(shim, s, at);
	if (s->head < s->frames.len) {
		const unsigned char *p = (const unsigned char *)s->frames.data + s->head;
		uint64_t first = is_output(p[4]) ? wire_get_u64(p + WIRE_HEADER) : offset;

		if (first < offset)
			frame_cut(shim, s, (size_t)(offset - first));
	}
	return true;
}

static void stream_kill(struct shim *shim, struct stream *s)
{
	shim->spool_bytes -= stream_bytes(s);
	buf_done(&s->frames);
	s->head = s->sent = 0;
	s->dead = true;
}

bool stream_ack_exit(struct shim *shim, struct stream *s)
{
	if (!stream_is_exec(s) || !s->ended)
		return false;
	stream_kill(shim, s);
	return true;
}

void streams_rewind(struct shim *shim, struct lane *lane)
{
	for (struct stream *s = shim->streams; s; s = s->next) {
		if (s->lane != lane || s->dead)
			continue;
		s->sent = s->head;
		s->stdin_news = s->stdin_credit > 0;
	}
}

void streams_orphan(struct shim *shim, struct lane *lane)
{
	unsigned char all[8];

	for (struct stream *s = shim->streams; s; s = s->next) {
		if (s->lane != lane || s->dead || s->orphan || stream_is_exec(s))
			continue;
		if (s->ended) {
			stream_kill(shim, s);
			continue;
		}
		stream_drop(shim, s, s->frames.len);
		s->orphan = true;
		/* so that the box comes to its end: nothing more to read, or nothing to wait for */
		wire_put_u64(all, INT64_MAX);
		if (stream_sends_data(s))
			(void)box_send(shim, WIRE_CREDIT, s->id, all, sizeof(all));
		else if (s->request == WIRE_TAR_IN)
			(void)box_send(shim, WIRE_EOF, s->id, NULL, 0);
	}
}

/* One frame into the runner's queue; false: there is none. */
static bool frame_give(struct shim *shim, struct stream *s, struct peer *to)
{
	const unsigned char *p = (const unsigned char *)s->frames.data + s->sent;
	unsigned char credit[8];
	uint64_t end;
	uint32_t n;

	if (s->stdin_news) {
		wire_put_u64(credit, s->stdin_credit);
		s->stdin_news = false;
		return peer_send(to, WIRE_CREDIT, s->id, credit, sizeof(credit));
	}
	if (s->sent >= s->frames.len)
		return false;
	n = get_u32(p);
	if (!peer_send(to, (enum wire_type)p[4], s->id, p + WIRE_HEADER, n))
		return false;
	s->sent += WIRE_HEADER + n;
	if (is_output(p[4])) {
		end = wire_get_u64(p + WIRE_HEADER) + n - WIRE_OFFSET;
		if (end > s->given)
			s->given = end;
	}
	/* an exec's frames wait for the acknowledgement; a request cannot be continued anyway, and
	 * an exec that never began has nothing to acknowledge */
	if (!stream_is_exec(s) || (s->ended && !s->started)) {
		stream_drop(shim, s, s->sent);
		s->dead = s->ended && s->sent == s->frames.len;
	}
	return true;
}

bool streams_pump(struct shim *shim, struct lane *lane, struct peer *to)
{
	bool gave = true, left = false;

	/* a frame of each in turn, so that a flood on one does not hold the others back */
	while (gave && peer_queued(to) < RUNNER_FILL) {
		gave = false;
		for (struct stream *s = shim->streams; s; s = s->next)
			if (s->lane == lane && !s->dead && !s->orphan)
				gave |= frame_give(shim, s, to);
	}
	for (struct stream *s = shim->streams; s; s = s->next)
		left |= s->lane == lane && !s->dead && !s->orphan && s->sent < s->frames.len;
	return !left;
}

void streams_settle(struct shim *shim)
{
	unsigned char credit[8];

	for (struct stream **at = &shim->streams; *at;) {
		struct stream *s = *at;

		if (s->dead) {
			stream_kill(shim, s);
			*at = s->next;
			shim->nstreams--;
			free(s);
			continue;
		}
		at = &s->next;
		/* a window of its own is never refused, or one flood would stop every other stream
		 */
		if (s->ended || s->received < s->credited + CREDIT_STEP ||
			(stream_bytes(s) >= WIRE_WINDOW && shim->spool_bytes >= SHIM_SPOOL_MAX))
			continue;
		wire_put_u64(credit, s->received);
		if (box_send(shim, WIRE_CREDIT, s->id, credit, sizeof(credit)))
			s->credited = s->received;
	}
}

void streams_free(struct shim *shim)
{
	while (shim->streams) {
		struct stream *s = shim->streams;

		shim->streams = s->next;
		buf_done(&s->frames);
		free(s);
	}
}
