/*
 * Fixtures of the modern era that ask for more input instead of answering. What was asked lies with
 * the client, sealed with an HMAC where the fixture has a state: nothing is kept here.
 */
#include <stdio.h>
#include <string.h>

#include "encode.h"
#include "json.h"
#include "mcp_door.h"
#include "mcp_fixture.h"
#include "pool.h"
#include "site.h"

#define FORM(key, message, member, type)                                        \
	"\"" key "\":{\"method\":\"elicitation/"                                \
	"create\",\"params\":{\"mode\":\"form\",\"message\":\"" message         \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" member \
	"\":{\"type\":\"" type "\"}},\"required\":[\"" member "\"]}}}"
#define SAMPLE(key, text)                                                                         \
	"\"" key "\":{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":" \
	"\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}],\"maxTokens\":100}}"
#define ROOTS "\"client_roots\":{\"method\":\"roots/list\",\"params\":{}}"
#define NAME FORM("user_name", "What is your name?", "name", "string")
#define CONFIRM FORM("confirm", "Please confirm", "ok", "boolean")
#define TOOL(name) "test_input_required_result_" name

const struct fixture_rounds_row mcp_fixture_rounds[] = {
	{TOOL("elicitation"), {"{" NAME "}", NULL}, false},
	{TOOL("sampling"),
		{"{" SAMPLE("capital_question", "What is the capital of France?") "}", NULL},
		false},
	{TOOL("list_roots"), {"{" ROOTS "}", NULL}, false},
	{TOOL("request_state"), {"{" CONFIRM "}", NULL}, true},
	{TOOL("tampered_state"), {"{" CONFIRM "}", NULL}, true},
	{TOOL("multiple_inputs"),
		{"{" NAME "," SAMPLE("greeting", "Generate a greeting") "," ROOTS "}", NULL}, true},
	{TOOL("multi_round"),
		{"{" FORM("step1", "Step 1: What is your name?", "name", "string") "}",
			"{" FORM("step2", "Step 2: What is your favorite color?", "color",
				"string") "}"},
		true},
	{TOOL("capabilities"),
		{"{" NAME "," SAMPLE("capital_question", "What is the capital of France?") "}",
			NULL},
		false},
	{TOOL("prompt"),
		{"{" FORM("user_context", "What context should the prompt use?", "context",
			 "string") "}",
			NULL},
		false},
	{"test_streaming_elicitation", {"{" NAME "}", NULL}, false},
	{NULL, {NULL, NULL}, false},
};

static const struct fixture_rounds_row *find(const char *name)
{
	for (const struct fixture_rounds_row *r = mcp_fixture_rounds; r->name; r++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

/* "ROUND.HMAC": the HMAC is over the round, the tool and who asks. */
static const char *seal(struct mcp *m, const char *name, int round)
{
	const struct call *c = &m->serve.call;
	const char *what = pool_printf(c->pool, "%d %s %s", round, name, c->caller.name);
	unsigned char mac[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	hmac_sha256(
		c->site->operator_hash, sizeof(c->site->operator_hash), what, strlen(what), mac);
	hex_encode(mac, sizeof(mac), hex);
	return pool_printf(c->pool, "%d.%s", round, hex);
}

/* The round whose answers these are; -1: the state is none of ours. */
static int round_of(struct mcp *m, const struct fixture_rounds_row *r, const char *state)
{
	for (int round = 0; round < 2; round++) {
		const char *ours = seal(m, r->name, round);

		if (strlen(state) == strlen(ours) && secret_equal(state, ours, strlen(ours)))
			return round;
	}
	return -1;
}

/* The client declares by the method's first word what it can do: elicitation, sampling, roots. */
static bool can(const struct mcp *m, const char *method)
{
	char word[32];

	(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(method, "/"), method);
	return json_has(m->capabilities, word);
}

/* What of the round's requests the client can answer. */
static struct json_object *requests_for(const struct mcp *m, const char *text)
{
	struct json_object *all = fixture_json(text), *out = json_new_object();
	const char *key, *method = "";

	for (size_t i = 0; (key = json_key_at(all, i)); i++) {
		struct json_object *request = json_get(all, key);

		if (json_get_text(request, "method", &method) && can(m, method))
			json_add(out, key, json_share(request));
	}
	json_free(all);
	return out;
}

static bool has_all(struct json_object *requests, struct json_object *responses)
{
	const char *key;

	for (size_t i = 0; (key = json_key_at(requests, i)); i++)
		if (!json_is_object(json_get(responses, key)))
			return false;
	return true;
}

static bool ask(struct mcp *m, const struct fixture_rounds_row *r, int round)
{
	struct json_object *requests = requests_for(m, r->requests[round]);

	if (!json_key_at(requests, 0)) {
		json_free(requests);
		return mcp_fault(m, 400, MCP_MISSING_CAPABILITY,
			fixture_json("{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}"),
			"this needs a client that can be asked");
	}
	m->result = json_new_object();
	json_add_text(m->result, "resultType", "input_required");
	json_add(m->result, "inputRequests", requests);
	if (r->has_state)
		json_add_text(m->result, "requestState", seal(m, r->name, round));
	return true;
}

static bool complete(struct mcp *m)
{
	m->result =
		strcmp(m->method, "prompts/get")
			? fixture_json("{\"content\":[{\"type\":\"text\",\"text\":\"state-ok: all "
				       "answers are here.\"}]}")
			: fixture_json("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
				       "\"text\",\"text\":\"Use the context.\"}}]}");
	return true;
}

bool fixture_rounds(struct mcp *m)
{
	struct json_object *responses = json_get(m->params, "inputResponses"), *requests;
	const struct fixture_rounds_row *r;
	const char *name = "", *state = NULL;
	int round = 0;
	bool answered;

	(void)json_get_text(m->params, "name", &name);
	r = find(name);
	if (!r || m->call.era != MCP_MODERN)
		return mcp_bad_params(m, "params.name: only of the modern era");
	if (json_has(m->params, "inputResponses") && !json_is_object(responses))
		return mcp_bad_params(m, "params.inputResponses: must be an object");
	if (json_get_text(m->params, "requestState", &state))
		round = round_of(m, r, state);
	if (round < 0)
		return mcp_bad_params(m, "params.requestState: is not what was given out");
	if (!responses || (r->has_state && !state))
		return ask(m, r, 0);
	requests = requests_for(m, r->requests[round]);
	answered = has_all(requests, responses);
	json_free(requests);
	if (!answered)
		return ask(m, r, round);
	return round == 0 && r->requests[1] ? ask(m, r, 1) : complete(m);
}
