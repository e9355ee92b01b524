/*
 * asb-web: answers every request that ends soon. The parent opens the socket, keeps its children
 * alive and does nothing else; children that die are replaced, with a growing pause where they die
 * at once. TERM: children finish what they hold. HUP: settings are read again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcgiapp.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "log.h"
#include "mcp.h"
#include "openapi.h"
#include "pool.h"
#include "site.h"
#include "text.h"
#include "web_child.h"

#define CHILDREN_MAX 256
#define BACKLOG 4096
#define EARLY_MS 1000	   /* a child that dies younger than this did not come to work */
#define PAUSE_MAX_MS 10000 /* longest pause before the next try */
#define STOP_MS 10000	   /* what a child may still take to finish a request */
#define DATABASE_MS 30000  /* how long the database may take to come up with us */

struct web {
	struct pool *pool;
	const struct config *cfg;
	const char *tools; /* struct site's */
	int argc;
	char **argv;
	int sock;
	pid_t pids[CHILDREN_MAX];
	int64_t born_ms[CHILDREN_MAX];
	int64_t pause_ms, not_before_ms;
	bool stopping;
};

static bool print_docs(const char *what)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

	if (!strcmp(what, "--print-api"))
		actions_print(&b);
	else if (!strcmp(what, "--print-config"))
		config_print(&b);
	else if (!strcmp(what, "--print-openapi"))
		openapi_print(&b);
	else
		return false;
	(void)fputs(b.data, stdout);
	return true;
}

/* The settings do, and the schema is ours. The database may be starting beside us. */
static bool check(struct pool *pool, const struct config *cfg, struct err *err)
{
	CLEANUP(db) struct db *db = db_new(config_db(pool, cfg, "asb_web"), "web", 0);
	int64_t until = time_boot_ms() + DATABASE_MS;
	struct site site;

	if (!site_init(&site, pool, cfg, db, "", err))
		return false;
	while (!migrate_check(db, err)) {
		if (err->code != ERR_BUSY || time_boot_ms() > until)
			return err_wrap(err, "database");
		(void)usleep(200 * 1000);
	}
	return true;
}

static bool open_socket(struct web *web, struct err *err)
{
	mode_t before = umask(0117);

	web->sock =
		FCGX_OpenSocket(pool_printf(web->pool, "%s/web.sock", web->cfg->run_dir), BACKLOG);
	(void)umask(before);
	if (web->sock < 0)
		return err_errno(err, ERR_INTERNAL, "open %s/web.sock", web->cfg->run_dir);
	return true;
}

static void start_child(struct web *web, size_t i)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		/* no half of us stays behind when the parent is killed */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		web_child(web->cfg, web->tools, web->sock);
	}
	if (pid < 0) {
		log_error("fork failed, trying again");
		web->not_before_ms = time_boot_ms() + EARLY_MS;
		return;
	}
	web->pids[i] = pid;
	web->born_ms[i] = time_boot_ms();
}

static void start_missing(struct web *web)
{
	for (size_t i = 0; i < (size_t)web->cfg->web_children; i++)
		if (!web->pids[i] && time_boot_ms() >= web->not_before_ms)
			start_child(web, i);
}

static void child_ended(struct web *web, size_t i, int status)
{
	int64_t now = time_boot_ms();
	bool wrong = !WIFEXITED(status) || WEXITSTATUS(status);

	web->pids[i] = 0;
	if (web->stopping || !wrong)
		return;
	if (now - web->born_ms[i] >= EARLY_MS)
		web->pause_ms = 0;
	else
		web->pause_ms = web->pause_ms ? web->pause_ms * 2 : 100;
	if (web->pause_ms > PAUSE_MAX_MS)
		web->pause_ms = PAUSE_MAX_MS;
	web->not_before_ms = now + web->pause_ms;
	log_warn("child ended, %s %d, replacing it in %lld ms",
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		(long long)web->pause_ms);
}

static size_t reap(struct web *web)
{
	size_t alive = 0;
	int status;

	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		if (web->pids[i] && waitpid(web->pids[i], &status, WNOHANG) == web->pids[i])
			child_ended(web, i, status);
		alive += web->pids[i] != 0;
	}
	return alive;
}

static void signal_children(const struct web *web, int signo)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++)
		if (web->pids[i])
			(void)kill(web->pids[i], signo);
}

/* TERM again and again: one that comes just before a child waits in accept would be lost on it. */
static void stop_children(struct web *web)
{
	int64_t until = time_boot_ms() + STOP_MS;

	while (reap(web)) {
		signal_children(web, time_boot_ms() < until ? SIGTERM : SIGKILL);
		(void)usleep(20 * 1000);
	}
}

/* What is wrong in the new settings leaves the old ones in force. */
static void reload(struct web *web)
{
	const struct config *cfg;
	struct err err;
	struct site site;

	if (!config_load(web->pool, web->argc, web->argv, &cfg, &err) ||
		!site_init(&site, web->pool, cfg, NULL, web->tools, &err)) {
		log_error("settings not taken: %s", err.msg);
		return;
	}
	web->cfg = cfg;
	stop_children(web);
	log_info("settings read again");
}

static void keep_children(struct web *web, const sigset_t *wanted)
{
	const struct timespec tick = {.tv_nsec = 200 * 1000 * 1000};

	for (;;) {
		int signo;

		start_missing(web);
		signo = sigtimedwait(wanted, NULL, &tick);
		if (signo == SIGTERM || signo == SIGINT)
			break;
		if (signo == SIGHUP)
			reload(web);
		(void)reap(web);
	}
	web->stopping = true;
	stop_children(web);
}

static bool start(struct web *web, struct err *err)
{
	const struct rlimit none = {0, 0};
	enum log_level level;

	if (!config_load(web->pool, web->argc, web->argv, &web->cfg, err))
		return false;
	if (!log_level_parse(web->cfg->log_level, &level))
		return err_set(
			err, ERR_INVALID, "ASB_LOG_LEVEL: must be error, warn, info or debug");
	log_init("web", level);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
		return err_errno(err, ERR_INTERNAL, "start");
	if (!check(web->pool, web->cfg, err))
		return false;
	web->tools = mcp_tools_print(web->pool);
	if (FCGX_Init())
		return err_set(err, ERR_INTERNAL, "FCGX_Init failed");
	return open_socket(web, err);
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct web web = {.pool = pool, .argc = argc, .argv = argv, .sock = -1};
	struct err err = {0};
	sigset_t wanted;

	if (argc == 2 && print_docs(argv[1]))
		return 0;
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGTERM);
	(void)sigaddset(&wanted, SIGINT);
	(void)sigaddset(&wanted, SIGHUP);
	(void)sigaddset(&wanted, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &wanted, NULL);
	log_init("web", LOG_INFO);
	if (!start(&web, &err)) {
		log_error("%s%s%s", err.msg, err.fix[0] ? ": " : "", err.fix);
		return err_info(err.code)->exit_status;
	}
	log_info("serving, children=%lld", (long long)web.cfg->web_children);
	keep_children(&web, &wanted);
	(void)unlink(pool_printf(pool, "%s/web.sock", web.cfg->run_dir));
	(void)close(web.sock);
	log_info("ended");
	return 0;
}
