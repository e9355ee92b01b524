/*
 * What the rows of an input say of themselves: JSON Schema for machines, a table for the docs.
 */
#include "field.h"

#include "buf.h"
#include "json.h"

static const char *const patterns[] = {
	[FIELD_ANY] = NULL,
	[FIELD_NAME] = "^[A-Za-z0-9_.-]{1,128}$",
	[FIELD_REPO] = "^[A-Za-z0-9_.][A-Za-z0-9_.-]*/[A-Za-z0-9_.][A-Za-z0-9_.-]*$",
	[FIELD_REF] = "^[A-Za-z0-9_][A-Za-z0-9._/-]*$",
};
_Static_assert(sizeof(patterns) / sizeof(patterns[0]) == FIELD_PATTERN__COUNT, "a row per pattern");

static const char *type_name(const struct field *f)
{
	switch (f->kind) {
	case FIELD_KIND_INT:
		return "integer";
	case FIELD_KIND_BOOL:
		return "boolean";
	case FIELD_KIND_TEXTS:
	case FIELD_KIND_ITEMS:
		return "array";
	case FIELD_KIND_MAP:
	case FIELD_KIND_OBJECT:
		return "object";
	case FIELD_KIND_NUMBER:
		return "number";
	case FIELD_KIND_JSON:
		return "any";
	case FIELD_KIND_TEXT:
	case FIELD_KIND_WORD:
		break;
	}
	return "string";
}

static struct json_object *string_schema(int64_t max)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "type", "string");
	if (max)
		json_add_i64(o, "maxLength", max);
	return o;
}

static struct json_object *words_schema(const char *const *words)
{
	struct json_object *list = json_new_array();

	for (size_t i = 0; words[i]; i++)
		json_push_text(list, words[i]);
	return list;
}

static void add_default(struct json_object *o, const struct field *f)
{
	if (f->required)
		return;
	if ((f->kind == FIELD_KIND_TEXT || f->kind == FIELD_KIND_WORD) && f->text)
		json_add_text(o, "default", f->text);
	/* a default that nobody may send stands for something else: `help` says what */
	if (f->kind == FIELD_KIND_INT && f->value >= f->min && f->value <= f->max)
		json_add_i64(o, "default", f->value);
	if (f->kind == FIELD_KIND_BOOL)
		json_add_bool(o, "default", f->value != 0);
}

static struct json_object *one_schema(const struct field *f)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "type", type_name(f));
	json_add_text(o, "description", f->help);
	if (f->kind == FIELD_KIND_TEXT && (f->required || f->min))
		json_add_i64(o, "minLength", f->min ? f->min : 1);
	if (f->kind == FIELD_KIND_TEXT && f->max)
		json_add_i64(o, "maxLength", f->max);
	if (f->kind == FIELD_KIND_TEXT && patterns[f->pattern])
		json_add_text(o, "pattern", patterns[f->pattern]);
	if (f->kind == FIELD_KIND_INT) {
		json_add_i64(o, "minimum", f->min);
		json_add_i64(o, "maximum", f->max);
	}
	if (f->kind == FIELD_KIND_WORD)
		json_add(o, "enum", words_schema(f->words));
	if (f->kind == FIELD_KIND_TEXTS)
		json_add(o, "items", string_schema(f->each_max ? f->each_max : FIELD_LARGE));
	if (f->kind == FIELD_KIND_ITEMS)
		json_add(o, "items", field_schema(f->fields, f->nfields));
	if (f->kind == FIELD_KIND_MAP) {
		json_add(o, "additionalProperties",
			string_schema(f->each_max ? f->each_max : FIELD_LARGE));
		if (f->max)
			json_add_i64(o, "maxProperties", f->max);
	}
	if (f->kind == FIELD_KIND_TEXTS || f->kind == FIELD_KIND_ITEMS) {
		if (f->required || f->min)
			json_add_i64(o, "minItems", f->min ? f->min : 1);
		if (f->max)
			json_add_i64(o, "maxItems", f->max);
	}
	add_default(o, f);
	return o;
}

struct json_object *field_schema(const struct field *fields, size_t n)
{
	struct json_object *o = json_new_object(), *properties = json_new_object(),
			   *required = json_new_array();

	json_add_text(o, "type", "object");
	for (size_t i = 0; i < n; i++) {
		json_add(properties, fields[i].name, one_schema(&fields[i]));
		if (fields[i].required)
			json_push_text(required, fields[i].name);
	}
	json_add(o, "properties", properties);
	json_add(o, "required", required);
	json_add_bool(o, "additionalProperties", false);
	return o;
}

static void add_type(struct json_object *o, const struct field *f)
{
	struct json_object *types;

	if (f->kind == FIELD_KIND_JSON)
		return;
	if (!f->nullable) {
		json_add_text(o, "type", type_name(f));
		return;
	}
	types = json_new_array();
	json_push_text(types, type_name(f));
	json_push_text(types, "null");
	json_add(o, "type", types);
}

static struct json_object *type_only(const char *type)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "type", type);
	return o;
}

static struct json_object *output_schema(const struct field *f)
{
	struct json_object *o = f->kind == FIELD_KIND_OBJECT && f->nfields
					? field_output_schema(f->fields, f->nfields)
					: json_new_object();

	add_type(o, f);
	json_add_text(o, "description", f->help);
	if (f->kind == FIELD_KIND_TEXTS)
		json_add(o, "items", type_only("string"));
	if (f->kind == FIELD_KIND_ITEMS)
		json_add(o, "items", field_output_schema(f->fields, f->nfields));
	return o;
}

struct json_object *field_output_schema(const struct field *fields, size_t n)
{
	struct json_object *o = json_new_object(), *properties = json_new_object(),
			   *required = json_new_array();

	json_add_text(o, "type", "object");
	for (size_t i = 0; i < n; i++) {
		json_add(properties, fields[i].name, output_schema(&fields[i]));
		if (fields[i].required)
			json_push_text(required, fields[i].name);
	}
	json_add(o, "properties", properties);
	json_add(o, "required", required);
	return o;
}

static void print_bounds(struct buf *b, const struct field *f)
{
	switch (f->kind) {
	case FIELD_KIND_INT:
		(void)buf_addf(b, ", %lld to %lld", (long long)f->min, (long long)f->max);
		break;
	case FIELD_KIND_TEXT:
		if (f->max)
			(void)buf_addf(b, ", at most %lld bytes", (long long)f->max);
		break;
	case FIELD_KIND_TEXTS:
	case FIELD_KIND_ITEMS:
	case FIELD_KIND_MAP:
		if (f->max)
			(void)buf_addf(b, ", at most %lld", (long long)f->max);
		break;
	case FIELD_KIND_WORD:
		for (size_t i = 0; f->words[i]; i++)
			(void)buf_addf(b, "%s`%s`", i ? ", " : ": ", f->words[i]);
		break;
	case FIELD_KIND_BOOL:
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_NUMBER:
	case FIELD_KIND_JSON:
		break;
	}
}

static void print_default(struct buf *b, const struct field *f)
{
	if (f->required)
		(void)buf_adds(b, "required");
	else if ((f->kind == FIELD_KIND_TEXT || f->kind == FIELD_KIND_WORD) && f->text)
		(void)buf_addf(b, "`%s`", f->text);
	else if (f->kind == FIELD_KIND_INT)
		(void)buf_addf(b, "%lld", (long long)f->value);
	else if (f->kind == FIELD_KIND_BOOL)
		(void)buf_adds(b, f->value ? "true" : "false");
}

static void print_rows(struct buf *b, const struct field *fields, size_t n, const char *prefix)
{
	for (size_t i = 0; i < n; i++) {
		const struct field *f = &fields[i];

		(void)buf_addf(b, "| `%s%s` | %s", prefix, f->name, type_name(f));
		print_bounds(b, f);
		(void)buf_adds(b, " | ");
		print_default(b, f);
		(void)buf_addf(b, " | %s |\n", f->help);
		if (f->kind == FIELD_KIND_ITEMS) {
			char inner[64];

			(void)snprintf(inner, sizeof(inner), "%s%s[].", prefix, f->name);
			print_rows(b, f->fields, f->nfields, inner);
		}
	}
}

void field_print(struct buf *b, const struct field *fields, size_t n)
{
	(void)buf_adds(b, "| field | type | default | what |\n|---|---|---|---|\n");
	print_rows(b, fields, n, "");
}
