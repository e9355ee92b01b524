#pragma once
/* Running an engine's program, for container*.c, runtime_container.c and runtime_msb.c alone. */
#include "child.h"
#include "container.h"

/* What engines do each in their own way; container.h says what each must. */
struct engine_verbs {
	bool (*probe)(
		struct pool *pool, const struct engine *e, const char **version, struct err *err);
	const char *inspect_format; /* that `image inspect` takes; what it says is not read */
	bool (*start)(struct pool *pool, const struct engine *e, const struct container_spec *spec,
		struct container *out, struct err *err);
	bool (*readback)(struct pool *pool, const struct engine *e,
		const struct container_spec *spec, pid_t pid, struct buf *out, struct err *err);
	/* Ends it if it is there; then the engine must know none of that name. */
	bool (*remove)(
		struct pool *pool, const struct engine *e, const char *marker, struct err *err);
	/* The names of those with the site's label, a line each. */
	bool (*list)(struct pool *pool, const struct engine *e, const char *site, struct buf *names,
		struct err *err);
};
extern const struct engine engine_docker;
extern const struct engine engine_msb;
extern const struct engine engine_podman;

/* An answer to a question that starts nothing. */
#define ENGINE_ANSWER_MS 15000

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
/* Starts it and leaves it running: its stdin and stdout are box_end. It must live as long as the
 * box. *pid may be NULL. */
bool engine_client(struct argv *a, int box_end, pid_t *pid, struct err *err) NODISCARD;
/* The JSON object in text; an engine's warnings may stand around it on lines of their own. */
bool engine_json(const struct buf *text, struct json_object **out, struct err *err) NODISCARD;
/* The environment that engines are run with. */
const char *const *engine_environment(struct pool *pool);

/* --- container_facts.c --- */
/* What the kernel says of a container's process and cgroup, and the engine of the same. */
bool container_facts(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	pid_t pid, struct buf *out, struct err *err) NODISCARD;
/* Appends a JSON list of what the process holds open. */
void container_fds_add(struct pool *pool, pid_t pid, struct buf *out);
