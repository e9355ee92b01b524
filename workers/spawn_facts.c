/*
 * Reading back what a box's process really is, from the kernel and not from what we asked for:
 * uid, seccomp mode, no_new_privs and capabilities from /proc/PID/status, memory, processors and
 * network devices from its arguments, its disk's mode. Only the list of descriptors and the
 * machine's own devices come from the shim, because another uid may not see them.
 */
#include "spawn_site.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "template.h"
#include "text.h"

/* A process that is in the middle of its exec has no arguments: its old ones are gone before its
 * new ones are there, and whoever waits for the exec is told in between. It may get no processor
 * there. */
#define ARGUMENTS_MS 20000

/* *len 0: there was nothing, or (false) why. */
static bool text_read(
	pid_t pid, const char *name, char *out, size_t size, size_t *len, struct err *err)
{
	char path[64];
	size_t got = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, ERR_UPSTREAM, "read back %s", name);
	while (got < size - 1 && (n = read(fd, out + got, size - 1 - got)) > 0)
		got += (size_t)n;
	out[got] = '\0';
	*len = got;
	return true;
}

void status_word(const char *status, const char *key, char out[32])
{
	char line[40];
	const char *at;
	size_t n;

	(void)snprintf(line, sizeof(line), "\n%s:\t", key);
	at = strstr(status, line);
	out[0] = '\0';
	if (!at)
		return;
	at += strlen(line);
	n = strcspn(at, "\t\n ");
	if (n < 32) {
		memcpy(out, at, n);
		out[n] = '\0';
	}
}

int64_t status_number(const char *status, const char *key)
{
	char word[32];
	int64_t v = -1;

	status_word(status, key, word);
	(void)text_to_i64(word, 0, INT64_MAX, &v);
	return v;
}

/* The arguments of a process that may be new. */
static bool cmdline_read(pid_t pid, char *out, size_t size, size_t *len, struct err *err)
{
	int64_t until = time_boot_ms() + ARGUMENTS_MS;
	struct proc p;

	for (;;) {
		if (!text_read(pid, "cmdline", out, size, len, err))
			return false;
		if (*len)
			return true;
		if (!proc_read(pid, &p))
			return err_set(
				err, ERR_UPSTREAM, "read back cmdline: the process has ended");
		if (time_boot_ms() > until)
			return err_set(err, ERR_UPSTREAM, "read back cmdline: nothing there");
		(void)poll(NULL, 0, 1);
	}
}

static bool arguments_read(
	const struct spawn_request *rq, pid_t pid, struct runtime_facts *out, struct err *err)
{
	char text[32768], *argv[512];
	size_t len, argc = 0;

	if (!cmdline_read(pid, text, sizeof(text), &len, err))
		return false;
	for (size_t at = 0; at < len && argc < 511; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	return rq->runtime->inspect(argv, argc, out, err);
}

bool facts_read(struct pool *pool, const struct spawn_request *rq, struct json_object *report,
	struct buf *out, struct err *err)
{
	const char *disk_mode = NULL;
	struct runtime_facts facts;
	char status[4096], caps[32];
	int64_t pid, devices = 0;
	size_t len;

	if (!json_get_i64(report, "pid", &pid) || !json_get_i64(report, "device_nics", &devices) ||
		!json_get(report, "fds"))
		return err_set(err, ERR_UPSTREAM, "read back: the shim's report is not whole");
	if (!text_read((pid_t)pid, "status", status, sizeof(status), &len, err) ||
		(!len && !err_set(err, ERR_UPSTREAM, "read back status: nothing there")) ||
		!arguments_read(rq, (pid_t)pid, &facts, err))
		return false;
	if (!rq->runtime->has_image) {
		facts.memory_bytes = rq->size->memory_bytes;
		facts.cpus = rq->size->cpus;
	}
	status_word(status, "CapEff", caps);
	(void)buf_addf(out, "{\"uid\":%lld,\"seccomp\":%lld,\"no_new_privs\":%lld,\"cap_eff\":",
		(long long)status_number(status, "Uid"),
		(long long)status_number(status, "Seccomp"),
		(long long)status_number(status, "NoNewPrivs"));
	json_add_quoted(out, caps, strlen(caps));
	(void)buf_addf(out, ",\"nics\":%lld,\"memory_bytes\":%lld,\"cpus\":%lld,\"fds\":%s",
		(long long)(facts.nics > devices ? facts.nics : devices),
		(long long)facts.memory_bytes, (long long)facts.cpus,
		json_text(json_get(report, "fds"), pool));
	/* its directory is closed to us, so the shim looked */
	if (json_get_text(report, "disk_mode", &disk_mode)) {
		(void)buf_adds(out, ",\"disk_mode\":");
		json_add_quoted(out, disk_mode, strlen(disk_mode));
	}
	(void)buf_addc(out, '}');
	return out->failed ? err_set(err, ERR_UPSTREAM, "read back: too long") : true;
}
