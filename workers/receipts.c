/*
 * Signing: woken by what ended (the channel `feed`), looking for all that is due at the start,
 * every ASB_RESCAN_MS and when a connection was lost. A receipt is one statement that makes its
 * body of rows, and one that stores it with its signature; whoever comes second stores nothing.
 */
#include "receipts.h"

#include <sys/prctl.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "db.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"
#include "random.h"
#include "receipt.h"

/* The hash of a long log takes longer than a gate's other statements. */
#define STATEMENT_MS 60000
/* Ends that come at once are looked for once. */
#define GATHER_MS 5

struct receipts {
	const struct config *cfg;
	struct receipt_key key;
	struct db *db, *listen;
	struct loop *loop;
	struct watch *heard, *look;
	bool key_is_known;	  /* its row is there */
	int64_t exec_id, turn_id; /* up to these there is nothing left to sign */
};

static bool one_sign(struct receipts *r, struct pool *pool, int64_t account, int64_t exec,
	int64_t turn, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char signature[RECEIPT_SIGNATURE];
	char name[RECEIPT_NAME_SIZE];
	const char *body;

	random_id(name, sizeof(name), "receipt-", 16);
	if (!db_query(r->db, Q_RECEIPT_BODY,
		    ARGS(db_text(name), db_text(r->key.name), db_i64(exec), db_i64(turn)), &res,
		    err))
		return false;
	if (!res.rows || result_is_null(&res, 0, 0))
		return err_set(err, ERR_NOT_FOUND, "no such row any more");
	body = pool_strdup(pool, result_text(&res, 0, 0));
	receipt_sign(&r->key, body, strlen(body), signature);
	if (!db_query(r->db, Q_RECEIPT_ADD,
		    ARGS(db_i64(account), db_text(name), db_i64(exec), db_i64(turn),
			    db_text(r->key.name), db_text(body),
			    db_bytes(signature, sizeof(signature))),
		    NULL, err))
		return false;
	log_debug("receipt=%s exec=%lld turn=%lld", name, (long long)exec, (long long)turn);
	return true;
}

/* One look; *more: it saw as many as a look takes. One that fails is left for a later look. */
static bool due_sign(struct receipts *r, bool *more, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(result) struct result res = {0};
	int signed_now = 0;

	if (!r->key_is_known &&
		!db_query(r->db, Q_RECEIPT_KEY_ADD, ARGS(db_text(r->key.name)), NULL, err))
		return false;
	r->key_is_known = true;
	if (!db_query(
		    r->db, Q_RECEIPT_DUE, ARGS(db_i64(r->exec_id), db_i64(r->turn_id)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++) {
		int64_t exec = result_i64(&res, i, 1), turn = result_i64(&res, i, 2);

		if (one_sign(r, pool, result_i64(&res, i, 0), exec, turn, err))
			signed_now++;
		else if (!db_is_connected(r->db))
			return false;
		else
			log_warn("receipt of exec=%lld turn=%lld: %s, retrying", (long long)exec,
				(long long)turn, err->msg);
	}
	*more = signed_now && res.rows >= 100;
	return true;
}

/* What lies behind needs no more looking at. */
static bool behind_read(struct receipts *r, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(r->db, Q_RECEIPT_BEHIND, ARGS(db_i64(r->exec_id), db_i64(r->turn_id)), &res,
		    err))
		return false;
	r->exec_id = result_i64(&res, 0, 0);
	r->turn_id = result_i64(&res, 0, 1);
	return true;
}

static void look(struct loop *loop, uint32_t events, void *arg)
{
	struct receipts *r = arg;
	struct err err;
	bool more = true;

	(void)loop;
	(void)events;
	while (more)
		if (!due_sign(r, &more, &err) || !behind_read(r, &err)) {
			log_warn("receipts: %s, retrying", err.msg);
			break;
		}
	watch_set_timer(r->look, r->cfg->rescan_ms, r->cfg->rescan_ms);
}

static void heard(struct loop *loop, uint32_t events, void *arg)
{
	struct receipts *r = arg;
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *channel, *payload;
	bool any = false;

	(void)loop;
	(void)events;
	while (db_notification(r->listen, pool, &channel, &payload))
		any |= payload[0] == 'x' || payload[0] == 'r';
	if (any)
		watch_set_timer(r->look, GATHER_MS, r->cfg->rescan_ms);
	if (db_is_connected(r->listen))
		return;
	watch_remove(r->heard);
	r->heard = NULL;
}

/* Listening first, then a look: nothing falls between. */
static void listen_again(struct loop *loop, uint32_t events, void *arg)
{
	struct receipts *r = arg;
	struct err err;

	(void)events;
	if (r->heard)
		return;
	if (!db_connect(r->listen, &err) || !db_exec(r->listen, "LISTEN feed", &err)) {
		log_warn("receipts: listen: %s, retrying", err.msg);
		return;
	}
	r->heard = loop_add_fd(loop, db_fd(r->listen), EPOLLIN | EPOLLRDHUP, heard, r);
	watch_set_timer(r->look, 0, r->cfg->rescan_ms);
}

static void on_term(struct loop *loop, uint32_t events, void *arg)
{
	(void)events;
	(void)arg;
	loop_stop(loop);
}

static int receipts_run(struct receipts *r, struct pool *pool)
{
	CLEANUP(loop) struct loop *loop = loop_new();
	CLEANUP(db)
	struct db *db = db_new(config_db(pool, r->cfg, "asb_gate"), "gate-receipts", STATEMENT_MS);
	CLEANUP(db)
	struct db *listen =
		db_new(config_db(pool, r->cfg, "asb_gate"), "gate-receipts-listen", 2000);
	struct err err;

	log_init("receipts", LOG_INFO);
	if (!confine(0, &err)) {
		log_error("%s", err.msg);
		return 1;
	}
	r->db = db;
	r->listen = listen;
	r->loop = loop;
	(void)loop_add_signal(loop, SIGTERM, on_term, NULL);
	(void)loop_add_signal(loop, SIGINT, on_term, NULL);
	r->look = loop_add_timer(loop, -1, 0, look, r);
	(void)loop_add_timer(loop, 0, 1000, listen_again, r);
	loop_run(loop);
	sodium_memzero(&r->key, sizeof(r->key));
	return 0;
}

bool receipts_start(const struct config *cfg, pid_t *pid, struct err *err)
{
	struct receipts r = {.cfg = cfg};
	CLEANUP(pool) struct pool *pool = NULL;
	pid_t parent = getpid();
	int status;

	*pid = 0;
	if (!cfg->receipt_key[0]) {
		log_warn("no ASB_RECEIPT_KEY: receipts are not signed");
		return true;
	}
	if (!receipt_key_read(cfg->receipt_key, &r.key, err))
		return false;
	*pid = fork();
	if (*pid < 0)
		return err_errno(err, ERR_INTERNAL, "fork");
	if (*pid) {
		sodium_memzero(&r.key, sizeof(r.key));
		return true;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != parent)
		_exit(1);
	pool = pool_new();
	status = receipts_run(&r, pool);
	pool_free(STEAL(pool));
	_exit(status);
}
