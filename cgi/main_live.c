/*
 * asb-live: holds every stream and every wait, so that no web process is ever held. One process,
 * one loop, two database connections (one reads, one listens). It writes nothing but failed
 * sign-ins.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access.h"
#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "db.h"
#include "live.h"
#include "live_waits.h"
#include "log.h"
#include "loop.h"
#include "pool.h"

CONFINED_PROGRAM

/* The loop stands still while a statement runs: none of ours takes longer in good days. */
#define STATEMENT_TIMEOUT_MS 2000
#define STALLED_MS 1000
/* Between two signs of life to an MCP call that waits: the most impatient client gives up after 60
 * s; where heartbeats come oftener, so do these. */
#define BEAT_MS 10000
/* After SIGTERM: what is pending is written, then the process ends, all told within 3 s. */
#define STOP_MS 2000

static void heartbeat(struct loop *loop, uint32_t events, void *arg)
{
	(void)loop;
	(void)events;
	streams_beat(arg);
}

static void rescan(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;

	(void)loop;
	(void)events;
	sources_rescan(live);
	waits_rescan(live);
	callers_check(live);
}

static void check_stalled(struct loop *loop, uint32_t events, void *arg)
{
	(void)loop;
	(void)events;
	streams_check_stalled(arg);
}

static void stop_now(struct loop *loop, uint32_t events, void *arg)
{
	(void)events;
	(void)arg;
	loop_stop(loop);
}

/* Ends as soon as every client has its end. */
static void stop_when_empty(struct loop *loop, uint32_t events, void *arg)
{
	const struct live *live = arg;

	(void)events;
	if (!live->nconns)
		loop_stop(loop);
}

static void terminate(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;

	(void)events;
	if (live->stopping)
		return;
	live->stopping = true;
	log_info("live stopping streams=%zu waits=%zu", live->nstreams, live->nwaits);
	accept_close(live);
	listen_close(live);
	waits_stop(live);
	streams_stop(live);
	(void)loop_add_timer(loop, 0, 20, stop_when_empty, live);
	(void)loop_add_timer(loop, STOP_MS, 0, stop_now, live);
}

/* What the pages were built as: a page that was loaded before an upgrade notices by it. */
static const char *ui_version(struct pool *pool, const struct config *cfg)
{
	CLEANUP(fd)
	int fd = open(pool_printf(pool, "%s/static/VERSION", cfg->lib_dir), O_RDONLY | O_CLOEXEC);
	char text[65];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	size_t len = 0;

	while (n > 0 && len < (size_t)n && text[len] > ' ')
		len++;
	return len ? pool_memdup(pool, text, len) : "0";
}

static void watch_all(struct live *live)
{
	struct loop *loop = live->loop;
	const int64_t beat_ms =
		live->cfg->heartbeat_ms < BEAT_MS ? live->cfg->heartbeat_ms : BEAT_MS;

	live->turn = loop_add_timer(loop, -1, 0, turn_run, live);
	live->wait_timer = loop_add_timer(loop, -1, 0, waits_expire, live);
	live->callers = loop_add_timer(loop, -1, 0, callers_run, live);
	live->activity = loop_add_timer(loop, -1, 0, activity_run, live);
	live->listen_retry = loop_add_timer(loop, -1, 0, listen_retry, live);
	(void)loop_add_timer(
		loop, live->cfg->heartbeat_ms, live->cfg->heartbeat_ms, heartbeat, live);
	(void)loop_add_timer(loop, beat_ms, beat_ms, mcp_waits_beat, live);
	(void)loop_add_timer(loop, live->cfg->rescan_ms, live->cfg->rescan_ms, rescan, live);
	(void)loop_add_timer(loop, STALLED_MS, STALLED_MS, check_stalled, live);
	/* after FCGX_Init, which puts in handlers that only set a flag */
	(void)loop_add_signal(loop, SIGTERM, terminate, live);
	(void)loop_add_signal(loop, SIGINT, terminate, live);
}

static bool live_main(int argc, char **argv, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(loop) struct loop *loop = loop_new();
	CLEANUP(db) struct db *db = NULL, *listen = NULL;
	struct live live = {.loop = loop, .listen_fd = -1};
	enum log_level level = LOG_INFO;

	if (!config_load(pool, argc, argv, &live.cfg, err))
		return false;
	(void)log_level_parse(live.cfg->log_level, &level);
	log_init("live", level);
	if (!live.cfg->operator_token[0])
		return err_set(err, ERR_INVALID, "MCP_HTTP_TOKEN: must be set");
	access_operator_hash(live.cfg, live.operator_hash);
	db = db_new(config_db(pool, live.cfg, "asb_live"), "asb-live", STATEMENT_TIMEOUT_MS);
	listen = db_new(config_db(pool, live.cfg, "asb_live"), "asb-live listen", 0);
	live.db = db;
	live.listen = listen;
	live.queue_end = &live.queue;
	live.ui_version = ui_version(pool, live.cfg);
	if (!migrate_check(db, err) || !accept_open(&live, err))
		return false;
	watch_all(&live);
	if (!listen_open(&live, err) || !confine(0, err))
		return false;
	log_info("live ready clients_max=%zu", live.clients_max);
	loop_run(loop);
	streams_close(&live);
	accept_close(&live);
	listen_close(&live);
	free(live.active);
	return true;
}

int main(int argc, char **argv)
{
	struct err err = {0};

	log_init("live", LOG_INFO);
	if (live_main(argc, argv, &err))
		return 0;
	log_error("live: %s", err.msg);
	return err_info(err.code)->exit_status;
}
