/*
 * Patches on a snapshot: the members that are there replace those that were. Ids are few, so lists
 * are gone through.
 */
#include "fleetview.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"

#define NARROW 60 /* a row without its title has 37 */

void fleetview_done(struct fleetview *v)
{
	json_free(v->fleet);
	v->fleet = NULL;
}

void fleetview_set(struct fleetview *v, struct json_object *fleet_taken)
{
	json_free(v->fleet);
	v->fleet = fleet_taken;
	v->changed = true;
	v->stale = false;
}

static struct json_object *find(struct json_object *list, const char *key, const char *value)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (!strcmp(cli_text(json_at(list, i), key), value))
			return json_at(list, i);
	return NULL;
}

static void merge(struct json_object *into, struct json_object *patch)
{
	const char *key;

	for (size_t i = 0; (key = json_key_at(patch, i)); i++)
		json_add(into, key, json_share(json_get(patch, key)));
}

/* A run or a box: changed where it is known, else new. */
static void patch(struct fleetview *v, const char *list, const char *key, const char *name,
	struct json_object *data, bool only_known)
{
	struct json_object *rows = json_get(v->fleet, list);
	struct json_object *row = *name ? find(rows, key, name) : NULL;

	if (row)
		merge(row, data);
	else if (rows && *name && !only_known)
		json_push(rows, json_share(data));
	v->changed = true;
}

void fleetview_take(struct fleetview *v, const struct eventstream_event *e)
{
	CLEANUP(json) struct json_object *data = NULL;
	struct err ignored;

	if (!json_parse(e->data, e->size, &data, &ignored) || !json_is_object(data))
		return;
	if (!strcmp(e->type, "fleet")) {
		fleetview_set(v, json_share(data));
	} else if (!strcmp(e->type, "gap")) {
		v->stale = true;
	} else if (!v->fleet) {
		return;
	} else if (!strcmp(e->type, "run") || !strcmp(e->type, "activity")) {
		patch(v, "runs", "session", cli_text(data, "session"), data, *e->type == 'a');
	} else if (!strcmp(e->type, "box")) {
		/* the event says box where a BOX has name */
		json_add_text(data, "name", cli_text(data, "box"));
		patch(v, "boxes", "name", cli_text(data, "name"), data, false);
	}
}

/* "3 m" since a time of the API; "" where there is none. */
static const char *age(struct pool *pool, const char *since, int64_t now_ms)
{
	struct tm tm = {0};
	int64_t s;

	if (!*since || !strptime(since, "%Y-%m-%dT%H:%M:%S", &tm))
		return "";
	s = now_ms / 1000 - timegm(&tm);
	if (s < 0)
		s = 0;
	if (s < 120)
		return pool_printf(pool, "%lld s", (long long)s);
	return s < 7200 ? pool_printf(pool, "%lld m", (long long)(s / 60))
			: pool_printf(pool, "%lld h", (long long)(s / 3600));
}

static const char *const gone[] = {"gone", "destroyed", "lost", NULL};

static bool lives(struct json_object *box)
{
	for (size_t i = 0; gone[i]; i++)
		if (!strcmp(cli_text(box, "state"), gone[i]))
			return false;
	return true;
}

static void counts(const struct fleetview *v, struct pool *pool, fleetview_fn *fn, void *arg)
{
	struct json_object *runs = json_get(v->fleet, "runs"), *boxes = json_get(v->fleet, "boxes");
	size_t running = 0, waiting = 0, live = 0;

	for (size_t i = 0; i < json_count(runs); i++) {
		const char *state = cli_text(json_at(runs, i), "state");

		running += !strcmp(state, "running") || !strcmp(state, "starting") ||
			   !strcmp(state, "queued");
		waiting += !strcmp(state, "waiting");
	}
	for (size_t i = 0; i < json_count(boxes); i++)
		live += lives(json_at(boxes, i));
	fn(arg, pool_printf(pool, "%zu under way, %zu waiting for an answer, %zu boxes", running,
			waiting, live));
}

/* On a narrow screen, a telephone's, what a run is about has a line of its own. */
static bool is_narrow(const struct fleetview *v)
{
	return v->columns && v->columns < NARROW;
}

static void run_line(const struct fleetview *v, struct pool *pool, struct json_object *r,
	int64_t now_ms, fleetview_fn *fn, void *arg)
{
	struct json_object *question = json_get(r, "question");
	const char *says = cli_text(question, "text"), *lead = "? ", *row, *about;

	if (!*says || strcmp(cli_text(r, "state"), "waiting") != 0) {
		says = cli_text(json_get(r, "last"), "text");
		lead = "";
	}
	row = pool_printf(pool, "%-20s  %-8s  %5s", cli_text(r, "session"), cli_text(r, "state"),
		age(pool, cli_text(r, "created_at"), now_ms));
	about = pool_printf(pool, "  %s%s%s%.120s", cli_line(pool, cli_text(r, "title")),
		*says ? " | " : "", lead, cli_line(pool, says));
	if (is_narrow(v)) {
		fn(arg, row);
		fn(arg, about);
	} else {
		fn(arg, pool_printf(pool, "%s%s", row, about));
	}
}

void fleetview_lines(const struct fleetview *v, int64_t now_ms, fleetview_fn *fn, void *arg)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct json_object *runs = json_get(v->fleet, "runs"), *boxes = json_get(v->fleet, "boxes");

	counts(v, pool, fn, arg);
	fn(arg, "");
	fn(arg, pool_printf(pool, "%-20s  %-8s  %5s%s", "SESSION", "STATE", "AGE",
			is_narrow(v) ? "" : "  TITLE"));
	for (size_t i = 0; i < json_count(runs); i++)
		run_line(v, pool, json_at(runs, i), now_ms, fn, arg);
	fn(arg, "");
	fn(arg, pool_printf(pool, "%-20s  %-8s  %-5s  %s", "BOX", "STATE", "CLASS", "IMAGE"));
	for (size_t i = 0; i < json_count(boxes); i++) {
		struct json_object *b = json_at(boxes, i);

		if (lives(b))
			fn(arg, pool_printf(pool, "%-20s  %-8s  %-5s  %s", cli_text(b, "name"),
					cli_text(b, "state"), cli_text(b, "class"),
					cli_line(pool, cli_text(b, "image"))));
	}
}
