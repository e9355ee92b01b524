#pragma once
/*
 * The inside of asb-spawn: what its files share. Only main_spawn.c, spawn_*.c and the client's
 * header-free friends include this; everybody else asks through spawn.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "runtimes.h"

struct buf;
struct config;
struct json_object;
struct pool;
struct size_class;
struct template;

/* The shim's descriptors by number; 0 and 1 are /dev/null, 2 is the log. */
#define SHIM_FD_LISTEN 3
#define SHIM_FD_REPORT 4
#define SHIM_FD_MEM 5
#define SHIM_FD_STATE 6
/* a container's, which was started before its shim */
#define SHIM_FD_CHANNEL 7
#define SHIM_FD_PIDFD 8
/* "asb-SITE-BOX" */
#define MARKER_SIZE 160

struct spawn_site {
	const struct config *cfg;
	struct pool *pool;	 /* as long as the process */
	uid_t worker_uid;	 /* the one who may ask */
	uid_t gate_uid;		 /* the one that shims believe to be the gate */
	const char *program_dir; /* where this program lies, and asb-shim beside it */
	int box_run_dir;	 /* RUN_DIR/box */
	int box_state_dir;	 /* STATE_DIR/box */
	struct loaded *loaded;	 /* templates held, spawn_template.c */
	bool has_root;		 /* kept, for container engines */
};

struct spawn_request {
	const char *box;
	int slot;
	uid_t uid; /* the slot's */
	const struct runtime *runtime;
	const char *image;
	const struct size_class *size;
	char marker[MARKER_SIZE];
};

/* --- spawn_server.c: sockets and verbs. Returns when it is told to end. --- */
bool spawn_serve(struct spawn_site *site, int listener, struct err *err) NODISCARD;

/* --- spawn_dirs.c --- */
/* Makes RUN_DIR/box and STATE_DIR/box and opens them; while we still have every capability. */
bool dirs_open(struct spawn_site *site, struct err *err) NODISCARD;
/* Makes both directories of a box, its disk (a copy of disk_from; NULL: no disk) and the socket it
 * will listen on, gives all to the slot's uid last. On failure nothing is left. */
bool dirs_make(struct spawn_site *site, const struct spawn_request *rq, const char *disk_from,
	int *listener, struct err *err) NODISCARD;
/* Removes both directories of the box, contents by a child that is the slot's uid. None is fine. */
bool dirs_remove(struct spawn_site *site, const char *box, uid_t uid, struct err *err) NODISCARD;
/* Removes the directories of every box that belongs to uid: leftovers of a dead box. */
bool dirs_clean_slot(struct spawn_site *site, uid_t uid, struct err *err) NODISCARD;

/* --- spawn_scan.c --- */
struct proc {
	pid_t pid;
	pid_t ppid;
	uid_t uid;
	int64_t start; /* clock ticks since boot */
	bool is_shim;  /* its first argument is the marker */
	char marker[MARKER_SIZE];
};
/* Calls fn for each living process that carries a marker of this site ("asb-SITE-...") in its
 * arguments and whose uid is one of the site's (without separation: ours). fn false: stop. */
bool scan_site(const struct spawn_site *site, bool (*fn)(const struct proc *p, void *arg),
	void *arg, struct err *err) NODISCARD;
/* The same for all processes of those uids; p->marker is "" where there is none. */
bool scan_boxes(const struct spawn_site *site, bool (*fn)(const struct proc *p, void *arg),
	void *arg, struct err *err) NODISCARD;
/* Kills every process with this marker and uid and waits until they are gone; shims first. */
bool scan_kill(
	const struct spawn_site *site, const char *marker, uid_t uid, struct err *err) NODISCARD;
/* Kills every process of uid; only for a box's uid, where slots are separated. */
bool scan_kill_uid(const struct spawn_site *site, uid_t uid, struct err *err) NODISCARD;
/* The same for whatever is left of uid without that marker, which a process can take out of its own
 * arguments; not where the slot has another box's shim already. */
bool scan_kill_rest(
	const struct spawn_site *site, const char *marker, uid_t uid, struct err *err) NODISCARD;
/* false: no such process (any more). */
bool proc_read(pid_t pid, struct proc *out);

/* --- spawn_template.c --- */
/* What the box boots from: image_dir and disk to copy, and a template held sealed, or tpl->key NULL
 * for a cold boot. All of it lives as long as the site. */
bool template_for(struct spawn_site *site, const struct spawn_request *rq, bool cold,
	const char **image_dir, const char **disk, const struct template **tpl,
	struct err *err) NODISCARD;
/* Lets go of all of them, at the end. */
void templates_close(struct spawn_site *site);

/* --- spawn_start.c --- */
/* Starts the shim; *report is readable when it has said how that went. */
struct started {
	pid_t pid;
	int64_t pid_start;
	int report; /* the caller's to close */
	const char *template_key;
	uid_t uid; /* that the box's process must have */
	/* of a container, once it was launched */
	const char *readback, *isolation;
};
bool start_shim(struct spawn_site *site, struct pool *pool, const struct spawn_request *rq,
	struct started *out, struct err *err) NODISCARD;

/* What the shim's environment says of the box. */
const char *const *shim_environment(struct spawn_site *site, struct pool *pool,
	const struct spawn_request *rq, const char *image_dir);

/* --- spawn_container.c --- */
/* Starts the container and then its shim, in a child: *report first says {"ok":true,"pid":N (the
 * shim's),"isolation":"..","readback":{..}}, or how it failed, and then what the shim says. */
bool launch_container(struct spawn_site *site, const struct spawn_request *rq, int listener,
	struct started *out, struct err *err) NODISCARD;
/* Takes the first of these two. */
bool container_launched(struct started *s, struct pool *pool, struct json_object *report,
	struct err *err) NODISCARD;
/* The engine that has, or may have, a container of this box; NULL: none has. The record is made
 * before the container and outlives it, a reboot too. */
const struct engine *container_recorded(const struct spawn_site *site, const char *box);
/* Ends the box in a child of ours; *report says {"ok":true} when it is proved gone. */
bool container_kill(struct spawn_site *site, const struct spawn_request *rq, const struct engine *e,
	int *report, struct err *err) NODISCARD;
/* In a child: removes containers of this site that have no record. */
void containers_sweep(struct spawn_site *site);

/* --- spawn_facts.c --- */
/* A line of /proc/PID/status: its first word ("" where it is missing), or that as a number (-1). */
void status_word(const char *status, const char *key, char out[32]);
int64_t status_number(const char *status, const char *key);
/* Appends what the kernel says of the box's process, the reply's "readback"; report is the shim's.
 */
bool facts_read(struct pool *pool, const struct spawn_request *rq, struct json_object *report,
	struct buf *out, struct err *err) NODISCARD;
