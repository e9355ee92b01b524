/*
 * What people send, under any bytes: JSON, declared fields by JSON and by query string, and the
 * redactor. Besides what the sanitizers see: JSON that is taken is taken again as we print it; a
 * field that is taken keeps its bounds; where the redactor's input is cut makes no difference.
 */
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "cleanup.h"
#include "field.h"
#include "json.h"
#include "pool.h"
#include "redact.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct item {
	const char *repo;
};
struct input {
	const char *text, *name, *word;
	int64_t number;
	bool flag;
	struct field_texts list;
	struct field_items items;
};
static const char *const words[] = {"a", "b", NULL};
static const struct field item_fields[] = {
	FIELD(TEXT, struct item, repo, .required = true, .max = 40, .pattern = FIELD_REPO,
		.help = "x"),
};
static const struct field fields[] = {
	FIELD(TEXT, struct input, text, .max = 100, .help = "x"),
	FIELD(TEXT, struct input, name, .max = 20, .pattern = FIELD_NAME, .text = "n", .help = "x"),
	FIELD(WORD, struct input, word, .words = words, .text = "a", .help = "x"),
	FIELD(INT, struct input, number, .min = -5, .max = 5, .help = "x"),
	FIELD(BOOL, struct input, flag, .help = "x"),
	FIELD(TEXTS, struct input, list, .max = 3, .help = "x"),
	FIELD(ITEMS, struct input, items, .max = 3, .fields = item_fields, .nfields = 1,
		.item_size = sizeof(struct item), .help = "x"),
};
#define N (sizeof(fields) / sizeof(fields[0]))

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_input(const struct input *in)
{
	must(!in->text || (strlen(in->text) <= 100 && text_is_utf8(in->text, strlen(in->text))));
	must(text_is_name(in->name) && strlen(in->name) <= 20);
	must(!strcmp(in->word, "a") || !strcmp(in->word, "b"));
	must(in->number >= -5 && in->number <= 5);
	must(in->list.n <= 3 && in->items.n <= 3);
	for (size_t i = 0; i < in->items.n; i++)
		must(field_matches(FIELD_REPO, ((const struct item *)in->items.v)[i].repo));
}

static void try_json(struct pool *pool, const char *text, size_t n)
{
	CLEANUP(json) struct json_object *o = NULL, *again = NULL;
	struct input in = {0};
	const char *printed;
	struct err err;

	if (!json_parse(text, n, &o, &err))
		return;
	printed = json_text(o, pool);
	must(json_parse(printed, strlen(printed), &again, &err));
	if (field_from_json(fields, N, o, pool, &in, &err))
		check_input(&in);
}

static void try_redact(const char *text, size_t n)
{
	CLEANUP(redactor) struct redactor *whole = redactor_new(), *cut = redactor_new();
	CLEANUP(buf) struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	size_t at = n ? (unsigned char)text[0] % (n + 1) : 0;

	redactor_add(whole, "known-secret");
	redactor_add(cut, "known-secret");
	redact(whole, text, n, &a);
	redact_end(whole, &a);
	redact(cut, text, at, &b);
	must(redact_held(cut) <= at);
	redact(cut, text + at, n - at, &b);
	redact_end(cut, &b);
	must(a.len == b.len && !memcmp(a.data, b.data, a.len));
	must(!memmem(a.data, a.len, "known-secret", 12));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *text = pool_memdup(pool, data, n);
	struct input in = {0};
	struct err err;

	try_json(pool, text, n);
	try_redact(text, n);
	if (field_from_query(fields, N, text, pool, &in, &err))
		check_input(&in);
	return 0;
}
