/*
 * look_get: a look that was not waited for, as it is now.
 */
#include <string.h>

#include "cleanup.h"
#include "looks.h"
#include "pool.h"
#include "queries.h"

struct look_input {
	const char *look;
	int64_t wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct look_input, look, .required = true, .max = 64, .help = "The look.",
		.fix = "Name the look: it is in the answer with 202."),
	FIELD(INT, struct look_input, wait_ms, .max = 600000, .value = LOOK_WAIT_MS,
		.help = "Wait this long for the answer."),
};

static bool get(struct call *c, const void *input, struct err *err)
{
	const struct look_input *in = input;
	CLEANUP(result) struct result res = {0};

	c->subject = in->look;
	if (!db_query(c->db, Q_READ_LOOK, ARGS(db_text(in->look), db_i64(c->caller.account_id)),
		    &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such look: they are kept for an hour");
	if (!strcmp(result_text(&res, 0, 1), "failed"))
		return look_error(result_text(&res, 0, 2), result_text(&res, 0, 3),
			result_text(&res, 0, 4), err);
	if (!strcmp(result_text(&res, 0, 1), "queued") && in->wait_ms) {
		call_wait(c, "look", in->look, 0, in->wait_ms);
		return true;
	}
	response_json(c->rs, !strcmp(result_text(&res, 0, 1), "done") ? 200 : 202,
		result_text(&res, 0, 0));
	return true;
}

const struct action action_look_get = {
	.name = "look_get",
	.summary = "A look that was answered with 202, as it is now.",
	.method = "GET",
	.path = "/look.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct look_input),
	ACTION_FIELDS(fields),
	.answers = "200 LOOK; 202 LOOK where it is not there in time",
	.run = get,
};
