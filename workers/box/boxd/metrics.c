/*
 * Numbers of the machine, read from /proc and /sys.
 */
#include <net/if.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "container.h"
#include "exec.h"
#include "text.h"

/* Value in bytes of a line "Name:   123 kB" of /proc/meminfo, 0 where there is none. */
static int64_t meminfo_bytes(const char *name)
{
	CLEANUP(fd) int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	char text[4096];
	const char *at;
	ssize_t n;

	if (fd < 0 || (n = read(fd, text, sizeof(text) - 1)) <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, name);
	return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Not from /proc/meminfo: HELLO says it, when a clone has translated nothing yet. */
int64_t machine_memory_bytes(const struct boxd *b)
{
	int64_t limit = b->in_container ? container_memory_bytes() : 0;
	struct sysinfo si = {0};

	if (limit)
		return limit;
	return sysinfo(&si) ? 0 : (int64_t)(si.totalram * si.mem_unit);
}

int64_t machine_cpus(const struct boxd *b)
{
	int64_t limit = b->in_container ? container_cpus() : 0;
	cpu_set_t cpus;

	if (limit)
		return limit;
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 0 : CPU_COUNT(&cpus);
}

/* Calls add for each network interface but the loopback; how many there are. */
static int nics_each(struct buf *json)
{
	static DIR *dir; /* held open from the first look on, in a template */
	struct dirent *d;
	int n = 0;

	if (dir)
		rewinddir(dir);
	else
		dir = opendir("/sys/class/net");
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || strcmp(d->d_name, "lo") == 0)
			continue;
		n++;
		if (json)
			boxjson_add_text(json, NULL, d->d_name);
	}
	return n;
}

int machine_nics(void)
{
	return nics_each(NULL);
}

void nics_add(struct buf *json)
{
	(void)nics_each(json);
}

void metrics_send(struct boxd *b, uint32_t stream)
{
	CLEANUP(buf) struct buf json = BUF_INIT(2048);
	int64_t total = machine_memory_bytes(b), free_bytes = meminfo_bytes("MemAvailable:");
	double load[3] = {0};
	struct sysinfo si = {0};
	struct statvfs fs = {0};
	int execs = 0;

	for (struct exec *e = b->execs; e; e = e->next)
		execs += e->state != EXEC_ENDED;
	(void)getloadavg(load, 3);
	(void)sysinfo(&si);
	(void)statvfs("/", &fs);
	(void)buf_addc(&json, '{');
	boxjson_add_i64(&json, "memory_used_bytes",
		b->in_container ? container_memory_used() : total - free_bytes);
	boxjson_add_i64(&json, "memory_bytes", total);
	boxjson_add_u64(
		&json, "disk_used_bytes", (uint64_t)fs.f_frsize * (fs.f_blocks - fs.f_bfree));
	boxjson_add_u64(&json, "disk_bytes", (uint64_t)fs.f_frsize * fs.f_blocks);
	boxjson_add_i64(&json, "load_milli", (int64_t)(load[0] * 1000));
	boxjson_add_i64(&json, "procs", si.procs);
	boxjson_add_i64(&json, "execs", execs);
	boxjson_add_i64(&json, "uptime_ms", time_boot_ms());
	boxjson_add_i64(&json, "clock_ms", time_now_ms());
	boxjson_add_key(&json, "load");
	(void)buf_addf(&json, "\"%.2f %.2f %.2f\"}", load[0], load[1], load[2]);
	channel_send(b, WIRE_METRICS, stream, &json);
}
