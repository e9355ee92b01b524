/*
 * The streams: opening one at the place its client is at, what all of them are sent from time to
 * time, and their end. What comes from rows is handed out by live_turn.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "live.h"
#include "live_request.h"
#include "log.h"
#include "pool.h"
#include "random.h"
#include "text.h"

/* A client that is behind as far as we let it (CONN_PENDING_LOW) and takes nothing for this long is
 * dropped: it resumes from its last id, and nothing is held for it meanwhile. One that takes bytes,
 * however slowly, is sent more as it does. */
#define STALLED_MS 5000
/* The same for one that has just a little pending. */
#define SILENT_MS 60000
/* Headers, hello, a gap, and the snapshot: JSON on every door ends at 8 MiB. */
#define OPENING_MAX (9 * 1024 * 1024)

/* --- one stream --- */

bool stream_send(struct stream *s, const struct buf *text)
{
	if (!s->dead && (text->failed || !conn_send(&s->conn, text->data, text->len)))
		stream_kill(s);
	return !s->dead;
}

void stream_kill(struct stream *s)
{
	s->dead = true;
	s->live->reap = true;
}

/* No more rows for it; what is pending is still written. */
static void stream_leave(struct stream *s)
{
	for (int kind = 0; kind < SOURCE_KIND__COUNT; kind++)
		source_leave(s->live, &s->subs[kind]);
}

static void stream_end(struct stream *s)
{
	stream_leave(s);
	if (!conn_end(&s->conn))
		stream_kill(s);
}

static void stream_free(struct stream *s)
{
	struct live *live = s->live;

	stream_leave(s);
	if (s->prev)
		s->prev->next = s->next;
	else
		live->streams = s->next;
	if (s->next)
		s->next->prev = s->prev;
	live->nstreams--;
	conn_done(&s->conn);
	free(s);
}

void streams_reap(struct live *live)
{
	if (!live->reap)
		return;
	live->reap = false;
	for (struct stream *s = live->streams, *next; s; s = next) {
		next = s->next;
		if (s->dead)
			stream_free(s);
	}
}

static void stream_gone(struct conn *c)
{
	stream_free((struct stream *)c);
}

static void stream_drained(struct conn *c)
{
	struct stream *s = (struct stream *)c;

	source_resume(s->live, s);
}

static const struct conn_events stream_events = {stream_gone, stream_drained};

bool stream_open(struct live *live, const struct live_request *lr, int fd, struct err *err)
{
	CLEANUP(buf) struct buf first = BUF_INIT(OPENING_MAX);
	CLEANUP(free) struct stream *s = mem_alloc(sizeof(*s));
	struct stream *opened;

	s->live = live;
	s->account_id = lr->caller.account_id;
	s->caller = lr->caller.kind;
	s->caller_id = lr->caller.id;
	if (!stream_prepare(live, lr, s, &first, err))
		return false;
	opened = STEAL(s);
	conn_init(&opened->conn, live->loop, &live->nconns, fd, lr->id, &stream_events);
	opened->next = live->streams;
	if (opened->next)
		opened->next->prev = opened;
	live->streams = opened;
	live->nstreams++;
	callers_note(live, opened->caller_id);
	if (!stream_send(opened, &first)) {
		streams_reap(live);
		return true;
	}
	source_join(live, opened, SOURCE_FEED, 0);
	if (opened->run_id) {
		source_join(live, opened, SOURCE_TRACE, opened->run_id);
		source_join(live, opened, SOURCE_LOG, opened->log_id);
	}
	return true;
}

/* --- all of them --- */

void streams_beat(struct live *live)
{
	CLEANUP(buf) struct buf text = BUF_INIT(256), json = BUF_INIT(128);
	char now[TIME_TEXT_SIZE];

	time_text(time_now_ms(), now);
	(void)buf_addf(&json, "{\"server_time\":\"%s\"}", now);
	(void)sse_event_add(&text, "hb", json.data, json.len);
	for (struct stream *s = live->streams; s; s = s->next)
		if (!s->conn.out.len) /* else it has something to read already */
			(void)stream_send(s, &text);
	streams_reap(live);
}

void streams_check_stalled(struct live *live)
{
	const int64_t now = time_boot_ms();

	for (struct stream *s = live->streams; s; s = s->next) {
		const int64_t still = now - s->conn.moved_ms;

		if (!s->conn.out.len || still < (s->conn.blocked ? STALLED_MS : SILENT_MS))
			continue;
		log_info("live account=%" PRId64 " run=%" PRId64 " slow reader dropped pending=%zu",
			s->account_id, s->run_id, s->conn.out.len);
		stream_kill(s);
	}
	streams_reap(live);
}

void streams_revoke(struct live *live, const struct callers *good)
{
	for (struct stream *s = live->streams; s; s = s->next)
		if (!callers_has(good, s->caller, s->caller_id))
			stream_end(s);
	streams_reap(live);
}

void streams_close(struct live *live)
{
	while (live->streams)
		stream_free(live->streams);
}

void streams_stop(struct live *live)
{
	for (struct stream *s = live->streams; s; s = s->next) {
		CLEANUP(buf) struct buf text = BUF_INIT(64);
		uint16_t jitter;

		random_bytes(&jitter, sizeof(jitter));
		(void)sse_retry_add(&text, 1000 + jitter % 2001);
		if (stream_send(s, &text))
			stream_end(s);
	}
	streams_reap(live);
}
