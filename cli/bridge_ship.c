/*
 * Packing and uploading a tree in a process of its own, since it may take a while and the bridge
 * has to hear its client meanwhile. It ends with the bridge.
 */
#include "bridge.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "sync.h"
#include "tree.h"

#define SAYS_AT 3 /* the descriptor of the answer */

static bool pack(
	struct cli *cli, const struct shipment *s, struct json_object *told, struct err *err)
{
	struct sync_copy copy;
	const char *blob, *name;

	if (s->is_sync)
		return sync_send(cli, s->dir, s->packages_from, told, &copy, err);
	if (!cli_upload_tree(cli, s->dir, NULL, 0, &blob, &name, err))
		return false;
	json_add_text(told, "upload", blob);
	json_add_text(told, "dir", name);
	return true;
}

static void child(const struct shipment *s)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *told = json_new_object();
	struct cli cli = {.pool = pool};
	struct err err;

	if (!cli_connect(&cli, &err) || !pack(&cli, s, told, &err))
		json_add(told, "error", cli_error_json(&err));
	http_free(cli.http);
	(void)dprintf(SAYS_AT, "%s\n", json_text(told, pool));
}

/* Of all that the bridge has open, the answer's pipe and stderr alone. */
static bool become_child(int says, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null < 0 || getppid() != parent || dup2(says, SAYS_AT) < 0 || dup2(null, 0) < 0 ||
		dup2(null, 1) < 0)
		return false;
	return close_range(SAYS_AT + 1, ~0u, 0) == 0;
}

bool bridge_ship(const struct shipment *s, pid_t *pid, int *fd, struct err *err)
{
	int ends[2];
	pid_t parent = getpid(), started;

	if (pipe2(ends, O_CLOEXEC))
		return err_errno(err, ERR_INTERNAL, "pack the tree");
	started = fork();
	if (started == 0) {
		sigset_t none;

		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		if (become_child(ends[1], parent))
			child(s);
		_exit(0);
	}
	(void)close(ends[1]);
	if (started < 0) {
		(void)close(ends[0]);
		return err_errno(err, ERR_INTERNAL, "pack the tree");
	}
	*pid = started;
	*fd = ends[0];
	return true;
}
