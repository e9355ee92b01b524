#pragma once
/* Running an engine's program, for container.c, runtime_container.c and container_facts.c alone. */
#include "child.h"
#include "container.h"

struct argv {
	struct pool *pool;
	const char *v[96];
	size_t n;
};
/* The program and its flags; *a is ready for the command. ERR_NOT_FOUND: it is not installed. */
bool engine_argv(
	struct pool *pool, const struct engine *e, struct argv *a, struct err *err) NODISCARD;
void argv_add(struct argv *a, const char *s);
void argv_add2(struct argv *a, const char *option, const char *value);
/* Runs it to its end, both of its outputs in *out. *status is waitpid's. extra: a descriptor that
 * it gets as 3, or -1. */
bool engine_call(struct argv *a, int extra, int timeout_ms, struct buf *out, int *status,
	struct err *err) NODISCARD;
/* The same, and an exit status other than 0 is ERR_UPSTREAM with what it said. */
bool engine_ask(struct argv *a, int timeout_ms, struct buf *out, struct err *err) NODISCARD;
/* The JSON object in text; an engine's warnings may stand around it on lines of their own. */
bool engine_json(const struct buf *text, struct json_object **out, struct err *err) NODISCARD;
/* The environment that engines are run with. */
const char *const *engine_environment(struct pool *pool);
