/*
 * A tap on JSON that knows only where it is (the names of the objects around) and keeps only the
 * values whose place matters.
 */
#include "gate_usage.h"

#include <string.h>

#include "text.h"

/* A count beyond is no count: it would make sums overflow. */
#define COUNT_MAX INT64_C(1000000000000)

static void found_init(struct usage_found *f)
{
	memset(f, 0, sizeof(*f));
	for (int i = 0; i < USAGE__COUNT; i++)
		f->counts[i] = -1;
}

static void json_init(struct usage_json *j)
{
	memset(j, 0, sizeof(*j));
	found_init(&j->found);
}

/* A name of models and error types, as they are: anything else is not shown to people. */
static void word_copy(char *out, size_t size, const char *value)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._:/@-";
	size_t n = strlen(value);

	if (!n || n >= size || value[strspn(value, allowed)])
		return;
	memcpy(out, value, n + 1);
}

static void count_take(struct usage_found *f, const char *name, const char *value)
{
	static const char *const names[] = {
		[USAGE_INPUT] = "input_tokens",
		[USAGE_OUTPUT] = "output_tokens",
		[USAGE_CACHE_READ] = "cache_read_input_tokens",
		[USAGE_CACHE_WRITE] = "cache_creation_input_tokens",
	};

	for (int i = 0; i < USAGE__COUNT; i++)
		if (!strcmp(name, names[i]))
			(void)text_to_i64(value, 0, COUNT_MAX, &f->counts[i]);
}

/* A whole value at path. message_start wraps in "message" what others say at the top. */
static void value_take(struct usage_json *j, bool is_text)
{
	const char *path = j->path;

	j->path[j->path_n] = '\0';
	j->value[j->value_n] = '\0';
	if (is_text && !strcmp(path, "type"))
		word_copy(j->found.type, sizeof(j->found.type), j->value);
	else if (is_text && !strcmp(path, "error.type"))
		word_copy(j->found.error, sizeof(j->found.error), j->value);
	if (text_has_prefix(path, "message."))
		path += strlen("message.");
	if (is_text && !strcmp(path, "model"))
		word_copy(j->found.model, sizeof(j->found.model), j->value);
	else if (!is_text && text_has_prefix(path, "usage."))
		count_take(&j->found, path + strlen("usage."), j->value);
}

/* What does not fit can match nothing: the last byte becomes one that no name of ours has. */
static void path_add(struct usage_json *j, char c)
{
	if (j->path_n < USAGE_PATH - 1)
		j->path[j->path_n++] = c;
	else
		j->path[USAGE_PATH - 2] = '\001';
}

static void value_add(struct usage_json *j, char c)
{
	if (j->value_n < USAGE_WORD - 1)
		j->value[j->value_n++] = c;
	else
		j->value[USAGE_WORD - 2] = '\001';
}

static void level_in(struct usage_json *j, bool is_array)
{
	if (++j->depth > USAGE_DEPTH)
		return;
	if (is_array)
		path_add(j, '[');
	else if (j->path_n)
		path_add(j, '.');
	j->is_array[j->depth] = is_array;
	j->base[j->depth] = j->path_n;
	j->wants_key = !is_array;
}

static void level_out(struct usage_json *j)
{
	if (j->depth > 0 && --j->depth <= USAGE_DEPTH) {
		j->path_n = j->base[j->depth];
		j->wants_key = false;
	}
}

static bool is_known(const struct usage_json *j)
{
	return j->depth > 0 && j->depth <= USAGE_DEPTH;
}

static void between_byte(struct usage_json *j, char c)
{
	bool in_object = is_known(j) && !j->is_array[j->depth];

	if (c == '{' || c == '[') {
		level_in(j, c == '[');
	} else if (c == '}' || c == ']') {
		level_out(j);
	} else if (c == ',') {
		j->wants_key = in_object;
	} else if (c == '"') {
		j->state = JSON_STRING;
		j->key = in_object && j->wants_key;
		j->value_n = 0;
		if (j->key)
			j->path_n = j->base[j->depth];
	} else if (c == ':') {
		j->wants_key = false;
	} else if (c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
		j->state = JSON_SCALAR;
		j->value_n = 0;
		value_add(j, c);
	}
}

static void string_byte(struct usage_json *j, char c)
{
	if (j->state == JSON_ESCAPE) {
		/* no name of ours is written with escapes */
		j->state = JSON_STRING;
		c = '\001';
	} else if (c == '\\') {
		j->state = JSON_ESCAPE;
		return;
	} else if (c == '"') {
		j->state = JSON_BETWEEN;
		if (!j->key && is_known(j))
			value_take(j, true);
		return;
	}
	if (j->key)
		path_add(j, c);
	else
		value_add(j, c);
}

static void json_byte(struct usage_json *j, char c)
{
	if (j->state == JSON_STRING || j->state == JSON_ESCAPE) {
		string_byte(j, c);
		return;
	}
	if (j->state == JSON_SCALAR) {
		if (!memchr(" \t\r\n,]}", c, 7)) {
			value_add(j, c);
			return;
		}
		j->state = JSON_BETWEEN;
		if (is_known(j))
			value_take(j, false);
	}
	between_byte(j, c);
}

/* One JSON text is over: what it said counts where it is whole, and of a kind that says it. */
static void json_end(struct usage *u)
{
	const struct usage_found *f = &u->json.found;
	bool is_whole = u->json.depth == 0 && u->json.state == JSON_BETWEEN;
	bool counts = !strcmp(f->type, "message_start") || !strcmp(f->type, "message_delta") ||
		      !strcmp(f->type, "message");

	if (is_whole && counts) {
		if (f->model[0])
			memcpy(u->model, f->model, sizeof(u->model));
		/* those of a stream grow: the last is the sum */
		for (int i = 0; i < USAGE__COUNT; i++)
			if (f->counts[i] > u->counts[i])
				u->counts[i] = f->counts[i];
	}
	if (is_whole && !strcmp(f->type, "error"))
		memcpy(u->error, f->error[0] ? f->error : "error",
			f->error[0] ? sizeof(u->error) : sizeof("error"));
	if (is_whole && !strcmp(f->type, "message_stop"))
		u->stopped = true;
	json_init(&u->json);
}

void usage_init(struct usage *u, bool is_stream)
{
	memset(u, 0, sizeof(*u));
	for (int i = 0; i < USAGE__COUNT; i++)
		u->counts[i] = -1;
	u->is_stream = is_stream;
	json_init(&u->json);
}

/* Lines of an event stream: only `data:` matters, and the empty line that ends an event. */
static void stream_byte(struct usage *u, char c)
{
	static const char data[] = "data:";

	if (c == '\n') {
		if (u->is_data)
			json_byte(&u->json, '\n');
		if (!u->line_n)
			json_end(u);
		u->line_n = 0;
		u->is_data = false;
		return;
	}
	if (c == '\r')
		return;
	if (u->is_data) {
		json_byte(&u->json, c);
		return;
	}
	if (u->line_n < sizeof(data) - 1)
		u->field[u->line_n] = c;
	/* any length beyond is the same length */
	if (u->line_n < sizeof(data))
		u->line_n++;
	u->is_data = u->line_n == sizeof(data) - 1 && !memcmp(u->field, data, sizeof(data) - 1);
}

void usage_feed(struct usage *u, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (u->is_stream)
			stream_byte(u, data[i]);
		else
			json_byte(&u->json, data[i]);
	}
}

void usage_end(struct usage *u)
{
	if (!u->is_stream)
		json_end(u);
}
