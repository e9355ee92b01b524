/*
 * asb-worker: one a host. Claims jobs, keeps their leases, gives each to a runner, and sweeps. It
 * owns no box: kill it and boxes go on, and the next worker takes its host's jobs back at once.
 */
#include <sys/file.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "db.h"
#include "killpoint.h"
#include "log.h"
#include "pool.h"
#include "random.h"
#include "sweeps.h"
#include "text.h"
#include "worker.h"

#define STATEMENT_MS 5000 /* what may block the loop */
#define STOP_MS 3000	  /* runners commit and detach within this when we are told to end */
#define START_MS 60000	  /* PostgreSQL may be starting too */

CONFINED_PROGRAM

/* One worker a host and site: the lock goes with the process, however it ends. */
static bool lock_take(const struct worker *w, int *fd, struct err *err)
{
	const char *path = pool_printf(w->pool, "%s/worker.lock", w->cfg->run_dir);

	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*fd < 0)
		return err_errno(err, ERR_INTERNAL, "%s", path);
	if (flock(*fd, LOCK_EX | LOCK_NB))
		return err_set(
			err, ERR_CONFLICT, "another asb-worker of this site runs on this host");
	return true;
}

/* asb-runner lies beside us. */
static const char *runner_path(struct pool *pool)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return "asb-runner";
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	return pool_printf(pool, "%s/asb-runner", self);
}

static void on_stop_timer(struct loop *loop, uint32_t events, void *arg)
{
	(void)events;
	(void)arg;
	loop_stop(loop);
}

/* Runners commit what they hold and leave; boxes go on. */
static void on_term(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;

	(void)events;
	if (w->stopping)
		return;
	w->stopping = true;
	log_info("stopping, runners=%zu", w->count);
	for (struct runner_proc *p = w->runners; p; p = p->next)
		runner_tell(p, "{\"term\":true}");
	w->stop_timer = loop_add_timer(loop, w->count ? STOP_MS : 0, 0, on_stop_timer, w);
}

/* PostgreSQL may be coming up beside us: waits for it, but not for ever. */
static bool start(struct worker *w, struct err *err)
{
	int64_t until = time_boot_ms() + START_MS;

	for (;;) {
		if (db_connect(w->db, err) && migrate_check(w->db, err) &&
			worker_host_start(w, err))
			return true;
		if (err->code != ERR_BUSY || time_boot_ms() > until)
			return false;
		log_warn("database: %s, retrying", log_quote(err->msg));
		(void)usleep(500000);
	}
}

static int run(struct worker *w)
{
	struct err err;

	w->db = db_new(config_db(w->pool, w->cfg, "asb_worker"), "asb-worker", STATEMENT_MS);
	w->listen =
		db_new(config_db(w->pool, w->cfg, "asb_worker"), "asb-worker-listen", STATEMENT_MS);
	if (!start(w, &err)) {
		log_error("start: %s", err.msg);
		return 1;
	}
	(void)loop_add_signal(w->loop, SIGTERM, on_term, w);
	(void)loop_add_signal(w->loop, SIGINT, on_term, w);
	w->first_sweep = true;
	notify_start(w);
	worker_jobs_start(w);
	worker_listen_start(w);
	sweeps_start(w);
	runners_fill(w);
	log_info("host=%s owner=%s started", w->host, w->owner);
	loop_run(w->loop);
	runners_end(w);
	sweeps_end(w);
	asks_end(w);
	int64_t released = 0;

	if (!job_release(w->db, w->owner, &released, &err))
		log_warn("hand jobs back: %s", log_quote(err.msg));
	log_info("stopped, handed back=%lld", (long long)released);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(loop) struct loop *loop = loop_new();
	CLEANUP(fd) int lock = -1;
	struct worker w = {.pool = pool, .loop = loop, .listen_fd = -1};
	enum log_level level = LOG_INFO;
	char tag[ID_SIZE];
	struct err err;
	int status;

	log_init("worker", level);
	if (!config_load(pool, argc, argv, &w.cfg, &err) || !host_boot_id(w.boot_id, &err) ||
		!lock_take(&w, &lock, &err)) {
		log_error("%s", err.msg);
		return 2;
	}
	if (log_level_parse(w.cfg->log_level, &level))
		log_init("worker", level);
	host_name(w.host);
	random_id(tag, sizeof(tag), "", 8);
	(void)snprintf(w.owner, sizeof(w.owner), "%s:%d:%s", w.host, (int)getpid(), tag);
	w.runner_path = runner_path(pool);
	(void)signal(SIGPIPE, SIG_IGN);
	/* runners inherit it, and give up exec as well */
	if (!confine(CONFINE_EXEC, &err)) {
		log_error("%s", err.msg);
		return 1;
	}
	status = run(&w);
	db_free(w.listen);
	db_free(w.db);
	free(w.hints);
	return status;
}
