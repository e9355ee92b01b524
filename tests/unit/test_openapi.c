/*
 * The OpenAPI document against the table it is made of: each action is there once, with what it
 * takes and answers; nothing it refers to is missing. A validator of others looks at all of it in
 * `make openapi`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "openapi.h"
#include "pool.h"

static const char *text(struct json_object *o, const char *key)
{
	const char *s = "";

	return json_get_text(o, key, &s) ? s : "";
}

static struct json_object *operation_of(struct json_object *doc, const struct action *a)
{
	return json_get(json_get(json_get(doc, "paths"), a->path),
		!strcmp(a->method, "GET") ? "get" : "post");
}

static struct json_object *parameter_of(struct json_object *operation, const char *name)
{
	struct json_object *list = json_get(operation, "parameters");

	for (size_t i = 0; i < json_count(list); i++)
		if (!strcmp(text(json_at(list, i), "name"), name))
			return json_at(list, i);
	return NULL;
}

static void test_operations(void **state)
{
	CLEANUP(json) struct json_object *doc = openapi_document("https://x.example", "__Host-asb");

	(void)state;
	for (size_t i = 0; actions[i]; i++) {
		const struct action *a = actions[i];
		struct json_object *o = operation_of(doc, a);
		struct json_object *in =
			json_get(json_get(json_get(json_get(json_get(o, "requestBody"), "content"),
						  a->type ? a->type : "-"),
					 "schema"),
				"properties");

		assert_string_equal(text(o, "operationId"), a->name);
		assert_int_equal(json_count(json_get(o, "security")), a->needs == NEEDS_NOBODY ? 0
								      : a->needs == NEEDS_LOCAL
									      ? 3
									      : 2);
		assert_int_equal(!!parameter_of(o, "Idempotency-Key"), a->mutates);
		/* one good answer at the least, and the error */
		assert_non_null(json_key_at(json_get(o, "responses"), 1));
		assert_non_null(json_get(json_get(o, "responses"), "default"));
		for (size_t k = 0; k < a->nfields; k++) {
			bool in_body = a->type && !a->streams;

			assert_int_equal(!!parameter_of(o, a->fields[k].name), !in_body);
			assert_int_equal(!!json_get(in, a->fields[k].name), in_body);
		}
	}
}

static void test_document(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *doc = openapi_document("https://x.example", "__Host-asb");
	struct json_object *components = json_get(doc, "components");
	struct json_object *delegate =
		json_get(json_get(json_get(doc, "paths"), "/delegate.json"), "post");
	struct json_object *answer = json_get(
		json_get(json_get(json_get(json_get(delegate, "responses"), "202"), "content"),
			"application/json"),
		"schema");
	const char *all = json_text(doc, pool);

	(void)state;
	assert_string_equal(text(doc, "openapi"), "3.1.0");
	assert_non_null(json_get(json_get(components, "responses"), "error"));
	assert_non_null(json_get(json_get(components, "schemas"), "error"));
	assert_string_equal(
		text(json_get(json_get(components, "securitySchemes"), "session"), "name"),
		"__Host-asb");
	assert_string_equal(text(delegate, "x-scope"), "run:write");
	assert_non_null(json_get(json_get(answer, "properties"), "session"));
	/* every reference is one of these two */
	for (const char *at = all; (at = strstr(at, "\"$ref\":\"")); at++)
		assert_true(!strncmp(at + 8, "#/components/responses/error\"", 29) ||
			    !strncmp(at + 8, "#/components/schemas/error\"", 27));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
