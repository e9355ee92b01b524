/*
 * News from PostgreSQL: a connection that only listens. When it breaks, a new one listens first and
 * then everything is looked at once, so that what was told in between is not missed; and everything
 * is looked at every few seconds anyway.
 */
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "live.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "text.h"

/* Between two tries to connect. */
#define RETRY_MS 200

/* The channel callers says nothing but that somebody's access was taken back. "r12", "b3", "x9" of
 * feed; "l4" and "r12" of log. What is malformed is left to the rescan. */
static void news(struct live *live, const char *channel, char *word)
{
	const bool is_log = !strcmp(channel, "log");
	int64_t id;

	if (!strcmp(channel, "callers")) {
		callers_check(live);
		return;
	}
	if (!word[0] || !text_to_i64(word + 1, 1, INT64_MAX, &id))
		return;
	if (is_log && word[0] == 'l')
		source_dirty(live, SOURCE_LOG, id);
	else if (is_log && word[0] == 'r') {
		source_dirty(live, SOURCE_TRACE, id);
		activity_note(live, id);
	} else if (word[0] == 'r' || word[0] == 'b')
		source_dirty(live, SOURCE_FEED, 0);
	if (!is_log)
		waits_dirty(live, word[0], id);
}

static void news_list(struct live *live, const char *channel, char *words)
{
	while (words) {
		char *comma = strchr(words, ',');

		if (comma)
			*comma = '\0';
		news(live, channel, words);
		words = comma ? comma + 1 : NULL;
	}
}

static void lost(struct live *live)
{
	log_warn("live listen: the connection was lost, retrying");
	watch_remove(live->listen_watch);
	live->listen_watch = NULL;
	watch_set_timer(live->listen_retry, RETRY_MS, RETRY_MS);
}

static void ready(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *channel, *payload;

	(void)loop;
	(void)events;
	while (db_notification(live->listen, pool, &channel, &payload))
		news_list(live, channel, pool_strdup(pool, payload));
	if (!db_is_connected(live->listen))
		lost(live);
}

bool listen_open(struct live *live, struct err *err)
{
	if (!db_connect(live->listen, err) ||
		!db_exec(live->listen, "LISTEN feed; LISTEN log; LISTEN callers", err))
		return err_wrap(err, "listen");
	live->listen_watch =
		loop_add_fd(live->loop, db_fd(live->listen), EPOLLIN | EPOLLRDHUP, ready, live);
	watch_set_timer(live->listen_retry, -1, 0);
	sources_rescan(live);
	waits_rescan(live);
	callers_check(live);
	return true;
}

void listen_retry(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	struct err err;

	(void)loop;
	(void)events;
	if (listen_open(live, &err))
		log_info("live listen: connected again");
	else
		log_debug("live %s", err.msg);
}

void listen_close(struct live *live)
{
	watch_remove(live->listen_watch);
	live->listen_watch = NULL;
}
