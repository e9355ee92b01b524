/*
 * A container's limits as its own cgroup tells them, in the files of cgroup2 or of the older
 * controllers; and the relay between boxd's one descriptor and an engine that gives two pipes.
 */
#include "container.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"

#define ROOT "/sys/fs/cgroup/"
/* The older controllers say "no limit" with a number near INT64_MAX. */
#define NO_LIMIT (INT64_C(1) << 50)

static bool file_text(const char *path, char *out, size_t size)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The number after the word, or at the start where word is "". */
static int64_t number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoll(at + strlen(word), NULL, 10) : 0;
}

static int64_t file_number(const char *now, const char *older, const char *word)
{
	char text[4096];

	if (!file_text(now, text, sizeof(text)) && !file_text(older, text, sizeof(text)))
		return 0;
	return number_after(text, word);
}

int64_t container_memory_bytes(void)
{
	int64_t n = file_number(ROOT "memory.max", ROOT "memory/memory.limit_in_bytes", "");

	return n < NO_LIMIT ? n : 0;
}

int64_t container_memory_used(void)
{
	return file_number(ROOT "memory.current", ROOT "memory/memory.usage_in_bytes", "");
}

int64_t container_oom_kills(void)
{
	return file_number(ROOT "memory.events", ROOT "memory/memory.oom_control", "oom_kill ");
}

int64_t container_cpus(void)
{
	char text[256];
	int64_t quota, period;

	/* cgroup2: "QUOTA PERIOD" or "max PERIOD" */
	if (file_text(ROOT "cpu.max", text, sizeof(text))) {
		quota = number_after(text, "");
		period = number_after(text, " ");
	} else {
		quota = file_number(ROOT "cpu/cpu.cfs_quota_us", "", "");
		period = file_number(ROOT "cpu/cpu.cfs_period_us", "", "");
	}
	return quota > 0 && period > 0 ? (quota + period - 1) / period : 0;
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* Until either side ends; then both do. */
static _Noreturn void relay_run(int box)
{
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = box, .events = POLLIN}};
	static char bytes[65536];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(fds, 2, -1) > 0 || errno == EINTR)
		for (int i = 0; i < 2; i++) {
			ssize_t n;

			if (!fds[i].revents)
				continue;
			n = read(fds[i].fd, bytes, sizeof(bytes));
			if (n <= 0 || !write_all(i ? STDOUT_FILENO : box, bytes, (size_t)n))
				_exit(0);
		}
	_exit(1);
}

int container_relay(pid_t *child)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) || (*child = fork()) < 0) {
		(void)fprintf(stderr, "error boxd relay: %s\n", strerror(errno));
		exit(2);
	}
	if (!*child) {
		(void)close(pair[0]);
		relay_run(pair[1]);
	}
	(void)close(pair[1]);
	return pair[0];
}
