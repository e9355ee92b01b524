/*
 * The worker and its database: backing off while it is away (boxes and runners go on), listening,
 * and the host's row.
 */
#include "worker.h"

#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "random.h"
#include "text.h"

#define STEP_MIN_MS 100
#define STEP_MAX_MS 3000
#define LISTEN_POLL_MS 1000

bool worker_db_up(const struct worker *w)
{
	return time_boot_ms() >= w->db_retry_ms;
}

void worker_db_failed(struct worker *w, const char *what, const struct err *err)
{
	unsigned char random;

	if (err->code != ERR_BUSY) {
		log_error("%s: %s", what, log_quote(err->msg));
		return;
	}
	random_bytes(&random, 1);
	w->db_step_ms = w->db_step_ms ? w->db_step_ms * 2 : STEP_MIN_MS;
	if (w->db_step_ms > STEP_MAX_MS)
		w->db_step_ms = STEP_MAX_MS;
	/* jitter, so that the workers of many hosts do not come back in step */
	w->db_retry_ms = time_boot_ms() + w->db_step_ms / 2 + w->db_step_ms * random / 255;
	log_warn("%s: %s, retrying", what, log_quote(err->msg));
}

void worker_db_worked(struct worker *w)
{
	w->db_step_ms = 0;
	w->db_retry_ms = 0;
}

static void on_notify(struct loop *loop, uint32_t events, void *arg)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct worker *w = arg;
	const char *channel, *payload;
	bool any = false;

	(void)loop;
	(void)events;
	while (db_notification(w->listen, pool, &channel, &payload))
		any = true;
	if (!db_is_connected(w->listen)) {
		watch_remove(w->listen_watch);
		w->listen_watch = NULL;
		watch_set_timer(w->listen_timer, 0, LISTEN_POLL_MS);
		return;
	}
	if (any) {
		worker_claim(w);
		worker_cancels(w);
	}
}

/* Connects where there is no connection; what was missed meanwhile is found by looking. */
static void listen_check(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;
	struct err err;

	(void)loop;
	(void)events;
	if (w->stopping || (w->listen_watch && db_is_connected(w->listen)) || !worker_db_up(w))
		return;
	watch_remove(w->listen_watch);
	w->listen_watch = NULL;
	if (!db_connect(w->listen, &err) || !db_exec(w->listen, "LISTEN jobs", &err)) {
		worker_db_failed(w, "listen", &err);
		return;
	}
	worker_db_worked(w);
	w->listen_watch = loop_add_fd(w->loop, db_fd(w->listen), EPOLLIN, on_notify, w);
	worker_claim(w);
	worker_cancels(w);
}

void worker_listen_start(struct worker *w)
{
	w->listen_timer = loop_add_timer(w->loop, 0, LISTEN_POLL_MS, listen_check, w);
}

/* A reboot ended every process of every box: they are destroyed, and nothing else is begun in them.
 */
static bool reboot_end(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	bool added;

	if (!db_query(w->db, Q_WORKER_HOST_BOXES, ARGS(db_text(w->host)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++)
		if (!job_add_destroy(
			    w->db, result_i64(&res, i, 0), "host_reboot", NULL, &added, err))
			return false;
	log_info("host=%s was restarted, boxes=%d lost", w->host, res.rows);
	return true;
}

bool worker_host_start(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int64_t taken = 0;

	if (!db_query(w->db, Q_WORKER_HOST_GET, ARGS(db_text(w->host)), &res, err))
		return err_wrap(err, "host");
	if (res.rows) {
		w->absent_ms = result_i64(&res, 0, 1);
		if (strcmp(result_text(&res, 0, 0), w->boot_id) && !reboot_end(w, err))
			return err_wrap(err, "reboot");
	}
	if (!db_query(w->db, Q_WORKER_HOST_PUT,
		    ARGS(db_text(w->host), db_text(w->boot_id), db_i64(w->cfg->box_slots),
			    db_text("unproved")),
		    NULL, err) ||
		!job_take_host(w->db, w->host, &taken, err))
		return err_wrap(err, "host");
	if (taken)
		log_info("host=%s jobs=%lld taken back", w->host, (long long)taken);
	return true;
}
