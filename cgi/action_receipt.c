/*
 * receipt: the signed record of an exec or of a turn that has ended.
 */
#include "action.h"
#include "cleanup.h"
#include "queries.h"

struct receipt_input {
	const char *exec, *session;
	int64_t turn;
};

static const struct field fields[] = {
	FIELD(TEXT, struct receipt_input, exec, .max = 64, .help = "The exec, or"),
	FIELD(TEXT, struct receipt_input, session, .max = 64, .help = "the run of the turn."),
	FIELD(INT, struct receipt_input, turn, .max = INT32_MAX, .help = "Its turn; 0: the last."),
};

static bool run_receipt(struct call *c, const void *input, struct err *err)
{
	const struct receipt_input *in = input;
	const int64_t account = c->caller.account_id;
	CLEANUP(result) struct result res = {0};
	bool ok;

	if (!in->exec == !in->session) {
		(void)err_set(err, ERR_INVALID, "exec, session: give one of them");
		return err_advise(err, "field", "exec names an exec, session and turn a turn.");
	}
	c->subject = in->exec ? in->exec : in->session;
	ok = in->exec ? db_query(c->db, Q_RECEIPT_OF_EXEC, ARGS(db_i64(account), db_text(in->exec)),
				&res, err)
		      : db_query(c->db, Q_RECEIPT_OF_TURN,
				ARGS(db_i64(account), db_text(in->session), db_i64(in->turn)), &res,
				err);
	if (!ok)
		return false;
	if (!res.rows) {
		(void)err_set(err, ERR_NOT_FOUND, "no such %s", in->exec ? "exec" : "turn");
		return err_advise(err, NULL,
			in->exec ? "GET /processes.json?sandbox_id= lists what ran in a sandbox."
				 : "GET /status.json?session= says how many turns there are.");
	}
	if (!result_bool(&res, 0, 0)) {
		(void)err_set(err, ERR_CONFLICT, "it has not ended");
		return err_advise(err, "not_ended", "ask again when it has");
	}
	if (result_is_null(&res, 0, 1)) {
		(void)err_set(err, ERR_BUSY, "it has ended, and its receipt is not signed yet");
		return err_advise(err, "not_signed", "ask again in a moment");
	}
	response_json(c->rs, 200, result_text(&res, 0, 1));
	return true;
}

const struct action action_receipt = {
	.name = "receipt",
	.summary = "The signed record of an exec or a turn: what ran, what came out, and when.",
	.method = "GET",
	.path = "/receipt.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct receipt_input),
	ACTION_FIELDS(fields),
	.answers = "200 RECEIPT (docs/receipts.md); 409 while it has not ended",
	.run = run_receipt,
};
