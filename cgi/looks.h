#pragma once
/* What the actions that look into a box share. */
#include "action.h"
#include "look.h"

/* A GET that answers 202 would be of no use: they wait unless told otherwise. */
#define LOOK_WAIT_MS 10000

/* Whose files: the first two fields of each. */
#define LOOK_FIELDS(struct_)                                                                     \
	FIELD(TEXT, struct_, sandbox_id, .max = 64, .help = "The sandbox to look into."),        \
		FIELD(TEXT, struct_, session, .max = 64, .help = "Or the run whose box it is."), \
		FIELD(INT, struct_, wait_ms, .max = 600000, .value = LOOK_WAIT_MS,               \
			.help = "Wait this long for the answer; 0: the look's name at once.")

struct look_box {
	const char *sandbox_id, *session;
	int64_t wait_ms;
};

/* Asks for the look and waits for it. The request stays the caller's. */
bool call_look(struct call *c, const struct look_box *box, enum look_op op,
	struct json_object *request, struct err *err) NODISCARD;
