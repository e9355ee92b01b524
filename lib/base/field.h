#pragma once
/*
 * Declared inputs. A row of FIELD(...) says what one input is; the rows of an action validate a
 * JSON body and a query string alike, fill a struct, and print the JSON Schema and the docs table.
 *
 *	struct log_input { const char *session; int64_t from; };
 *	static const struct field fields[] = {
 *		FIELD(TEXT, struct log_input, session, .required = true, .max = 64, .help = "The
 *run."), FIELD(INT, struct log_input, from, .max = 1000000, .help = "First line."),
 *	};
 *
 * The member must have the kind's C type, or the row does not compile: TEXT and WORD const char *,
 * INT int64_t, BOOL bool, TEXTS struct field_texts, ITEMS struct field_items, MAP (an object of
 *texts) struct field_map.
 *
 * An unknown field, a repeated one, a wrong type, a missing or empty required one and one out of
 * its bounds are ERR_INVALID with the field's name first and reason "field"; a text longer than a
 * maximum of FIELD_LARGE or more is ERR_TOO_LARGE. null counts as absent, but for no_null.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct buf;
struct json_object;
struct pool;

/* From this maximum on a text is content, not a name, and too much of it is "too large". */
#define FIELD_LARGE 65536

enum field_kind {
	FIELD_KIND_TEXT,
	FIELD_KIND_INT,
	FIELD_KIND_BOOL,
	FIELD_KIND_WORD,
	FIELD_KIND_TEXTS,
	FIELD_KIND_ITEMS,
	FIELD_KIND_MAP,
	/* of answers only */
	FIELD_KIND_OBJECT, /* with the row's fields; without any: of any members */
	FIELD_KIND_NUMBER, /* with a fraction */
	FIELD_KIND_JSON,   /* anything */
};

enum field_pattern {
	FIELD_ANY,
	FIELD_NAME, /* text_is_name: one path component */
	FIELD_REPO, /* owner/name */
	FIELD_REF,  /* what git takes as the name of a branch, tag or commit */
	FIELD_PATTERN__COUNT
};

struct field_texts {
	const char **v;
	size_t n;
};
struct field_items {
	void *v; /* n structs of the row's item_size, filled by its own rows */
	size_t n;
};

struct field_map {
	const char **names, **texts; /* n of each; a name is not looked at */
	size_t n;
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;
	bool required;	    /* present, and for a text: not only white space */
	int64_t min, max;   /* INT: range; TEXT: bytes; TEXTS, ITEMS, MAP: how many */
	int64_t each_max;   /* TEXTS, MAP: bytes of each text; 0: 64 KiB */
	bool no_null;	    /* null does not count as absent: it is refused */
	bool nullable;	    /* of an answer: null says that it is not known */
	const char *reason; /* of the error where it is not one of `words`; NULL: "field" */
	enum field_pattern pattern;
	const char *const *words;   /* WORD: the choices, ended by NULL */
	const char *text;	    /* default of TEXT and WORD; NULL without */
	int64_t value;		    /* default of INT and BOOL */
	const struct field *fields; /* ITEMS, OBJECT */
	size_t nfields;
	size_t item_size;
	const char *help; /* one sentence */
	const char *fix;  /* what to do, if missing or wrong; NULL: its help says it */
};

#define FIELD_TYPE_TEXT const char *
#define FIELD_TYPE_WORD const char *
#define FIELD_TYPE_INT int64_t
#define FIELD_TYPE_BOOL bool
#define FIELD_TYPE_TEXTS struct field_texts
#define FIELD_TYPE_ITEMS struct field_items
#define FIELD_TYPE_MAP struct field_map
#define FIELD(kind_, struct_, member, ...)                                            \
	{                                                                             \
		.name = #member, .kind = FIELD_KIND_##kind_,                          \
		.offset = offsetof(struct_, member) +                                 \
			  0 * sizeof(char[__builtin_types_compatible_p(               \
						  __typeof__(((struct_ *)0)->member), \
						  FIELD_TYPE_##kind_)                 \
						  ? 1                                 \
						  : -1]),                             \
		__VA_ARGS__                                                           \
	}

/* One member of an answer. It says what there is; it fills nothing and checks nothing. */
#define OUTPUT(kind_, name_, ...)                                       \
	{                                                               \
		.name = #name_, .kind = FIELD_KIND_##kind_, __VA_ARGS__ \
	}
#define OUTPUT_ROWS(rows) .fields = (rows), .nfields = sizeof(rows) / sizeof((rows)[0])

/* Fill `out`, the struct the rows were made for (zeroed by the caller), from a JSON object or from
 * a query string ("" is fine; TEXTS and ITEMS cannot come that way). Texts live in the pool. */
bool field_from_json(const struct field *fields, size_t n, struct json_object *o, struct pool *pool,
	void *out, struct err *err) NODISCARD;
bool field_from_query(const struct field *fields, size_t n, const char *query, struct pool *pool,
	void *out, struct err *err) NODISCARD;
bool field_matches(enum field_pattern pattern, const char *s);

/* --- field_print.c --- */
/* JSON Schema (draft 2020-12) of an object with these fields; the caller's to free. */
struct json_object *field_schema(const struct field *fields, size_t n);
/* The same of an answer: members that are not named may be there, `required` ones always are. */
struct json_object *field_output_schema(const struct field *fields, size_t n);
/* A Markdown table, a row a field. */
void field_print(struct buf *b, const struct field *fields, size_t n);
