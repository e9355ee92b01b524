/*
 * Secrets of accounts, opened for the one request that they go up with. What cannot be opened is
 * refused and not passed over: whoever entered a key does not want another's to be used.
 */
#include "gate.h"

#include <string.h>

#include "config.h"
#include "db.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"

#define TELL_MS 1000 /* until the next try, where the database is not there yet */

static void tell(struct loop *loop, uint32_t events, void *arg)
{
	struct gate *g = arg;
	struct err err;

	(void)loop;
	(void)events;
	if (db_query(g->db, Q_SEAL_KEY_TELL, ARGS(db_text(g->seal.name)), NULL, &err)) {
		watch_remove(g->seal_tell);
		g->seal_tell = NULL;
		return;
	}
	log_warn("the key that secrets are sealed to is not told: %s, retrying", err.msg);
}

bool gate_secret_init(struct gate *g, struct err *err)
{
	if (!*g->cfg->seal_key) {
		log_warn("no ASB_SEAL_KEY: secrets cannot be entered");
		return true;
	}
	if (!seal_key_read(g->cfg->seal_key, &g->seal, err))
		return false;
	g->seal_tell = loop_add_timer(g->loop, 0, TELL_MS, tell, g);
	return true;
}

bool gate_secret_load(struct gate_stream *s, struct err *err)
{
	struct gate *g = s->conn->gate;

	/* what will be refused, or answered here, uses none */
	if (strcmp(s->req.method, "POST") != 0 || !s->who.turn_id)
		return true;
	return secret_use(g->db, s->pool, &g->seal, s->who.account_id,
		secret_names[SECRET_ANTHROPIC_API_KEY], &s->who.model_key, err);
}
