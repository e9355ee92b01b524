#pragma once
/* What the subverbs of asb sandbox share. */
#include <stdbool.h>
#include <stdint.h>

#include "args.h"
#include "err.h"

struct cli;
struct json_object;

#define SANDBOX_WAIT_MS 50000 /* of one request; after that it is asked again */

struct sandbox_options {
	const char *language, *image, *backend, *code, *file;
	const char *timeout, *memory_mb, *cpus, *offset, *packages_from, *sync;
	bool background;
	struct flag_texts package, with;
};

/* A member that is a whole number; text NULL: none. */
bool sandbox_add_number(
	struct json_object *body, const char *key, const char *text, struct err *err) NODISCARD;
/* Connects and posts; the caller owns *out. */
bool sandbox_post(struct cli *cli, const char *path, struct json_object *body,
	struct json_object **out, struct err *err) NODISCARD;
/* Of a reading action: it holds the request until there is something to say. */
const char *sandbox_wait_query(
	struct cli *cli, const char *path, const char *key, const char *value);
/* One that comes back at once was not held: the program that holds them is just starting. */
void sandbox_pause_unheld(int64_t since_ms);

/* --- sandbox_run.c: args begin with the sandbox --- */
typedef bool sandbox_fn(struct cli *cli, const struct sandbox_options *o, char **args, int *status,
	struct err *err);
sandbox_fn subverb_run, subverb_processes, subverb_logs;
