#pragma once
/*
 * Saving the work: the patch against the baseline, the commits as a bundle where HEAD moved, and
 * what lies in /artifacts. Each becomes a blob, under the caps of the settings.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "guest.h"

struct runner;
struct trees;

struct results {
	int64_t patch_id, bundle_id; /* 0: none */
	int64_t artifacts;
	int64_t before; /* the run's newest blob when the save began */
	char note[200]; /* what could not be saved, for turns.detail; "" if nothing */
};

/* What can be saved is saved; the rest is said in note. Begins anew where the database was away.
 * False only where the box or the fence is gone. */
bool results_save(struct guest *g, const struct trees *trees, int64_t run_id, int64_t turn_id,
	int64_t deadline, struct results *out, struct err *err) NODISCARD;
/* The patch of one tree as it is now, in the box's own words, beside whatever saves it. */
bool results_patch(struct guest *g, const char *name, guest_sink *sink, void *arg, int64_t deadline,
	struct err *err) NODISCARD;
/* In the transaction that names them in the turn's row: drops what earlier saves left of the same.
 * An incomplete save drops nothing. */
bool results_replace(struct runner *r, const struct results *saved, int64_t run_id, int64_t turn_id,
	struct err *err) NODISCARD;
