/*
 * Asking for a look.
 */
#include "looks.h"

#include "json.h"
#include "pool.h"
#include "queries.h"

bool call_look(struct call *c, const struct look_box *box, enum look_op op,
	struct json_object *request, struct err *err)
{
	const struct look_new look = {
		.account_id = c->caller.account_id,
		.sandbox = box->sandbox_id,
		.session = box->session,
		.op = op,
		.request = json_text(request, c->pool),
		.request_id = c->rq->id,
	};
	char name[ID_SIZE];

	c->subject = box->sandbox_id ? box->sandbox_id : box->session;
	if (!box->sandbox_id == !box->session) {
		(void)err_set(err, ERR_INVALID, "sandbox_id, session: give one of them");
		return err_advise(err, "field",
			"sandbox_id is what create_sandbox answered, session what delegate did.");
	}
	if (!look_submit(c->db, &look, name, err))
		return false;
	if (box->wait_ms) {
		call_wait(c, "look", pool_strdup(c->pool, name), 0, box->wait_ms);
		return true;
	}
	return call_json(c, 202, Q_READ_LOOK, ARGS(db_text(name), db_i64(c->caller.account_id)),
		"look", err);
}
