#pragma once
/*
 * THE table of the gate's routes: what a box may ask for by name, and where it goes. A route maps
 * a request to an upstream URL or refuses it with a reason; the credential, where there is one, is
 * added here and nowhere else.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "gate_http.h"

struct config;
struct pool;

/* Who asks: facts from rows, never from the box. */
struct gate_caller {
	int64_t account_id, box_id, run_id; /* run_id 0: a box without a run */
	int64_t turn_id;		    /* of lane drive, under way; 0: none is */
	const char *box;
	const char *repos;     /* JSON of runs.repos, "[]" without a run */
	const char *model_key; /* the account's own; NULL: the site's is taken */
	const char *egress;    /* boxes.egress: only routes of this word are served */
};

struct gate_target {
	const char *url;  /* upstream, operator-set base + checked path; NULL: answered locally */
	const char *what; /* canonical name for the egress row: "host/owner/name" */
	const char *headers[8]; /* added upstream: "Name: value"; may hold a secret, never logged */
	size_t nheaders;
	const char *key;	 /* of headers: its bytes do not come down again */
	const char *from, *into; /* replaced in the answer; NULL: nothing is */
};

struct gate_route {
	const char *name;   /* in the egress row */
	const char *prefix; /* "/git/" */
	const char *egress; /* what boxes.egress must say: "run" or "packages" */
	/* ERR_FORBIDDEN with reason: policy says no; ERR_NOT_FOUND: nothing set up for it. */
	bool (*map)(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
		const struct http_request *req, struct gate_target *to, struct err *err);
	const char *const *pass_up;   /* request headers that go through, lower case, NULL-ended */
	const char *const *pass_down; /* response headers; a trailing '*' matches the rest */
	int64_t body_max;	      /* of a request, bytes; 0: no limit */
	bool is_model;		      /* metered; refusals are JSON as the model's API has them */
	bool is_package;	      /* counted against the box's byte budget */
};

/* The route that the path belongs to, or NULL. */
const struct gate_route *gate_route_find(const char *path);
bool gate_header_passes(const char *const *list, const char *name, size_t n);
extern const struct gate_route gate_routes[]; /* ended by a row without a name */
