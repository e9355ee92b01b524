/*
 * The site of asb-live's tests.
 */
#include "livesite.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "testdb.h"
#include "testprogram.h"
#include "text.h"

static bool can_connect(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return !connect(fd, (struct sockaddr *)&to, sizeof(to));
}

void livesite_start(struct livesite *s, int heartbeat_ms, int rescan_ms)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *const argv[] = {testprogram("asb-live"), NULL};
	const char *env[] = {"MCP_HTTP_TOKEN=" LIVESITE_TOKEN, "ASB_URL=http://127.0.0.1:8380",
		"ASB_LOG_LEVEL=error", NULL, NULL, NULL, NULL, NULL};
	struct err err;

	memcpy(s->dir, "/tmp/asb-live.XXXXXX", 21);
	assert_non_null(mkdtemp(s->dir));
	(void)snprintf(s->socket, sizeof(s->socket), "%s/live.sock", s->dir);
	env[3] = pool_printf(pool, "ASB_DB=%s", testdb_conninfo("asb_live"));
	env[4] = pool_printf(pool, "ASB_RUN_DIR=%s", s->dir);
	env[5] = pool_printf(pool, "ASB_HEARTBEAT_MS=%d", heartbeat_ms);
	env[6] = pool_printf(pool, "ASB_RESCAN_MS=%d", rescan_ms);
	s->child = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	assert_true(child_start(&s->child, &err));
	for (int i = 0; i < LIVE_MS / 10 && !can_connect(s->socket); i++)
		(void)usleep(10000);
	assert_true(can_connect(s->socket));
}

void livesite_stop(struct livesite *s)
{
	struct err err;
	int status = -1;

	assert_true(s->child.pid > 0); /* -1, after an end, would mean everybody on the machine */
	assert_int_equal(kill(s->child.pid, SIGTERM), 0);
	if (!child_wait(&s->child, LIVE_MS, &status, &err))
		fail_msg("asb-live did not end: %s", err.msg);
	assert_int_equal(status, 0);
	(void)unlink(s->socket);
	assert_int_equal(rmdir(s->dir), 0);
}

int livesite_fds(const struct livesite *s)
{
	char path[64];
	DIR *dir;
	int n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)s->child.pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

void livesite_fds_become(const struct livesite *s, int n)
{
	const int64_t until = time_boot_ms() + LIVE_MS;

	while (livesite_fds(s) != n && time_boot_ms() < until)
		(void)usleep(2000);
	assert_int_equal(livesite_fds(s), n);
}

int64_t livesite_rss_kib(const struct livesite *s)
{
	char path[64], line[256];
	CLEANUP(file) FILE *f = NULL;
	int64_t kib = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)s->child.pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmRSS:", 6))
			kib = strtoll(line + 6, NULL, 10);
	return kib;
}

void livesite_get(const struct livesite *s, struct fcgiclient *c, const char *url, const char *more)
{
	const char *const headers[] = {
		"Host: 127.0.0.1", "Authorization: Bearer " LIVESITE_TOKEN, more, NULL};

	fcgiclient_open(c, s->socket, "GET", url, headers, NULL, 0);
}

void livesite_watch(
	const struct livesite *s, struct fcgiclient *c, const char *url, const char *more)
{
	struct fcgi_event e = {0};

	livesite_get(s, c, url, more);
	if (!fcgiclient_event(c, &e, LIVE_MS))
		fail_msg("no hello: %s", c->out.data);
	assert_int_equal(fcgiclient_status(c), 200);
	assert_string_equal(e.name, "hello");
	assert_string_equal(e.id, "");
	fcgi_event_done(&e);
}

void livesite_next_with(
	struct fcgiclient *c, struct fcgi_event *e, const char *name, const char *text)
{
	const int64_t until = time_boot_ms() + LIVE_MS;

	for (int64_t now; (now = time_boot_ms()) <= until;)
		if (!fcgiclient_event(c, e, (int)(until - now)))
			break;
		else if (!strcmp(e->name, name) && strstr(e->data, text))
			return;
	fail_msg("no %s with '%s' within %d ms", name, text, LIVE_MS);
}

void livesite_next(struct fcgiclient *c, struct fcgi_event *e, const char *name)
{
	livesite_next_with(c, e, name, "");
}

int64_t livesite_number(const struct fcgi_event *e, const char *member)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct err err;
	int64_t n = -1;

	if (!json_parse(e->data, strlen(e->data), &o, &err) || !json_get_i64(o, member, &n))
		fail_msg("no number %s in %s", member, e->data);
	return n;
}

int64_t livesite_run(const char *name, int64_t account)
{
	int64_t box, run;

	box = testdb_i64("INSERT INTO boxes (account_id, name, image, class, memory_bytes, cpus,"
			 " disk_bytes, deadline_at, expires_at) VALUES (%lld, 'box-%s', 'base',"
			 " 's', 1, 1, 1, now() + interval '1 h', now() + interval '1 h')"
			 " RETURNING id",
		(long long)account, name);
	run = testdb_i64("INSERT INTO runs (account_id, name, box_id, title, task, agent, source,"
			 " created_by) VALUES (%lld, '%s', %lld, 'a title', 'true', 'script',"
			 " 'none', 'operator') RETURNING id",
		(long long)account, name, (long long)box);
	testdb_exec("INSERT INTO logs (account_id, run_id) VALUES (%lld, %lld)", (long long)account,
		(long long)run);
	testdb_exec("INSERT INTO turns (account_id, run_id, box_id, n, message)"
		    " VALUES (%lld, %lld, %lld, 1, 'true')",
		(long long)account, (long long)run, (long long)box);
	return run;
}

void livesite_trace(int64_t run, int64_t from, int64_t to)
{
	testdb_exec("SET ROLE asb_worker; BEGIN; INSERT INTO trace (account_id, run_id, seq, turn, "
		    "kind,"
		    " text) SELECT account_id, id, s, 1, 'say', E'row\\n' || s || E'\\r\"'"
		    " FROM runs, generate_series(%lld, %lld) s WHERE id = %lld;"
		    " SELECT pg_notify('log', 'r%lld'); COMMIT; RESET ROLE",
		(long long)from, (long long)to, (long long)run, (long long)run);
}

void livesite_chunks(int64_t run, int64_t from, int64_t to, int bytes)
{
	int64_t log = testdb_i64("SELECT id FROM logs WHERE run_id = %lld", (long long)run);

	testdb_exec(
		"SET ROLE asb_worker; BEGIN; INSERT INTO log_chunk (account_id, log_id, seq, "
		"stream,"
		" first_line, nlines, src_off, src_len, body) SELECT account_id, id, s, 1, s - 1,"
		" 1, (s - 1) * %d, %d, convert_to(rpad('line ' || s || ' ', %d - 1, 'x')"
		" || E'\\n', 'UTF8') FROM logs, generate_series(%lld, %lld) s WHERE id = %lld;"
		" SELECT pg_notify('log', 'l%lld'); COMMIT; RESET ROLE",
		bytes, bytes, bytes, (long long)from, (long long)to, (long long)log,
		(long long)log);
}
