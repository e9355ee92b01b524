#pragma once
/*
 * Asking asb-spawn, the one program with privilege, for the few things it does. One JSON request
 * and one JSON answer a SOCK_SEQPACKET connection on RUN_DIR/spawn.sock; spawn answers only peers
 * with the worker's uid (SO_PEERCRED), and the asking side speaks to root or to its own uid alone.
 *
 *	{"verb":"spawn","box":"box-..","slot":3,"runtime":"qemu","image":"base","class":"s"}
 *	  ->
 *{"ok":true,"pid":N,"pid_start":N,"uid":N,"template":"KEY"|null,"isolation":"emulated-vm",
 *	      "readback":{"uid":N,"seccomp":2,"no_new_privs":1,"cap_eff":"0000000000000000",
 *	                  "nics":0,"memory_bytes":N,"cpus":N,"fds":["..",..],"disk_mode":"0600"}}
 *	{"verb":"kill","box":"box-..","slot":3} -> {"ok":true}   when proved gone; idempotent
 *	{"verb":"list"} -> {"ok":true,"boxes":[{"box":"box-..","slot":3,"pid":N,"pid_start":N},..]}
 *	      the shims that live, by the site's marker; slot -1 where slots share a uid
 *	any -> {"ok":false,"code":"..","message":"..","fix":"..","class":".."}
 *
 * spawn returns when the shim listens on RUN_DIR/box/NAME/shim.sock and the guest was started, not
 * when it said HELLO: attach to the shim for that.
 */
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct config;
struct json_object;
struct pool;
struct size_class;

/* First uid of a box: uid_base + this + slot. */
#define SPAWN_BOX_UID 16
/* What follows the isolation class of a box on a site whose slots share one uid. */
#define SPAWN_NOT_SEPARATED ", slots not separated"

struct spawn_reply {
	pid_t pid;
	int64_t pid_start; /* clock ticks since boot, /proc/PID/stat field 22 */
	int64_t uid;
	const char *template_key; /* NULL: cold boot */
	const char *isolation;
	const char *readback; /* JSON text */
};

bool spawn_box(const struct config *cfg, struct pool *pool, const char *box, int slot,
	const char *runtime, const char *image, const char *size_class, struct spawn_reply *out,
	struct err *err) NODISCARD;
bool spawn_kill(const struct config *cfg, struct pool *pool, const char *box, int slot,
	struct err *err) NODISCARD;
/* The same in two steps, for who may not wait: *fd, the caller's to close, is readable when the
 * answer is there. */
bool spawn_kill_ask(
	const struct config *cfg, const char *box, int slot, int *fd, struct err *err) NODISCARD;
bool spawn_kill_answer(int fd, struct err *err) NODISCARD;

struct spawn_listed {
	const char *box;
	int slot; /* -1: not told */
	pid_t pid;
	int64_t pid_start;
};
/* Every box that lives on this host, for the sweep that compares them with the rows. */
bool spawn_list(const struct config *cfg, struct pool *pool, struct spawn_listed **out, size_t *n,
	struct err *err) NODISCARD;

/* Compares what spawn read back and what boxd's HELLO said of the machine with what the class and
 * the policy ask for. ERR_FORBIDDEN, reason "policy", naming the first field that differs. */
bool readback_check(const struct spawn_reply *spawned, const char *machine_json, bool uid_separated,
	int64_t memory_bytes, int64_t cpus, struct err *err) NODISCARD;
/* The same of the limits that a machine's own kernel told boxd (its PROBE answer). */
bool readback_limits(const struct spawn_reply *spawned, const char *probe_json,
	const struct size_class *class, struct err *err) NODISCARD;
