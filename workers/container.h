#pragma once
/*
 * Boxes as containers of an engine with podman's command line. asb-spawn, as root, is the only
 * caller of what starts or ends one; a shim is handed the channel. The engine's answers are never
 * believed about life or limits: those are the kernel's to say.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct buf;
struct image;
struct json_object;
struct pool;

/* Processes in a container, boxd's own few among them. */
#define CONTAINER_PIDS 512
/* What a container's root keeps, as CapEff tells it: with ids of its own, and without. */
#define CONTAINER_CAPS "00000000000800ef"
#define CONTAINER_CAPS_SHARED "00000000000800eb"
/* Host uids that a container's ids 0 to 2047 become; no other container's, and nobody's. */
#define CONTAINER_UIDS 2048
/* Where boxd lies in an image that an engine has. */
#define CONTAINER_BOXD "/usr/local/lib/asb/boxd"
/* The class of a box whose engine says that it only speaks as another would. */
#define CONTAINER_STAND_IN "container, a stand-in"
/* Labels by which ours are known, and their boxes. */
#define CONTAINER_LABEL_SITE "asb.site"
#define CONTAINER_LABEL_BOX "asb.box"

struct engine_verbs;
struct engine {
	const char *name; /* of the runtime, and of the program */
	const struct engine_verbs *verbs;
	const char *const *flags; /* before each command; ends with NULL */
	const char *const *run;	  /* more options of run; ends with NULL */
	bool namespaced;	  /* a container has ids of its own, so slots are separated */
	bool takes_fd;		  /* passes a descriptor on; else the channel is PID 1's stdio */
	/* Looks at what `version` says: a program may carry another's name. */
	bool (*check)(struct json_object *version, struct err *err);
	const char *fix; /* what to do where it is not there */
};

/* NULL: the runtime of this name is no container engine. */
const struct engine *engine_find(const char *runtime);
/* The first, then the next ones, NULL at the end. */
const struct engine *engine_at(size_t i);

/* Is it installed, is it what its name says, does it answer? *version is for people. The error's
 * fix says what to do. */
bool engine_probe(
	struct pool *pool, const struct engine *e, const char **version, struct err *err) NODISCARD;
/* The engine's name of our image; ERR_NOT_FOUND where it was not imported. */
const char *engine_image_name(struct pool *pool, const struct image *image);
bool engine_has_image(struct pool *pool, const struct engine *e, const struct image *image,
	struct err *err) NODISCARD;

struct container_spec {
	const char *marker; /* its name in the engine, "asb-SITE-BOX" */
	const char *site, *box;
	const char *image; /* engine_image_name's */
	int64_t memory_bytes, cpus, disk_bytes;
	uid_t uid; /* where namespaced: of its root */
};
/* The host uid of a container's root in this slot, and the slot of such a uid in a site whose slots
 * begin at first_uid; -1: none of a container's. */
uid_t container_uid(uid_t slot_uid);
int container_slot(uid_t uid, uid_t first_uid);

struct container {
	pid_t pid;	       /* boxd's in our view, or of what ends when it does */
	int channel;	       /* the caller's to close */
	const char *isolation; /* NULL: the runtime's class */
};
/* Returns when boxd runs. On failure nothing is left but what container_remove removes. */
bool container_start(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	struct container *out, struct err *err) NODISCARD;
/* Appends the read-back, a JSON object: what the kernel says of the process and of its cgroup, and
 * under "engine" what the engine says. */
bool container_readback(struct pool *pool, const struct engine *e,
	const struct container_spec *spec, pid_t pid, struct buf *out, struct err *err) NODISCARD;
/* Ends the container if there is one, and proves by the engine and by the kernel that there is
 * none. */
bool container_remove(
	struct pool *pool, const struct engine *e, const char *marker, struct err *err) NODISCARD;
/* Removes each container that carries the site's label and whose box is_known does not know. */
bool container_sweep(struct pool *pool, const struct engine *e, const char *site,
	bool (*is_known)(const char *box, void *arg), void *arg, struct err *err) NODISCARD;
