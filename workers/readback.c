/*
 * The read-back gate: a box is handed out only when every field that the kernel and boxd reported
 * is what the policy asks for. The first that differs is named, with both values, so that the run
 * that is refused for it says why.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "container.h"
#include "json.h"
#include "size_class.h"
#include "spawn.h"
#include "text.h"
#include "wire.h"

/* The guest's kernel keeps some of the machine's memory for itself before it counts. */
#define GUEST_MEMORY_MIN(bytes) ((bytes) / 100 * 80)

static bool differs(struct err *err, const char *field, const char *is, const char *want)
{
	(void)err_set(err, ERR_FORBIDDEN, "read back: %s is %.80s, the policy says %.80s", field,
		is, want);
	return err_advise(err, "policy", "the box was not handed out; see the host's set-up");
}

static bool number_is(struct json_object *o, const char *field, int64_t want, struct err *err)
{
	char is[24] = "missing", wanted[24];
	int64_t v;

	(void)snprintf(wanted, sizeof(wanted), "%lld", (long long)want);
	if (!json_get_i64(o, field, &v))
		return differs(err, field, is, wanted);
	(void)snprintf(is, sizeof(is), "%lld", (long long)v);
	return v == want ? true : differs(err, field, is, wanted);
}

static bool text_is(struct json_object *o, const char *field, const char *want, struct err *err)
{
	const char *v = "missing";

	(void)json_get_text(o, field, &v);
	return !strcmp(v, want) ? true : differs(err, field, v, want);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* What the process may hold open: its own files by name, and kinds without a name. */
static bool fd_is_known(const char *name)
{
	static const char *const kinds[] = {
		"socket", "pipe", "anon_inode:", "/memfd:", "/dev/zero"};
	static const char *const files[] = {
		"/root.img", "/vmlinuz", "/initrd", "/disk.img", "/state"};

	if (!strcmp(name, "/dev/null") || !strcmp(name, "/dev/kvm") || !strcmp(name, "log"))
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (text_has_prefix(name, kinds[i]))
			return true;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (ends_with(name, files[i]))
			return true;
	return false;
}

static bool fds_are_known(struct json_object *o, struct err *err)
{
	struct json_object *fds = json_get(o, "fds");
	const char *name;

	/* the channel at least: none at all means that nobody looked */
	if (!json_count(fds))
		return differs(err, "fds", "missing", "a list");
	for (size_t i = 0; i < json_count(fds); i++)
		if (!json_as_text(json_at(fds, i), &name) || !fd_is_known(name))
			return differs(err, "fds",
				json_as_text(json_at(fds, i), &name) ? name : "no text",
				"nothing but the box's own files");
	return true;
}

/* What boxd counted from inside. */
static bool machine_is(
	struct json_object *machine, int64_t memory_bytes, int64_t cpus, struct err *err)
{
	char is[24] = "missing", want[24];
	int64_t v = -1;

	if (!number_is(machine, "nics", 0, err) || !number_is(machine, "cpus", cpus, err))
		return err_wrap(err, "in the box");
	if (json_get_i64(machine, "memory_bytes", &v) && v <= memory_bytes &&
		v >= GUEST_MEMORY_MIN(memory_bytes))
		return true;
	(void)snprintf(is, sizeof(is), "%lld", (long long)v);
	(void)snprintf(want, sizeof(want), "%lld", (long long)memory_bytes);
	(void)differs(err, "memory_bytes", is, want);
	return err_wrap(err, "in the box");
}

enum box_kind { BOX_MACHINE, BOX_CONTAINER, BOX_MSB, BOX_PROCESS };

/* A class we know, and after it the words for slots that share a uid where they do. */
static bool isolation_is_known(
	const char *isolation, bool uid_separated, bool is_msb, enum box_kind *kind)
{
	char class[32];
	size_t n = strcspn(isolation, ",");

	if (is_msb) {
		*kind = BOX_MSB;
		return !strcmp(isolation, "hardware-vm" SPAWN_NOT_SEPARATED) ||
		       !strcmp(isolation, CONTAINER_STAND_IN SPAWN_NOT_SEPARATED);
	}
	/* containers of an engine without user namespaces are not separated on any site */
	if (strcmp(isolation + n, uid_separated ? "" : SPAWN_NOT_SEPARATED) &&
		strcmp(isolation, "container" SPAWN_NOT_SEPARATED))
		return false;
	(void)snprintf(class, sizeof(class), "%.*s", (int)n, isolation);
	*kind = BOX_MACHINE;
	if (!strcmp(class, "hardware-vm") || !strcmp(class, "emulated-vm"))
		return true;
	*kind = BOX_CONTAINER;
	if (!strcmp(class, "container"))
		return true;
	*kind = BOX_PROCESS;
#ifdef ASB_TEST
	return !strcmp(class, "process");
#else
	return false;
#endif
}

/* What the kernel says of a container's process and cgroup, and its engine of the same. */
static bool container_is(
	struct json_object *o, bool separated, int64_t memory_bytes, int64_t cpus, struct err *err)
{
	struct json_object *engine = json_get(o, "engine");

	if (!number_is(o, "seccomp", 2, err) || !number_is(o, "no_new_privs", 1, err) ||
		!number_is(o, "nics", 0, err) || !number_is(o, "memory_bytes", memory_bytes, err) ||
		!number_is(o, "memory_swap_bytes", memory_bytes, err) ||
		!number_is(o, "pids", CONTAINER_PIDS, err) ||
		!number_is(o, "cpu_milli", cpus * 1000, err) ||
		!text_is(o, "cap_eff", separated ? CONTAINER_CAPS : CONTAINER_CAPS_SHARED, err))
		return false;
	return (number_is(engine, "memory_bytes", memory_bytes, err) &&
		       number_is(engine, "memory_swap_bytes", memory_bytes, err) &&
		       number_is(engine, "pids", CONTAINER_PIDS, err) &&
		       number_is(engine, "cpu_milli", cpus * 1000, err) &&
		       number_is(engine, "privileged", 0, err) &&
		       number_is(engine, "mounts", 0, err) &&
		       text_is(engine, "network", "none", err)) ||
	       err_wrap(err, "engine");
}

/* A box of microsandbox: what its engine says of the machine that runs. */
static bool msb_is(struct json_object *o, int64_t memory_bytes, int64_t cpus, struct err *err)
{
	struct json_object *e = json_get(o, "engine");
	int64_t mib = memory_bytes >> 20;

	return (text_is(e, "status", "Running", err) && text_is(e, "network", "deny", err) &&
		       number_is(e, "rules", 0, err) && number_is(e, "ports", 0, err) &&
		       number_is(e, "mounts", 0, err) && number_is(e, "memory_mib", mib, err) &&
		       number_is(e, "max_memory_mib", mib, err) &&
		       number_is(e, "cpus", cpus, err) && number_is(e, "max_cpus", cpus, err)) ||
	       err_wrap(err, "engine");
}

static bool process_is(struct json_object *o, struct err *err)
{
	return number_is(o, "no_new_privs", 1, err) &&
	       text_is(o, "cap_eff", "0000000000000000", err) && number_is(o, "nics", 0, err);
}

static bool machine_process_is(
	struct json_object *o, int64_t memory_bytes, int64_t cpus, struct err *err)
{
	return number_is(o, "seccomp", 2, err) && number_is(o, "memory_bytes", memory_bytes, err) &&
	       number_is(o, "cpus", cpus, err) && text_is(o, "disk_mode", "0600", err);
}

static bool number_between(
	struct json_object *o, const char *field, int64_t least, int64_t most, struct err *err)
{
	char is[24] = "missing", want[64];
	int64_t v;

	(void)snprintf(want, sizeof(want), "from %lld to %lld", (long long)least, (long long)most);
	if (!json_get_i64(o, field, &v))
		return differs(err, field, is, want);
	(void)snprintf(is, sizeof(is), "%lld", (long long)v);
	return (v >= least && v <= most) || differs(err, field, is, want);
}

/* A file system takes some of its disk for itself. */
#define GUEST_DISK_MIN(bytes) ((bytes) / 100 * 80)

bool readback_limits(const struct spawn_reply *spawned, const char *probe_json,
	const struct size_class *class, struct err *err)
{
	CLEANUP(json) struct json_object *probe = NULL;
	struct json_object *o;
	struct err ignored;

	/* what is no machine has its limits from the host's kernel, and microsandbox's from itself
	 */
	if (!strstr(spawned->isolation, "-vm") || strstr(spawned->readback, "\"engine\""))
		return true;
	if (!json_parse(probe_json, strlen(probe_json), &probe, &ignored))
		return differs(err, "probe", "not JSON", "an object");
	o = json_get(probe, "limits");
	if (number_between(o, "memory_bytes", GUEST_MEMORY_MIN(class->memory_bytes) / 2,
		    class->memory_bytes, err) &&
		number_is(o, "swap_bytes", 0, err) && number_is(o, "pids", BOX_PIDS, err) &&
		number_is(o, "cpus", class->cpus, err) &&
		number_between(
			o, "disk_bytes", GUEST_DISK_MIN(class->disk_bytes), class->disk_bytes, err))
		return true;
	return err_wrap(err, "limits in the box");
}

bool readback_check(const struct spawn_reply *spawned, const char *machine_json, bool uid_separated,
	int64_t memory_bytes, int64_t cpus, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(json) struct json_object *machine = NULL;
	struct err ignored;
	enum box_kind kind;
	bool separated = uid_separated && !strchr(spawned->isolation, ',');
	const char *engine = "";

	if (!json_parse(spawned->readback, strlen(spawned->readback), &o, &ignored))
		return differs(err, "readback", "not JSON", "an object");
	(void)json_get_text(json_get(o, "engine"), "name", &engine);
	if (!isolation_is_known(spawned->isolation, uid_separated, !strcmp(engine, "msb"), &kind))
		return differs(err, "isolation", spawned->isolation, "one that this build knows");
	if (separated && !spawned->uid)
		return differs(err, "uid", "0", "the slot's own");
	if (!number_is(o, "uid", spawned->uid, err))
		return false;
	if (kind == BOX_CONTAINER && !container_is(o, separated, memory_bytes, cpus, err))
		return false;
	if (kind == BOX_MSB && !msb_is(o, memory_bytes, cpus, err))
		return false;
	if ((kind == BOX_MACHINE || kind == BOX_PROCESS) && !process_is(o, err))
		return false;
	/* a plain process is no machine: there is nothing more of one to read back */
	if (kind == BOX_PROCESS)
		return true;
	/* microsandbox's own process is the engine's, and nobody's who could be read here */
	if (kind != BOX_MSB && !fds_are_known(o, err))
		return false;
	if (kind == BOX_MACHINE && !machine_process_is(o, memory_bytes, cpus, err))
		return false;
	if (!json_parse(machine_json, strlen(machine_json), &machine, &ignored))
		return differs(err, "machine", "not JSON", "an object");
	return machine_is(machine, memory_bytes, cpus, err);
}
