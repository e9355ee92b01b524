#pragma once
/*
 * The fleet as the stream of events tells it, and as lines of text: the state behind asb monitor.
 */
#include <stdbool.h>
#include <stdint.h>

#include "eventstream.h"

struct json_object;
struct pool;

struct fleetview {
	struct json_object *fleet; /* as /fleet.json; NULL: nothing is known yet */
	bool changed;
	int columns; /* of the screen; 0: as many as a line has */
	bool stale;  /* patches are missing: it wants a new snapshot */
};

void fleetview_done(struct fleetview *v);
/* Takes one event of /events.sse; what is none of the fleet's is passed over. */
void fleetview_take(struct fleetview *v, const struct eventstream_event *e);
/* Takes a snapshot over. */
void fleetview_set(struct fleetview *v, struct json_object *fleet_taken);
/* Calls fn for each line, in its order; the texts are sane, and gone after the call. now_ms: the
 * wall clock. */
typedef void fleetview_fn(void *arg, const char *line);
void fleetview_lines(const struct fleetview *v, int64_t now_ms, fleetview_fn *fn, void *arg);
