/*
 * Hints to viewers: runners say which logs and runs have something new; one NOTIFY goes at once,
 * then at most one every 20 ms with all that came meanwhile (a NOTIFY per commit would cost several
 * times the commit rate).
 */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "json.h"
#include "pool.h"
#include "queries.h"

#define NOTIFY_MS 20
#define PAYLOAD_MAX 7900 /* PostgreSQL takes less than 8,000 bytes */
#define ID_CHARS 22	 /* a letter, 20 digits, a comma */

static void hint_add(struct worker *w, int64_t id)
{
	size_t i = w->hint_count;

	while (i > 0 && w->hints[i - 1] > id)
		i--;
	if (i > 0 && w->hints[i - 1] == id)
		return;
	if (w->hint_count == w->hint_room) {
		w->hint_room = w->hint_room ? w->hint_room * 2 : 64;
		w->hints = mem_realloc(w->hints, w->hint_room * sizeof(*w->hints));
	}
	memmove(w->hints + i + 1, w->hints + i, (w->hint_count - i) * sizeof(*w->hints));
	w->hints[i] = id;
	w->hint_count++;
}

static void hints_add(struct worker *w, struct json_object *list, bool negative)
{
	for (size_t i = 0; i < json_count(list); i++) {
		int64_t id;

		if (json_as_i64(json_at(list, i), &id) && id > 0)
			hint_add(w, negative ? -id : id);
	}
}

/* One NOTIFY of what fits; the rest stays for the next tick. */
static void notify_send(struct worker *w)
{
	CLEANUP(buf) struct buf payload = BUF_INIT(PAYLOAD_MAX + 1);
	size_t n = 0;
	struct err err;

	for (; n < w->hint_count && payload.len + ID_CHARS < PAYLOAD_MAX; n++) {
		int64_t id = w->hints[n];

		(void)buf_addf(&payload, "%s%c%lld", n ? "," : "", id < 0 ? 'r' : 'l',
			(long long)(id < 0 ? -id : id));
	}
	memmove(w->hints, w->hints + n, (w->hint_count - n) * sizeof(*w->hints));
	w->hint_count -= n;
	/* hints lost with the database are no loss: viewers look again when they reconnect */
	if (!worker_db_up(w))
		return;
	if (!db_query(w->db, Q_WORKER_NOTIFY_LOG, ARGS(db_text(payload.data)), NULL, &err))
		worker_db_failed(w, "notify", &err);
}

static void on_tick(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;

	(void)loop;
	(void)events;
	w->notify_waits = false;
	if (!w->hint_count)
		return;
	notify_send(w);
	w->notify_waits = true;
	watch_set_timer(w->notify_timer, NOTIFY_MS, 0);
}

void notify_start(struct worker *w)
{
	w->notify_timer = loop_add_timer(w->loop, -1, 0, on_tick, w);
}

void notify_hint(struct worker *w, const char *json, size_t n)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct err err;

	if (!json_parse(json, n, &o, &err))
		return;
	hints_add(w, json_get(o, "log"), false);
	hints_add(w, json_get(o, "run"), true);
	if (!w->hint_count || w->notify_waits)
		return;
	notify_send(w);
	w->notify_waits = true;
	watch_set_timer(w->notify_timer, NOTIFY_MS, 0);
}
