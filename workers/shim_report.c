/*
 * What asb-spawn is told once the box's process runs: its pid, the descriptors it holds, the
 * network devices the machine has, its disk's mode. Descriptors are named by kind or by path
 * without numbers, so that the same box always reports the same list. Nobody else can look: the
 * process has the slot's uid.
 */
#include "shim.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "json.h"
#include "text.h"

#define REPORT_MAX (60 * 1024)

static void report_send(int fd, const struct buf *b)
{
	/* asb-spawn may have ended meanwhile: the box lives on and is found by its marker */
	if (!b->failed)
		(void)send(fd, b->data, b->len, MSG_NOSIGNAL);
}

/* "socket:[123]" -> "socket", "/memfd:x (deleted)" stays. */
static void name_add(struct buf *b, const char *number, const char *target)
{
	size_t n = strlen(target);

	if (text_has_prefix(target, "socket:"))
		n = 6;
	else if (text_has_prefix(target, "pipe:"))
		n = 4;
	if (!strcmp(number, "2"))
		json_add_quoted(b, "log", 3);
	else
		json_add_quoted(b, target, n);
}

static void fds_add(struct buf *b, pid_t pid)
{
	char path[64], link[600];
	struct dirent *e;
	bool any = false;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	(void)buf_adds(b, "[");
	while (d && (e = readdir(d))) {
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		if (any)
			(void)buf_addc(b, ',');
		name_add(b, e->d_name, link);
		any = true;
	}
	if (d)
		(void)closedir(d);
	(void)buf_addc(b, ']');
}

void report_started(struct shim *shim, int fd, const char *disk)
{
	CLEANUP(buf) struct buf b = BUF_INIT(REPORT_MAX);
	int64_t nics = 0;
	struct stat st;
	struct err err;

	/* asb-spawn started it and has looked already */
	if (shim->box.runtime->is_container) {
		(void)buf_adds(&b, "{\"ok\":true}");
		report_send(fd, &b);
		return;
	}
	/* a machine that does not say is one with a network card: the gate refuses it by that name
	 */
	if (!shim->box.runtime->count_nics(&shim->box.rt, &nics, &err))
		nics = 99;
	(void)buf_addf(&b,
		"{\"ok\":true,\"pid\":%d,\"device_nics\":%lld,\"fds\":", shim->box.rt.vm.child.pid,
		(long long)nics);
	fds_add(&b, shim->box.rt.vm.child.pid);
	if (disk && !stat(disk, &st))
		(void)buf_addf(&b, ",\"disk_mode\":\"%04o\"", st.st_mode & 07777u);
	(void)buf_addc(&b, '}');
	report_send(fd, &b);
}

void report_failed(int fd, const struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(REPORT_MAX);

	(void)buf_adds(&b, "{\"ok\":false,\"message\":");
	json_add_quoted(&b, err->msg, strlen(err->msg));
	(void)buf_addc(&b, '}');
	report_send(fd, &b);
}
