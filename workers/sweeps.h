#pragma once
/*
 * THE table of sweeps: chores that the worker does by the clock. Each looks at the rows (and the
 * processes) anew, so that a missed turn costs nothing but time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct config;
struct worker;

struct sweep {
	const char *name;
	int64_t period_ms; /* 0: reap_ms of the settings */
	bool (*run)(struct worker *w, struct err *err);
};

extern const struct sweep sweeps[]; /* ends with a NULL name */
void sweeps_start(struct worker *w);
void sweeps_end(struct worker *w);

/* --- sweep_pool.c --- */
bool sweep_pool(struct worker *w, struct err *err) NODISCARD;
/* Boxes that are kept ahead of each image and class on a host of so many bytes; 0: there is no
 * pool. */
int64_t box_pool_level(const struct config *cfg, int64_t memory);

/* --- sweep_boxes.c --- */
bool sweep_lost_boxes(struct worker *w, struct err *err) NODISCARD;
bool sweep_orphans(struct worker *w, struct err *err) NODISCARD;
bool sweep_pings(struct worker *w, struct err *err) NODISCARD;
void boxes_forget(struct worker *w);
