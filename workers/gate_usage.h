#pragma once
/*
 * Reads from a model's answer, as it passes, what it cost: the model's name, the token counts and
 * the error's type, of a JSON answer or of the events of a stream (message_start, message_delta,
 * message_stop, error). Constant memory and no look back: an answer may be of any length, in any
 * pieces, and may be hostile; what is not understood is not counted. It judges nothing: whether an
 * answer is right is its reader's business.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USAGE_DEPTH 6
#define USAGE_PATH 80
#define USAGE_WORD 100

enum usage_count { USAGE_INPUT, USAGE_OUTPUT, USAGE_CACHE_READ, USAGE_CACHE_WRITE, USAGE__COUNT };

/* What one JSON text said. */
struct usage_found {
	char type[24], model[USAGE_WORD], error[USAGE_WORD];
	int64_t counts[USAGE__COUNT]; /* -1: not said */
};

/* A JSON text being read, byte by byte. */
struct usage_json {
	struct usage_found found;
	enum { JSON_BETWEEN, JSON_STRING, JSON_ESCAPE, JSON_SCALAR } state;
	bool key;	/* the string is a member's name */
	bool wants_key; /* in an object, before a name */
	int depth;	/* objects and arrays around; beyond USAGE_DEPTH they are only counted */
	bool is_array[USAGE_DEPTH + 1];
	size_t base[USAGE_DEPTH + 1]; /* path's length inside of each */
	char path[USAGE_PATH]; /* names around and of the value: "message.usage.output_tokens" */
	size_t path_n;
	char value[USAGE_WORD];
	size_t value_n;
};

struct usage {
	/* the result */
	char model[USAGE_WORD]; /* "": not said */
	char error[USAGE_WORD]; /* the error's type; "": none */
	int64_t counts[USAGE__COUNT];
	bool stopped; /* a stream: its message_stop has come */
	/* how it is read */
	bool is_stream;
	struct usage_json json;
	char field[8]; /* of a stream: the front of the line */
	size_t line_n;
	bool is_data;
};

/* is_stream: text/event-stream; otherwise one JSON text. */
void usage_init(struct usage *u, bool is_stream);
void usage_feed(struct usage *u, const char *data, size_t n);
/* The answer is over. */
void usage_end(struct usage *u);
