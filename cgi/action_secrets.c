/*
 * secrets, secret_set, secret_delete: what the account has entered for the gate to use, told by
 * name and time alone. A value comes in and is sealed; no door gives one out.
 */
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "queries.h"
#include "secret.h"
#include "site.h"

struct secret_input {
	const char *name, *value;
};

static const struct field set_fields[] = {
	FIELD(WORD, struct secret_input, name, .words = secret_names, .required = true,
		.help = "Which one, as secrets lists them."),
	FIELD(TEXT, struct secret_input, value, .required = true, .max = SECRET_VALUE_MAX,
		.help = "The secret itself, visible ASCII characters without spaces.",
		.fix = "Paste the secret."),
};

static const struct field delete_fields[] = {
	FIELD(WORD, struct secret_input, name, .words = secret_names, .required = true,
		.help = "Which one, as secrets lists them."),
};

static struct json_object *kind(struct call *c, enum secret_id id, const struct result *rows)
{
	struct json_object *o = json_new_object();
	int row = 0;

	while (row < rows->rows && strcmp(result_text(rows, row, 0), secret_names[id]) != 0)
		row++;
	json_add_text(o, "name", secret_names[id]);
	json_add_text(o, "title", secret_kinds[id].title);
	json_add_text(o, "use", secret_kinds[id].use);
	json_add_bool(o, "set", row < rows->rows);
	json_add_bool(o, "site", secret_is_of_site(c->site->cfg, id));
	for (int i = 1; i < 4; i++) {
		static const char *const times[] = {"", "created_at", "updated_at", "last_used_at"};

		json_add_text(o, times[i],
			row < rows->rows && !result_is_null(rows, row, i)
				? result_text(rows, row, i)
				: NULL);
	}
	return o;
}

static bool secrets(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	CLEANUP(result) struct result rows = {0};
	struct json_object *list;

	(void)input;
	if (!db_query(c->db, Q_SECRET_LIST, ARGS(db_i64(c->caller.account_id)), &rows, err))
		return false;
	list = json_new_array();
	for (int id = 0; id < SECRET__COUNT; id++)
		json_push(list, kind(c, (enum secret_id)id, &rows));
	json_add(o, "secrets", list);
	return call_answer(c, 200, o);
}

static bool secret_set(struct call *c, const void *input, struct err *err)
{
	const struct secret_input *in = input;

	/* a kept answer would need a hash of what was sent */
	if (*c->rq->idempotency_key)
		return err_set(err, ERR_INVALID, "Idempotency-Key: is not taken here");
	if (!secret_is_value(in->value)) {
		(void)err_set(err, ERR_INVALID,
			"value: visible ASCII characters without spaces are wanted");
		return err_advise(
			err, "field", "Paste the secret alone, without what stood around it.");
	}
	c->subject = in->name;
	if (!secret_put(c->db, c->pool, c->caller.account_id, in->name, in->value, err))
		return false;
	response_json(c->rs, 200, "{\"set\":true}");
	return true;
}

static bool secret_remove(struct call *c, const void *input, struct err *err)
{
	const struct secret_input *in = input;

	c->subject = in->name;
	if (!secret_delete(c->db, c->caller.account_id, in->name, err))
		return false;
	response_json(c->rs, 200, "{\"set\":false}");
	return true;
}

const struct action action_secrets = {
	.name = "secrets",
	.summary =
		"The secrets that the gate can use for the account, and which are entered; never "
		"a secret itself.",
	.method = "GET",
	.path = "/secrets.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.answers = "200 `{\"secrets\":[{\"name\",\"title\",\"use\",\"set\",\"site\",\"created_at\","
		   "\"updated_at\",\"last_used_at\"}]}`; site: the operator has set one for all",
	.run = secrets,
};

const struct action action_secret_set = {
	.name = "secret_set",
	.summary = "Enter a secret, or put it in the place of the one before. Nobody can read it "
		   "back.",
	.method = "POST",
	.path = "/secret_set.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct secret_input),
	ACTION_FIELDS(set_fields),
	.answers = "200 {\"set\":true}; Idempotency-Key is not taken",
	.run = secret_set,
};

const struct action action_secret_delete = {
	.name = "secret_delete",
	.summary = "Remove a secret. Removing it again changes nothing.",
	.method = "POST",
	.path = "/secret_delete.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct secret_input),
	ACTION_FIELDS(delete_fields),
	.answers = "200 {\"set\":false}",
	.run = secret_remove,
};
