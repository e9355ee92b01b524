/*
 * asb-gate: the only program with a way to the network, and the only one that holds upstream
 * credentials. Boxes reach it through their shims, by frames; see gate.h.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "db.h"
#include "documents.h"
#include "gate.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "receipts.h"

CONFINED_PROGRAM

/* What runs beside the boxes: signs receipts, reads documents. 0: the site has none of it. */
struct beside {
	pid_t receipts, documents;
};

/* A gate that signs or reads no more is to be started anew. */
static void on_child(struct loop *loop, uint32_t events, void *arg)
{
	bool *failed = arg;

	(void)events;
	log_error("what signs receipts, or reads documents, has ended");
	*failed = true;
	loop_stop(loop);
}

static void on_term(struct loop *loop, uint32_t events, void *arg)
{
	(void)events;
	(void)arg;
	loop_stop(loop);
}

/* The socket that shims of every slot uid connect to: who they are is checked by SO_PEERCRED. */
static bool socket_open(struct pool *pool, const struct config *cfg, int *out, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *path = pool_printf(pool, "%s/gate.sock", cfg->run_dir);
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(err, ERR_INVALID, "%s: too long for a socket", path);
	memcpy(a.sun_path, path, strlen(path));
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(path, 0666))
		return err_errno(err, ERR_INTERNAL, "%s", path);
	*out = STEAL_FD(fd);
	return true;
}

static bool serve(
	struct pool *pool, const struct config *cfg, const struct beside *beside, struct err *err)
{
	CLEANUP(loop) struct loop *loop = loop_new();
	CLEANUP(db) struct db *db = db_new(config_db(pool, cfg, "asb_gate"), "gate", 2000);
	struct gate g = {.cfg = cfg, .loop = loop, .db = db};
	CLEANUP(fd) int fd = -1;
	bool failed = false;

	if (!fetch_init(&g, err) || !gate_secret_init(&g, err) ||
		!socket_open(pool, cfg, &fd, err) || !gate_listen(&g, fd, err) ||
		!confine(CONFINE_INET, err))
		return false;
	(void)loop_add_signal(loop, SIGTERM, on_term, NULL);
	(void)loop_add_signal(loop, SIGINT, on_term, NULL);
	if (beside->receipts || beside->documents)
		(void)loop_add_signal(loop, SIGCHLD, on_child, &failed);
	log_info("ready");
	loop_run(loop);
	gate_close_all(&g);
	sodium_memzero(&g.seal, sizeof(g.seal));
	(void)curl_multi_cleanup(g.multi);
	curl_global_cleanup();
	if (beside->receipts)
		(void)kill(beside->receipts, SIGTERM);
	if (beside->documents)
		(void)kill(beside->documents, SIGTERM);
	return !failed || err_set(err, ERR_INTERNAL, "a part of it has ended");
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	enum log_level level = LOG_INFO;
	const struct config *cfg;
	struct beside beside;
	struct err err;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* credentials are in this memory */
	log_init("gate", level);
	if (sodium_init() < 0 || !config_load(pool, argc, argv, &cfg, &err)) {
		log_error("%s", err.msg);
		return 2;
	}
	(void)log_level_parse(cfg->log_level, &level);
	log_init("gate", level);
	if (strlen(cfg->model_key) > MODEL_KEY_MAX) {
		log_error("ANTHROPIC_API_KEY is longer than %d bytes", MODEL_KEY_MAX);
		return 2;
	}
	if (!receipts_start(cfg, &beside.receipts, &err) ||
		!documents_start(cfg, &beside.documents, &err) ||
		!serve(pool, cfg, &beside, &err)) {
		log_error("%s", err.msg);
		return err_info(err.code)->exit_status;
	}
	return 0;
}
