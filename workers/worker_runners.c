/*
 * Runner processes: two spares connected and waiting, one job each, watched by pidfd. A runner that
 * ends while its job is still leased hands it back at once instead of letting the lease run out.
 */
#include "worker.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "log.h"
#include "pool.h"
#include "text.h"

#define QUICK_MS 2000	  /* a runner that dies sooner than this may do so again: */
#define QUICK_WAIT_MS 500 /* its job waits a little */
#define FILL_MS 60	  /* what starting the last spare would take from the job just given */

static void proc_free(struct runner_proc *p)
{
	struct worker *w = p->w;

	for (struct runner_proc **at = &w->runners; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	w->count--;
	if (!p->fence.job_id)
		w->spares--;
	watch_remove(p->sock_watch);
	watch_remove(p->end_watch);
	(void)close(p->sock);
	free(p);
}

/* The job's row may be gone already: then this touches nothing. */
static void hand_back(struct worker *w, const struct runner_proc *p)
{
	bool quick = time_boot_ms() - p->started_ms < QUICK_MS && !w->stopping;
	struct err err;

	if (!job_hand_back(w->db, &p->fence, quick ? QUICK_WAIT_MS : 0, true, &err))
		worker_db_failed(w, "hand job back", &err);
}

static void on_end(struct loop *loop, uint32_t events, void *arg)
{
	struct runner_proc *p = arg;
	struct worker *w = p->w;
	bool was_spare = !p->fence.job_id;
	struct err err;
	int status = 0;

	(void)events;
	if (!child_wait(&p->child, 0, &status, &err))
		log_error("runner: %s", err.msg);
	if (!was_spare) {
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			log_warn("job=%lld runner pid ended status=%d, retrying",
				(long long)p->fence.job_id, status);
		hand_back(w, p);
	}
	proc_free(p);
	if (w->stopping) {
		if (!w->count)
			loop_stop(loop);
		return;
	}
	/* spares that cannot live are not started again in a loop: the claim timer does it */
	if (!was_spare)
		worker_claim(w);
}

static void on_message(struct loop *loop, uint32_t events, void *arg)
{
	struct runner_proc *p = arg;
	char msg[512];
	ssize_t n;

	(void)loop;
	(void)events;
	for (;;) {
		n = recv(p->sock, msg, sizeof(msg), MSG_DONTWAIT);
		if (n > 0) {
			notify_hint(p->w, msg, (size_t)n);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* its end is told by the pidfd */
		watch_remove(p->sock_watch);
		p->sock_watch = NULL;
		return;
	}
}

static bool runner_start(struct worker *w, struct err *err)
{
	extern char **environ;
	const char *const argv[] = {w->runner_path, NULL};
	struct child_fd fds[] = {{.from = -1, .to = 3}};
	struct runner_proc *p;
	union {
		char **in;
		const char *const *out;
	} env = {.in = environ};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, ERR_INTERNAL, "runner: socketpair");
	CLEANUP(fd) int ours = pair[0];
	CLEANUP(fd) int theirs = pair[1];
	fds[0].from = theirs;
	p = mem_alloc(sizeof(*p));
	memset(p, 0, sizeof(*p));
	p->child = (struct child){
		.argv = argv, .env = env.out, .fds = fds, .nfds = 1, .die_with_parent = true};
	if (!child_start(&p->child, err)) {
		free(p);
		return false;
	}
	p->child.argv = p->child.env = NULL;
	p->child.fds = NULL;
	p->w = w;
	p->sock = STEAL_FD(ours);
	p->started_ms = time_boot_ms();
	p->next = w->runners;
	w->runners = p;
	w->count++;
	w->spares++;
	p->sock_watch = loop_add_fd(w->loop, p->sock, EPOLLIN, on_message, p);
	p->end_watch = loop_add_fd(w->loop, p->child.pidfd, EPOLLIN, on_end, p);
	return true;
}

static void fill_to(struct worker *w, size_t spares)
{
	struct err err;

	while (!w->stopping && w->spares < spares && w->count < WORKER_RUNNERS_MAX)
		if (!runner_start(w, &err)) {
			log_error("runner: %s, retrying", log_quote(err.msg));
			return;
		}
}

static void on_fill_timer(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;

	(void)loop;
	(void)events;
	w->fill_waits = false;
	fill_to(w, WORKER_SPARES);
}

void runners_fill(struct worker *w)
{
	fill_to(w, 1);
	if (w->fill_waits || w->stopping || w->spares >= WORKER_SPARES)
		return;
	if (!w->fill_timer)
		w->fill_timer = loop_add_timer(w->loop, -1, 0, on_fill_timer, w);
	w->fill_waits = true;
	watch_set_timer(w->fill_timer, FILL_MS, 0);
}

struct runner_proc *runner_spare(struct worker *w)
{
	struct runner_proc *oldest = NULL;

	/* the oldest has had the most time to connect; the list is newest first */
	for (struct runner_proc *p = w->runners; p; p = p->next)
		if (!p->fence.job_id && !p->killed)
			oldest = p;
	return oldest;
}

void runner_tell(struct runner_proc *p, const char *json)
{
	/* a runner that does not read is stopped by its lease */
	(void)send(p->sock, json, strlen(json), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void runner_give(struct runner_proc *p, const struct job *job, int64_t good_until_ms)
{
	char msg[160];

	p->fence = job->fence;
	p->box_id = job->box_id;
	p->good_until_ms = good_until_ms;
	p->started_ms = time_boot_ms();
	p->w->spares--;
	(void)snprintf(msg, sizeof(msg), "{\"job\":%lld,\"epoch\":%lld,\"kind\":\"%s\"}",
		(long long)job->fence.job_id, (long long)job->fence.epoch, job->kind);
	runner_tell(p, msg);
	if (job->cancelled) {
		p->cancel_sent = true;
		runner_tell(p, "{\"cancel\":true}");
	}
	log_info("job=%lld epoch=%lld kind=%s rq=%s claimed", (long long)job->fence.job_id,
		(long long)job->fence.epoch, job->kind, job->request_id[0] ? job->request_id : "-");
}

void runner_kill(struct runner_proc *p)
{
	p->killed = true;
	/* never 0 or -1, which address others; the pidfd tells of its end */
	if (p->child.pid > 1)
		(void)kill(p->child.pid, SIGKILL);
}

void runners_end(struct worker *w)
{
	while (w->runners) {
		struct runner_proc *p = w->runners;

		child_kill(&p->child);
		if (p->fence.job_id)
			hand_back(w, p);
		proc_free(p);
	}
}
