/*
 * Checking a value against a schema of ours.
 */
#include "schema.h"

#include <string.h>

#include <json-c/json.h>

#include "json.h"
#include "pool.h"

static const char *wrong(
	struct pool *pool, struct json_object *schema, struct json_object *value, const char *path);

static bool is_type(struct json_object *value, const char *type)
{
	static const struct {
		const char *name;
		enum json_type type;
	} types[] = {
		{"object", json_type_object},
		{"array", json_type_array},
		{"string", json_type_string},
		{"integer", json_type_int},
		{"number", json_type_double},
		{"number", json_type_int},
		{"boolean", json_type_boolean},
		{"null", json_type_null},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, type) && json_object_is_type(value, types[i].type))
			return true;
	return false;
}

/* `type` is a word or a list of them. */
static bool type_fits(struct json_object *type, struct json_object *value)
{
	const char *word;

	if (!type || (json_as_text(type, &word) && is_type(value, word)))
		return true;
	for (size_t i = 0; i < json_count(type); i++)
		if (json_as_text(json_at(type, i), &word) && is_type(value, word))
			return true;
	return false;
}

static bool enum_fits(struct json_object *list, struct json_object *value)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (json_object_equal(json_at(list, i), value))
			return true;
	return !list;
}

static const char *wrong_members(
	struct pool *pool, struct json_object *schema, struct json_object *value, const char *path)
{
	struct json_object *properties = json_get(schema, "properties"),
			   *required = json_get(schema, "required");
	const char *key, *said;

	for (size_t i = 0; i < json_count(required); i++)
		if (json_as_text(json_at(required, i), &key) && !json_has(value, key))
			return pool_printf(pool, "%s.%s: is missing", path, key);
	for (size_t i = 0; properties && (key = json_key_at(value, i)); i++) {
		const char *below = pool_printf(pool, "%s.%s", path, key);

		if (!json_has(properties, key))
			return pool_printf(pool, "%s: is not in the schema", below);
		said = wrong(pool, json_get(properties, key), json_get(value, key), below);
		if (said)
			return said;
	}
	return NULL;
}

static const char *wrong(
	struct pool *pool, struct json_object *schema, struct json_object *value, const char *path)
{
	const char *said;

	if (!type_fits(json_get(schema, "type"), value))
		return pool_printf(pool, "%s: %s is no %s", path, json_object_to_json_string(value),
			json_object_to_json_string(json_get(schema, "type")));
	if (!enum_fits(json_get(schema, "enum"), value))
		return pool_printf(pool, "%s: no such choice", path);
	for (size_t i = 0; json_has(schema, "items") && i < json_count(value); i++) {
		said = wrong(pool, json_get(schema, "items"), json_at(value, i),
			pool_printf(pool, "%s[%zu]", path, i));
		if (said)
			return said;
	}
	return json_is_object(value) ? wrong_members(pool, schema, value, path) : NULL;
}

const char *schema_wrong(struct pool *pool, struct json_object *schema, struct json_object *value)
{
	return wrong(pool, schema, value, "result");
}
