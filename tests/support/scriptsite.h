#pragma once
/*
 * A site that answers as a test says, for what is under test in cli/: HTTP on loopback, a process
 * of its own, and one more for each request. It speaks to one request a connection, and knows no
 * TLS.
 */
#include <sys/types.h>

/* The whole request is there, body included; what it writes to fd is the answer. */
typedef void scriptsite_fn(void *arg, int fd, const char *request);

struct scriptsite {
	int listener, port;
	pid_t pid;
};

/* Has a port, which ASB_URL names from here on; nobody listens there yet. */
void scriptsite_open(struct scriptsite *s);
/* arg: what its processes and the test are to share must lie in shared memory. */
void scriptsite_start(struct scriptsite *s, scriptsite_fn *fn, void *arg);
void scriptsite_close(struct scriptsite *s);

/* head: the status and headers, without the length and the empty line. */
void scriptsite_say(int fd, const char *head, const char *body);
