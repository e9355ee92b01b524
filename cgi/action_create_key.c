/*
 * create_key: an API key, which is shown this once. Its answer is a secret, so it is not kept for
 * an Idempotency-Key.
 */
#include "action.h"
#include "api_key.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"

#include <string.h>

#define LIFETIME_MIN 60000
#define LIFETIME_MAX (3650LL * 24 * 3600 * 1000)

struct create_key {
	const char *title, *scope;
	int64_t lifetime_ms;
};

static const char *const scopes[] = {"run:read", "run:write", "admin", NULL};

static const struct field fields[] = {
	FIELD(TEXT, struct create_key, title, .required = true, .max = API_KEY_TITLE_MAX,
		.help = "What the key is for: the machine or program that will have it.",
		.fix = "Say what the key is for, so that it can be told from others later."),
	FIELD(WORD, struct create_key, scope, .words = scopes, .text = "run:write",
		.help = "What it may do: run:read looks, run:write also makes things run, admin "
			"also makes and revokes keys."),
	FIELD(INT, struct create_key, lifetime_ms, .min = 0, .max = LIFETIME_MAX,
		.help = "It ends after so long, at least a minute; 0: when it is revoked."),
};

static bool create_key(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	const struct create_key *in = input;
	struct api_key_new new = {.account_id = c->caller.account_id,
		.user_id = c->caller.user_id,
		.lifetime_ms = in->lifetime_ms,
		.title = in->title,
		.created_by = c->caller.name};
	char key[TOKEN_SIZE];
	const char *row, *name;

	if (*c->rq->idempotency_key)
		return err_set(err, ERR_INVALID, "Idempotency-Key: is not taken here");
	if (in->lifetime_ms && in->lifetime_ms < LIFETIME_MIN)
		return err_set(
			err, ERR_INVALID, "lifetime_ms: must be 0 or at least %d", LIFETIME_MIN);
	if (!scope_parse(in->scope, &new.scope))
		return err_set(err, ERR_INVALID, "scope: there is no such scope");
	if (!api_key_add(c->db, c->pool, &new, key, &row, err) ||
		!json_parse(row, strlen(row), &o, err))
		return false;
	json_add_text(o, "key", key);
	if (json_get_text(o, "key_id", &name))
		c->subject = pool_strdup(c->pool, name);
	return call_answer(c, 201, o);
}

const struct action action_create_key = {
	.name = "create_key",
	.summary = "Make an API key. It is shown in this answer and never again.",
	.method = "POST",
	.path = "/create_key.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct create_key),
	ACTION_FIELDS(fields),
	.answers = "201 KEY with `\"key\"`, the secret itself; Idempotency-Key is not taken",
	.run = create_key,
};
