/*
 * What a container was really given: the process's own status, interfaces and descriptors, the
 * files of its cgroup (cgroup2 or the older controllers), and beside them what the engine says, so
 * that the read-back can compare all three with what was asked for.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "engine.h"
#include "json.h"
#include "pool.h"
#include "spawn_site.h"
#include "text.h"

#define CGROUPS "/sys/fs/cgroup"

static bool file_text(const char *path, char *out, size_t size)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	ssize_t n;

	while (fd >= 0 && got < size - 1 && (n = read(fd, out + got, size - 1 - got)) > 0)
		got += (size_t)n;
	out[got] = '\0';
	return got > 0;
}

/* The folder of the process's cgroup: of this controller, or of cgroup2 where controller is "". */
static bool cgroup_find(struct pool *pool, pid_t pid, const char *controller, const char **out)
{
	char text[8192];
	char *save = text, *line;

	if (!file_text(pool_printf(pool, "/proc/%d/cgroup", pid), text, sizeof(text)))
		return false;
	while ((line = strsep(&save, "\n"))) {
		char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (!strcmp(name + 1, controller)) {
			*out = pool_printf(
				pool, CGROUPS "%s%s%s", *controller ? "/" : "", controller, path);
			return true;
		}
	}
	return false;
}

/* The number in a file of the container's cgroup; -1: no such file, or no limit. */
static int64_t limit_read(struct pool *pool, pid_t pid, const char *controller, const char *file)
{
	const char *folder;
	char text[256];
	int64_t v;

	if (!cgroup_find(pool, pid, controller, &folder) ||
		!file_text(pool_printf(pool, "%s/%s", folder, file), text, sizeof(text)))
		return -1;
	text[strcspn(text, " \n")] = '\0';
	return text_to_i64(text, 0, INT64_MAX, &v) ? v : -1;
}

static bool host_has_swap(void)
{
	char text[4096];
	const char *at;

	if (!file_text("/proc/meminfo", text, sizeof(text)) || !(at = strstr(text, "SwapTotal:")))
		return true;
	return strtoll(at + 10, NULL, 10) > 0;
}

struct limits {
	int64_t memory, with_swap, pids, cpu_milli;
};

static int64_t milli(int64_t quota, int64_t period)
{
	return quota > 0 && period > 0 ? quota * 1000 / period : -1;
}

/* "QUOTA PERIOD" */
static int64_t cpu_max(struct pool *pool, pid_t pid)
{
	const char *folder;
	char text[256], *end;
	int64_t quota;

	if (!cgroup_find(pool, pid, "", &folder) ||
		!file_text(pool_printf(pool, "%s/cpu.max", folder), text, sizeof(text)))
		return -1;
	quota = strtoll(text, &end, 10);
	return milli(quota, strtoll(end, NULL, 10));
}

static void limits_read(struct pool *pool, pid_t pid, struct limits *l)
{
	int64_t swap;

	l->memory = limit_read(pool, pid, "", "memory.max");
	if (l->memory >= 0) {
		swap = limit_read(pool, pid, "", "memory.swap.max");
		l->with_swap = swap >= 0 ? l->memory + swap : -1;
		l->pids = limit_read(pool, pid, "", "pids.max");
		l->cpu_milli = cpu_max(pool, pid);
	} else {
		l->memory = limit_read(pool, pid, "memory", "memory.limit_in_bytes");
		l->with_swap = limit_read(pool, pid, "memory", "memory.memsw.limit_in_bytes");
		l->pids = limit_read(pool, pid, "pids", "pids.max");
		l->cpu_milli = milli(limit_read(pool, pid, "cpu", "cpu.cfs_quota_us"),
			limit_read(pool, pid, "cpu", "cpu.cfs_period_us"));
	}
	/* a kernel that does not account for swap, on a host that has none */
	if (l->with_swap < 0 && !host_has_swap())
		l->with_swap = l->memory;
}

/* Interfaces of its network but the loopback; 99: nobody knows. */
static int64_t nics_count(struct pool *pool, pid_t pid)
{
	char text[16384], *save = text, *line;
	int64_t n = 0;

	if (!file_text(pool_printf(pool, "/proc/%d/net/dev", pid), text, sizeof(text)))
		return 99;
	while ((line = strsep(&save, "\n"))) {
		char *colon = strchr(line, ':');

		line += strspn(line, " ");
		/* two lines of headings, which have no colon */
		if (colon && !text_has_prefix(line, "lo:"))
			n++;
	}
	return n;
}

void container_fds_add(struct pool *pool, pid_t pid, struct buf *out)
{
	DIR *d = opendir(pool_printf(pool, "/proc/%d/fd", pid));
	struct dirent *e;
	bool any = false;
	char link[256];

	(void)buf_addc(out, '[');
	while (d && (e = readdir(d))) {
		ssize_t n = e->d_name[0] == '.'
				    ? -1
				    : readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		if (any)
			(void)buf_addc(out, ',');
		json_add_quoted(out, link, (size_t)n);
		any = true;
	}
	if (d)
		(void)closedir(d);
	(void)buf_addc(out, ']');
}

static int64_t member(struct json_object *o, const char *key)
{
	int64_t v = -1;

	(void)json_get_i64(o, key, &v);
	return v;
}

static bool engine_says(struct pool *pool, const struct engine *e, const char *marker,
	struct buf *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
	CLEANUP(json) struct json_object *o = NULL;
	const char *network = "unknown";
	struct json_object *host;
	int64_t nano, cpu;
	bool privileged = true;
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "container", "inspect");
	argv_add2(&a, "--format", "{{json .}}");
	argv_add(&a, marker);
	if (!engine_ask(&a, ENGINE_ANSWER_MS, &text, err) || !engine_json(&text, &o, err))
		return false;
	host = json_get(o, "HostConfig");
	(void)json_get_text(host, "NetworkMode", &network);
	(void)json_get_bool(host, "Privileged", &privileged);
	nano = member(host, "NanoCpus");
	cpu = nano > 0 ? nano / 1000000
		       : milli(member(host, "CpuQuota"), member(host, "CpuPeriod"));
	(void)buf_addf(out,
		",\"engine\":{\"name\":\"%s\",\"memory_bytes\":%lld,\"memory_swap_bytes\":%lld,"
		"\"pids\":%lld,\"cpu_milli\":%lld,\"privileged\":%d,\"mounts\":%zu,\"network\":",
		e->name, (long long)member(host, "Memory"), (long long)member(host, "MemorySwap"),
		(long long)member(host, "PidsLimit"), (long long)cpu, privileged,
		json_count(json_get(o, "Mounts")));
	json_add_quoted(out, network, strlen(network));
	(void)buf_addc(out, '}');
	return true;
}

bool container_facts(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	pid_t pid, struct buf *out, struct err *err)
{
	struct limits l = {-1, -1, -1, -1};
	char status[4096], caps[32];

	if (!file_text(pool_printf(pool, "/proc/%d/status", pid), status, sizeof(status)))
		return err_set(err, ERR_UPSTREAM, "read back: the container has ended");
	limits_read(pool, pid, &l);
	status_word(status, "CapEff", caps);
	(void)buf_addf(out,
		"{\"uid\":%lld,\"seccomp\":%lld,\"no_new_privs\":%lld,\"cap_eff\":\"%s\",\"nics\":%"
		"lld,"
		"\"memory_bytes\":%lld,\"memory_swap_bytes\":%lld,\"pids\":%lld,\"cpu_milli\":%lld,"
		"\"cpus\":%lld,\"fds\":",
		(long long)status_number(status, "Uid"),
		(long long)status_number(status, "Seccomp"),
		(long long)status_number(status, "NoNewPrivs"), caps,
		(long long)nics_count(pool, pid), (long long)l.memory, (long long)l.with_swap,
		(long long)l.pids, (long long)l.cpu_milli,
		(long long)(l.cpu_milli > 0 ? (l.cpu_milli + 999) / 1000 : -1));
	container_fds_add(pool, pid, out);
	if (!engine_says(pool, e, spec->marker, out, err))
		return err_wrap(err, "read back");
	(void)buf_addc(out, '}');
	return out->failed ? err_set(err, ERR_UPSTREAM, "read back: too long") : true;
}
