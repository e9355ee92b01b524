/*
 * The FCGX_Accept_r loop. A child may block, in the database and on its client; it holds nothing
 * between two requests but its connection. After some thousand requests it makes room for a fresh
 * one, so that whatever a library leaks stays small.
 */
#include "web_child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <fcgiapp.h>

#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "db.h"
#include "log.h"
#include "pool.h"
#include "request.h"
#include "response.h"
#include "router.h"
#include "site.h"
#include "text.h"

#define REQUESTS_MAX 10000

static volatile sig_atomic_t ending;

static void on_term(int signo)
{
	(void)signo;
	ending = 1;
	FCGX_ShutdownPending();
}

static void set_signals(void)
{
	struct sigaction end = {.sa_handler = on_term}, ignore = {.sa_handler = SIG_IGN};
	sigset_t none;

	/* after FCGX_Init, which takes these two for itself; without SA_RESTART accept returns */
	(void)sigaction(SIGTERM, &end, NULL);
	(void)sigaction(SIGINT, &end, NULL);
	(void)sigaction(SIGUSR1, &ignore, NULL);
	(void)sigaction(SIGHUP, &ignore, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static long read_body(void *arg, char *to, size_t n)
{
	FCGX_Request *fcgi = arg;

	return FCGX_GetStr(to, n > 1 << 20 ? 1 << 20 : (int)n, fcgi->in);
}

static bool write_out(void *arg, const void *data, size_t n)
{
	FCGX_Request *fcgi = arg;
	const char *p = data;

	if (!n)
		return FCGX_FFlush(fcgi->out) == 0 && !FCGX_GetError(fcgi->out);
	while (n) {
		int part = n > 1 << 20 ? 1 << 20 : (int)n;

		if (FCGX_PutStr(p, part, fcgi->out) != part)
			return false;
		p += part;
		n -= (size_t)part;
	}
	return true;
}

/* What was not read of the body must not be left in the socket: nginx would see its write fail and
 * answer 502 instead of what we said. */
static void drain(struct request *rq)
{
	char waste[16384];
	struct err err;
	size_t n;

	while (request_read(rq, waste, sizeof(waste), &n, &err) && n)
		;
}

static void bad_request(struct response *rs, const struct request *rq, const struct err *err)
{
	response_error(rs, err, rq->id ? rq->id : "-", NULL);
	log_info("rq=%s %d %s", rq->id ? rq->id : "-", rs->status, err->msg);
}

static void serve_one(const struct site *site, FCGX_Request *fcgi)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct request rq = {0};
	struct response rs;
	struct err err = {0};

	response_init(&rs, pool, text_has_prefix(site->cfg->url, "https://"));
	if (request_init(&rq, pool, fcgi->envp, read_body, fcgi, &err)) {
		router_serve(site, &rq, &rs);
		drain(&rq);
	} else {
		bad_request(&rs, &rq, &err);
	}
	if (response_send(&rs, write_out, fcgi) && FCGX_FFlush(fcgi->out) == 0 &&
		!FCGX_GetError(fcgi->out))
		FCGX_Finish_r(fcgi);
	else
		FCGX_Free(fcgi, 1); /* broken off in the middle: no orderly end */
	response_done(&rs);
}

void web_child(const struct config *cfg, const char *tools, int sock)
{
	struct pool *pool = pool_new();
	struct db *db = db_new(config_db(pool, cfg, "asb_web"), "web", 0);
	struct err err = {0};
	struct site site;
	FCGX_Request fcgi;
	int n = 0;

	set_signals();
	if (!site_init(&site, pool, cfg, db, tools, &err) || !confine(0, &err)) {
		log_error("child: %s", err.msg);
		exit(1);
	}
	if (FCGX_InitRequest(&fcgi, sock, FCGI_FAIL_ACCEPT_ON_INTR)) {
		log_error("child: FCGX_InitRequest failed");
		exit(1);
	}
	while (!ending && n++ < REQUESTS_MAX) {
		if (FCGX_Accept_r(&fcgi) < 0)
			continue; /* a client that went away while it was accepted, or the end */
		serve_one(&site, &fcgi);
	}
	FCGX_Free(&fcgi, 1);
	db_free(db);
	pool_free(pool);
	exit(0);
}
