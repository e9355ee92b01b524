/*
 * microsandbox: microVMs (libkrun on KVM), driven by its command line. It owns the machine's first
 * process, so asb-boxd runs by `exec --stream` in a process namespace of its own, where it is the
 * first; the client of that exec is the channel, and what lives as long as the box. What the
 * machine was given is read back from the engine's record of what runs, and from inside it by boxd.
 *
 * Its command line cannot leave out the network card, only forbid all that goes through it: the
 * read-back from inside counts the card and refuses the box where it is there.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine.h"
#include "isolation.h"
#include "json.h"
#include "pool.h"
#include "runtimes.h"
#include "text.h"

/* A boot takes a tenth of a second on KVM; past this it hangs. */
#define START_MS 30000
#define MIB (1024 * 1024)
/* The first whose exec streams bytes as they are. */
#define VERSION_WANTED "0.6.14"

/* "0.6.18" as one number; -1: it is none. */
static int64_t version_number(const char *s)
{
	int64_t n = 0;

	for (int i = 0; i < 3; i++) {
		char *end;
		long part = strtol(s, &end, 10);

		if (end == s || part < 0 || part > 9999 || (i < 2 && *end != '.'))
			return -1;
		n = n * 10000 + part;
		s = end + 1;
	}
	return n;
}

/* "msb 0.6.18", and after it nothing, or that it is a stand-in. */
static bool version_is_fine(const char *text, bool *stand_in, struct err *err)
{
	const char *number = text + strlen("msb ");
	const char *rest;

	if (!text_has_prefix(text, "msb ") || version_number(number) < 0)
		return err_set(err, ERR_INVALID, "msb: this program is not microsandbox");
	rest = number + strspn(number, "0123456789.");
	*stand_in = text_has_prefix(rest, " (stand-in");
	if (*rest && !*stand_in)
		return err_set(err, ERR_INVALID, "msb: this program is not microsandbox");
	return version_number(number) >= version_number(VERSION_WANTED)
		       ? true
		       : err_set(err, ERR_INVALID, "msb: %.20s is older than " VERSION_WANTED,
				 number);
}

static bool version_ask(struct pool *pool, const struct engine *e, const char **version,
	bool *stand_in, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(4096);
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add(&a, "--version");
	if (!engine_ask(&a, ENGINE_ANSWER_MS, &text, err))
		return err_advise(err, "no_engine", e->fix);
	text.data[strcspn(text.data, "\n")] = '\0';
	if (!version_is_fine(text.data, stand_in, err))
		return err_advise(err, "no_engine", e->fix);
	*version = pool_strdup(pool, text.data);
	return true;
}

static bool probe(struct pool *pool, const struct engine *e, const char **version, struct err *err)
{
	bool stand_in;

	return version_ask(pool, e, version, &stand_in, err);
}

static bool create(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536);
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "create", "--quiet");
	argv_add2(&a, "--name", spec->marker);
	argv_add2(&a, "--hostname", spec->box);
	argv_add2(&a, "--pull", "never");
	argv_add(&a, "--no-net");
	argv_add2(&a, "--memory", pool_printf(pool, "%lldM", (long long)spec->memory_bytes / MIB));
	argv_add2(&a, "--cpus", pool_printf(pool, "%lld", (long long)spec->cpus));
	argv_add2(&a, "--root-disk", pool_printf(pool, "%lldM", (long long)spec->disk_bytes / MIB));
	argv_add2(&a, "--label", pool_printf(pool, CONTAINER_LABEL_SITE "=%s", spec->site));
	argv_add2(&a, "--label", pool_printf(pool, CONTAINER_LABEL_BOX "=%s", spec->box));
	argv_add(&a, spec->image);
	return engine_ask(&a, START_MS, &text, err);
}

/* boxd is the first process of namespaces that die with the client. */
static bool boxd_start(struct pool *pool, const struct engine *e, const char *marker, int box_end,
	pid_t *pid, struct err *err)
{
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "exec", "--stream");
	argv_add(&a, "--quiet");
	argv_add2(&a, "--user", "root");
	argv_add2(&a, "--rlimit", pool_printf(pool, "nproc=%d", CONTAINER_PIDS));
	argv_add2(&a, marker, "--");
	argv_add2(&a, "/usr/bin/unshare", "--net");
	argv_add2(&a, "--pid", "--fork");
	argv_add(&a, "--mount-proc");
	argv_add2(&a, "--kill-child", CONTAINER_BOXD);
	argv_add2(&a, "--fd", "-");
	argv_add2(&a, "--marker", marker);
	return engine_client(&a, box_end, pid, err);
}

static bool start(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	struct container *out, struct err *err)
{
	const char *version;
	bool stand_in;
	int pair[2];

	if (!version_ask(pool, e, &version, &stand_in, err) || !create(pool, e, spec, err))
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, ERR_BUSY, "msb: socketpair");
	CLEANUP(fd) int ours = pair[0];
	CLEANUP(fd) int theirs = pair[1];
	if (!boxd_start(pool, e, spec->marker, theirs, &out->pid, err))
		return false;
	out->isolation = stand_in ? CONTAINER_STAND_IN : NULL;
	out->channel = STEAL_FD(ours);
	return true;
}

static int64_t number(struct json_object *o, const char *key)
{
	int64_t v = -1;

	(void)json_get_i64(o, key, &v);
	return v;
}

static bool denies(struct json_object *policy, const char *direction)
{
	const char *v = "";

	return json_get_text(policy, direction, &v) && !strcmp(v, "deny");
}

/* Those that bring something of the host in; a tmpfs is the machine's own. */
static size_t host_mounts(struct json_object *mounts)
{
	size_t n = 0;

	for (size_t i = 0; i < json_count(mounts); i++) {
		const char *type = "";

		(void)json_get_text(json_at(mounts, i), "type", &type);
		n += strcmp(type, "Tmpfs") != 0;
	}
	return n;
}

static bool readback(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	pid_t pid, struct buf *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *has, *network, *policy, *resources, *disk;
	const char *status = "unknown", *profile = "unknown";
	struct argv a;

	(void)pid;
	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "inspect", "--format");
	argv_add2(&a, "json", spec->marker);
	if (!engine_ask(&a, ENGINE_ANSWER_MS, &text, err) || !engine_json(&text, &o, err))
		return err_wrap(err, "read back");
	/* of what runs, not of what was asked for */
	has = json_get(o, "active_config");
	network = json_get(has, "network");
	policy = json_get(network, "policy");
	resources = json_get(has, "resources");
	disk = json_get(json_get(json_get(has, "image"), "Oci"), "root_disk");
	(void)json_get_text(o, "status", &status);
	(void)json_get_text(has, "security_profile", &profile);
	(void)buf_adds(out, "{\"uid\":0,\"engine\":{\"name\":\"msb\",\"status\":");
	json_add_quoted(out, status, strlen(status));
	(void)buf_adds(out, ",\"security_profile\":");
	json_add_quoted(out, profile, strlen(profile));
	(void)buf_addf(out,
		",\"memory_mib\":%lld,\"max_memory_mib\":%lld,\"cpus\":%lld,\"max_cpus\":%lld,"
		"\"disk_mib\":%lld,\"network\":\"%s\",\"rules\":%zu,\"ports\":%zu,\"mounts\":%zu}}",
		(long long)number(resources, "memory_mib"),
		(long long)number(resources, "max_memory_mib"),
		(long long)number(resources, "cpus"), (long long)number(resources, "max_cpus"),
		(long long)number(disk, "size_mib"),
		denies(policy, "default_egress") && denies(policy, "default_ingress") ? "deny"
										      : "open",
		json_count(json_get(policy, "rules")), json_count(json_get(network, "ports")),
		host_mounts(json_get(has, "mounts")));
	return out->failed ? err_set(err, ERR_UPSTREAM, "read back: too long") : true;
}

/* Appends the names of all, or of those with the site's label. */
static bool names(struct pool *pool, const struct engine *e, const char *site, struct buf *out,
	struct err *err)
{
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "list", "--quiet");
	if (site)
		argv_add2(&a, "--label", pool_printf(pool, CONTAINER_LABEL_SITE "=%s", site));
	return engine_ask(&a, ENGINE_ANSWER_MS, out, err);
}

static bool list(struct pool *pool, const struct engine *e, const char *site, struct buf *out,
	struct err *err)
{
	return names(pool, e, site, out, err);
}

static bool remove_it(
	struct pool *pool, const struct engine *e, const char *marker, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536);
	CLEANUP(buf) struct buf left = BUF_INIT(1 << 20);
	struct argv a;
	int status;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "remove", "--force");
	argv_add2(&a, "--quiet", marker);
	/* that there is none is an error to it: what counts is what is left */
	if (!engine_call(&a, -1, START_MS, &text, &status, err) ||
		!names(pool, e, NULL, &left, err))
		return false;
	for (char *at = left.data, *line; (line = strsep(&at, "\n"));)
		if (!strcmp(line, marker))
			return err_set(err, ERR_UPSTREAM, "msb: %s is still there", marker);
	return true;
}

static const struct engine_verbs verbs = {
	.probe = probe,
	.inspect_format = "json",
	.start = start,
	.readback = readback,
	.remove = remove_it,
	.list = list,
};

static const char *const no_flags[] = {NULL};

const struct engine engine_msb = {
	.name = "msb",
	.verbs = &verbs,
	.flags = no_flags,
	.run = no_flags,
	.fix = "install microsandbox " VERSION_WANTED " or later on a host with KVM, or set "
	       "BOX_RUNTIME to another runtime",
};

const struct runtime runtime_msb = {
	.name = "msb",
	.isolation = ISOLATION_HARDWARE,
	.has_image = true,
	.confined = true,
	.is_container = true,
};
