/*
 * asb-runner: does one job and exits. The worker starts it with a socket as descriptor 3; it
 * connects to PostgreSQL, waits for {"job":ID,"epoch":E} and does that. Exit status 0: the job was
 * ended, or is not ours, or the worker wanted us gone; anything else: the job is to be tried again.
 */
#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "db.h"
#include "json.h"
#include "killpoint.h"
#include "kinds.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "runner.h"

#define WORKER_FD 3
#define STATEMENT_MS 20000
/* The end of this process, and of its connection's at the server, takes as much of a processor as
 * the whole answer that its last commit set going: it comes after that. */
#define LINGER_MS 25

CONFINED_PROGRAM

/* False: the worker went or wants us gone before there was a job. */
static bool job_wait(struct runner *r, struct fence *f, struct err *err)
{
	for (;;) {
		CLEANUP(json) struct json_object *o = NULL;
		char msg[512];
		bool yes;
		ssize_t n = recv(r->worker, msg, sizeof(msg), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_BUSY, "the worker is gone");
		if (!json_parse(msg, (size_t)n, &o, err))
			return err_wrap(err, "worker");
		if (json_get_bool(o, "term", &yes) && yes)
			return err_set(err, ERR_BUSY, "the worker stops");
		if (json_get_i64(o, "job", &f->job_id) && json_get_i64(o, "epoch", &f->epoch))
			return true;
	}
}

/* What the first steps of every job do. A new connection's first statements take 25 ms more than
 * its next, for the server reads its catalogs; a spare has that behind it. */
static void statements_warm(struct db *db)
{
	static const int list[] = {
		Q_JOB_LOAD,
		Q_BOX_GET,
		Q_EXEC_GET,
		Q_TURN_GET,
		Q_RUNLOG_TAIL,
		Q_EXEC_START,
		Q_RUNLOG_APPEND,
		Q_EXEC_FINISH,
		Q_EXEC_FINISH_JOB,
		Q_JOB_FINISH,
		Q_TURN_START,
		Q_EXEC_OPEN,
		Q_TURN_RUNNING,
		Q_BOX_ASSIGN_SLOT,
		Q_BOX_STARTED,
		Q_BOX_READY,
		Q_BOX_TAKE_STREAMS,
	};
	struct err err;

	if (!db_warm(db, list, sizeof(list) / sizeof(list[0]), &err))
		log_warn("database: %s", log_quote(err.msg));
}

static int job_do(struct runner *r)
{
	const struct kind *kind;
	struct fence f;
	struct err err;

	if (!job_wait(r, &f, &err))
		return 0;
	kill_point("after_claim");
	if (!runner_load(r, &f, &err)) {
		if (r->stale || r->term)
			return 0;
		log_error("job=%lld epoch=%lld load: %s", (long long)f.job_id, (long long)f.epoch,
			err.msg);
		return 1;
	}
	kind = kind_find(r->job.kind);
	if (!kind) {
		log_error("job=%lld kind=%s is not known to this program", (long long)f.job_id,
			log_quote(r->job.kind));
		return 1;
	}
	log_info("job=%lld epoch=%lld kind=%s box=%s rq=%s begins", (long long)f.job_id,
		(long long)f.epoch, kind->name, r->box.id ? r->box.name : "-",
		r->job.request_id[0] ? r->job.request_id : "-");
	if (!kind->run(r, &err)) {
		log_error("job=%lld kind=%s failed: %s, retrying", (long long)f.job_id, kind->name,
			log_quote(err.msg));
		return 1;
	}
	log_info("job=%lld kind=%s %s", (long long)f.job_id, kind->name,
		r->stale  ? "has another holder"
		: r->term ? "handed back"
			  : "ended");
	(void)runner_sleep(r, LINGER_MS);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(db) struct db *db = NULL;
	struct runner r = {.pool = pool, .worker = WORKER_FD};
	enum log_level level = LOG_INFO;
	struct err err;

	log_init("runner", level);
	if (!config_load(pool, argc, argv, &r.cfg, &err) || !host_boot_id(r.boot_id, &err)) {
		log_error("%s", err.msg);
		return 2;
	}
	if (log_level_parse(r.cfg->log_level, &level))
		log_init("runner", level);
	host_name(r.host);
	(void)signal(SIGPIPE, SIG_IGN);
	if (!confine(0, &err)) {
		log_error("%s", err.msg);
		return 2;
	}
	db = r.db = db_new(config_db(pool, r.cfg, "asb_worker"), "asb-runner", STATEMENT_MS);
	/* connecting takes as long as all else together; a database that is away is met again later
	 */
	if (!db_connect(db, &err))
		log_warn("database: %s, retrying when there is a job", err.msg);
	else
		statements_warm(db);
	return job_do(&r);
}
