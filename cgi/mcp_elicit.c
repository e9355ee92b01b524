/*
 * A run's question as a form of the client's own, for a call that asks for it (argument `elicit`)
 * of a client that has forms. The call ends with `input_required`; the client asks its person and
 * sends the same call again with the answer, which then is a resume. Nothing is kept in between:
 * which run it is lies with the client, sealed with who asked, what was called, and until when. An
 * answer that was declined or never given changes nothing: the question comes back as text.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "site.h"
#include "text.h"

/* As long as a run waits for its answer. */
#define STATE_MS (24 * 3600 * INT64_C(1000))

/* "RUN.UNTIL.HMAC" */
static const char *seal(struct mcp *m, const char *run, int64_t until_ms)
{
	const struct call *c = &m->serve.call;
	const char *what =
		pool_printf(c->pool, "elicit %s %lld %lld %s %s", run, (long long)until_ms,
			(long long)c->caller.account_id, c->caller.name, m->elicit_digest);
	unsigned char mac[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	hmac_sha256(
		c->site->operator_hash, sizeof(c->site->operator_hash), what, strlen(what), mac);
	hex_encode(mac, sizeof(mac), hex);
	return pool_printf(c->pool, "%s.%lld.%s", run, (long long)until_ms, hex);
}

/* The run of a state that we gave out, to this caller, for this call, not too long ago. */
static bool unseal(struct mcp *m, const char *state, const char **run)
{
	struct pool *pool = m->serve.call.pool;
	const size_t n = strcspn(state, ".");
	const char *rest = state + n + (state[n] == '.'), *ours;
	int64_t until;

	*run = pool_memdup(pool, state, n);
	if (!text_to_i64(pool_memdup(pool, rest, strcspn(rest, ".")), 1, INT64_MAX, &until) ||
		until < time_now_ms())
		return false;
	ours = seal(m, *run, until);
	return strlen(state) == strlen(ours) && secret_equal(state, ours, strlen(ours));
}

/* A form is meant where elicitation says nothing of kinds. */
bool mcp_has_forms(const struct mcp *m)
{
	struct json_object *o = json_get(m->capabilities, "elicitation");

	return json_is_object(o) && (!json_key_at(o, 0) || json_has(o, "form"));
}

static struct json_object *args_without(struct json_object *args, const char *name)
{
	struct json_object *o = json_new_object();
	const char *key;

	for (size_t i = 0; (key = json_key_at(args, i)); i++)
		if (strcmp(key, name) != 0)
			json_add(o, key, json_share(json_get(args, key)));
	return o;
}

/* Of tool and arguments: the same call has the same. */
static const char *digest(struct mcp *m, struct json_object *args)
{
	struct pool *pool = m->serve.call.pool;
	const char *what = pool_printf(pool, "%s %s", m->call.tool, json_text(args, pool));
	unsigned char hash[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	sha256(what, strlen(what), hash);
	hex_encode(hash, sizeof(hash), hex);
	return pool_strdup(pool, hex);
}

bool mcp_elicit_response(
	const char *key, struct json_object *response, int64_t *question, const char **answer)
{
	const char *action = "";

	*answer = NULL;
	if (!text_has_prefix(key, MCP_QUESTION_KEY) ||
		!text_to_i64(key + strlen(MCP_QUESTION_KEY), 1, INT64_MAX, question) ||
		!json_get_text(response, "action", &action))
		return false;
	return strcmp(action, "accept") != 0 ||
	       json_get_text(json_get(response, "content"), "answer", answer);
}

/* The answer among the client's responses. False: it is not there, and has to be asked for again.
 */
static bool find_answer(struct json_object *responses, int64_t *question, const char **answer)
{
	const char *key;

	for (size_t i = 0; (key = json_key_at(responses, i)); i++)
		if (mcp_elicit_response(key, json_get(responses, key), question, answer))
			return true;
	return false;
}

/* The call is now another: an answer to the run's question, or a look at the run. */
static void become(struct mcp *m, struct json_object **args, const char *run, int64_t question,
	const char *answer)
{
	struct json_object *o = json_new_object(), *wait = json_get(*args, "wait_ms");

	m->serve.action = action_find_tool(answer ? "resume" : "status");
	json_add_text(o, "session", run);
	if (answer) {
		json_add_text(o, "message", answer);
		json_add_i64(o, "question", question);
	}
	if (wait)
		json_add(o, "wait_ms", json_share(wait));
	json_free(*args);
	*args = o;
}

static bool take_responses(struct mcp *m, struct json_object **args)
{
	struct json_object *responses = json_get(m->params, "inputResponses");
	const char *state, *run, *answer = NULL;
	int64_t question = 0;

	if (!json_is_object(responses))
		return mcp_bad_params(m, "params.inputResponses: must be an object");
	if (!json_get_text(m->params, "requestState", &state) || !m->elicit_digest ||
		!unseal(m, state, &run))
		return mcp_bad_params(m,
			"params.requestState: is not what was given out for this call, or too old; "
			"call status with the session to read the question");
	/* what was declined comes back as text */
	if (find_answer(responses, &question, &answer) && !answer)
		m->elicit_digest = NULL;
	become(m, args, run, question, answer);
	return true;
}

bool mcp_elicit_take(struct mcp *m, struct json_object **args)
{
	struct json_object *rest;
	bool wanted = false;

	if (!m->serve.action->tool.asks)
		return true;
	if (json_has(*args, "elicit") && !json_get_bool(*args, "elicit", &wanted))
		return mcp_bad_params(m, "arguments.elicit: must be true or false");
	if (wanted && m->call.era == MCP_MODERN && mcp_has_forms(m))
		m->elicit_digest = digest(m, *args);
	rest = args_without(*args, "elicit");
	json_free(*args);
	*args = rest;
	return !json_get(m->params, "inputResponses") || mcp_secret_is_answer(m) ||
	       take_responses(m, args);
}

void mcp_elicit_seal(struct mcp *m)
{
	const char *run = m->serve.call.subject;

	if (m->elicit_digest && run)
		m->call.state = seal(m, run, time_now_ms() + STATE_MS);
}
