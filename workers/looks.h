#pragma once
/* The job kind `look`, and what it may be asked: each answers from what boxd says, which is hostile
 * text, as one JSON object. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "checkout.h"
#include "err.h"
#include "guest.h"
#include "look.h"

struct json_object;
struct runner;

/* An answer's JSON is no longer than this; what does not fit is said to be there. */
#define LOOK_ANSWER_MAX (1u << 20)
#define LOOK_ENTRIES_MAX 10000

struct looking {
	struct runner *r;
	struct guest g;
	int64_t id, deadline;
	struct look_row row;
	struct trees trees;
	struct json_object *request;
};

/* One line of LIST, SEARCH or DIFF; the object is the lines'. */
struct look_line {
	const char *path; /* relative */
	int64_t number;	  /* of a match */
	struct json_object *o;
};

struct look_lines {
	struct look_line *list;
	size_t n;
	struct json_object *done; /* what boxd said at the end */
};
void cleanup_look_lines(struct look_lines *lines);

/* Asks, and takes what comes apart: paths that lead nowhere but down, in their order. */
bool look_lines_get(struct looking *l, enum wire_type type, struct json_object *request,
	struct look_lines *out, struct err *err) NODISCARD;
/* The text member of the job's request; `absent` where it is not there. */
const char *look_text(const struct looking *l, const char *key, const char *absent);
int64_t look_number(const struct looking *l, const char *key, int64_t absent);
/* The path that is looked at, from the root: what does not begin there begins where code runs. */
const char *look_path(const struct looking *l);
/* READ of at most max bytes into out. *size, where it is wanted: of the whole file. */
bool look_bytes(struct looking *l, const char *path, const char *user, int64_t offset, int64_t max,
	struct buf *out, struct json_object **done, struct err *err) NODISCARD;

/* Each fills the answer. */
typedef bool look_fn(struct looking *l, struct json_object *out, struct err *err);
bool look_op_list(struct looking *l, struct json_object *out, struct err *err) NODISCARD;
bool look_op_read(struct looking *l, struct json_object *out, struct err *err) NODISCARD;
bool look_op_search(struct looking *l, struct json_object *out, struct err *err) NODISCARD;
bool look_op_diff(struct looking *l, struct json_object *out, struct err *err) NODISCARD;
bool look_op_get(struct looking *l, struct json_object *out, struct err *err) NODISCARD;
