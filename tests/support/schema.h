#pragma once
/*
 * As much of JSON Schema as our schemas use, by hand: type, properties, required, items, enum,
 * additionalProperties. A member that the schema does not name is wrong, so that a test notices
 * what the rows forgot.
 */
struct json_object;
struct pool;

/* NULL: the value is what the schema says; else what is wrong, and where. */
const char *schema_wrong(struct pool *pool, struct json_object *schema, struct json_object *value);
