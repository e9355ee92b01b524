/*
 * The program asb-web itself, with nginx's part played over FastCGI: it serves, replaces children
 * that die, ends when told to, gives up what it does not need, and refuses to start where it must.
 */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testfcgi.h"
#include "text.h"

#define TOKEN "test-operator-token-0123456789"
#define HOST "HTTP_HOST=127.0.0.1:8380"
#define BEARER "HTTP_AUTHORIZATION=Bearer " TOKEN

static char dir[] = "/tmp/test_web.XXXXXX";
static char program[PATH_MAX + 32];
static struct pool *group;
static struct child web;

static void start(struct child *c, const char *token, const char *upload_max)
{
	const char **argv = POOL_ARRAY(group, const char *, 2),
		   **env = POOL_ARRAY(group, const char *, 8);
	struct err err;

	argv[0] = program;
	env[0] = pool_printf(group, "ASB_RUN_DIR=%s", dir);
	env[1] = pool_printf(group, "ASB_DB=%s", testdb_conninfo("asb_web"));
	env[2] = pool_printf(group, "MCP_HTTP_TOKEN=%s", token);
	env[3] = "ASB_WEB_CHILDREN=2";
	env[4] = "ASB_LOG_LEVEL=error";
	env[5] = pool_printf(group, "ASB_UPLOAD_MAX=%s", upload_max);
	*c = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	if (!child_start(c, &err))
		fail_msg("%s", err.msg);
}

static const char *sock(void)
{
	return pool_printf(group, "%s/web.sock", dir);
}

static struct fcgi_answer ask(
	const char *method, const char *url, const char *type, const char *body, size_t n)
{
	const char *const params[] = {HOST, BEARER, type, NULL};

	return testfcgi_ask(group, sock(), method, url, params, body, n);
}

static int setup(void **state)
{
	ssize_t n;
	char *slash;

	(void)state;
	group = pool_new();
	n = readlink("/proc/self/exe", program, PATH_MAX);
	if (n < 0 || !mkdtemp(dir))
		return -1;
	program[n] = '\0';
	for (int i = 0; i < 3; i++) {
		slash = strrchr(program, '/');
		if (!slash)
			return -1;
		*slash = '\0';
	}
	(void)snprintf(program + strlen(program), 32, "/bin/asb-web");
	start(&web, TOKEN, "5000000");
	for (int i = 0; i < 500; i++) {
		if (ask("GET", "/healthz", NULL, NULL, 0).status == 200)
			return 0;
		(void)usleep(20 * 1000);
	}
	return -1;
}

static int teardown(void **state)
{
	(void)state;
	child_kill(&web);
	(void)unlink(sock());
	(void)rmdir(dir);
	pool_free(group);
	return 0;
}

/* Children of the parent, by /proc. */
static size_t children(pid_t pids[16])
{
	const char *path = pool_printf(group, "/proc/%d/task/%d/children", web.pid, web.pid);
	CLEANUP(file) FILE *f = fopen(path, "r");
	size_t n = 0;
	int pid;

	while (f && n < 16 && fscanf(f, "%d", &pid) == 1)
		pids[n++] = pid;
	return n;
}

static bool file_says(const char *path, const char *line)
{
	CLEANUP(file) FILE *f = fopen(path, "r");
	char text[8192];
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	return strstr(text, line) != NULL;
}

static void test_serves(void **state)
{
	struct fcgi_answer a;

	(void)state;
	a = ask("POST", "/delegate.json", "CONTENT_TYPE=application/json", "{\"task\":\"x\"}", 12);
	assert_int_equal(a.status, 202);
	assert_non_null(strstr(a.text, "\"text\" : \"run:queued\""));
	a = ask("POST", "/delegate.json", "CONTENT_TYPE=application/json",
		"{\"task\":\"x\",\"wait_ms\":9}", 24);
	assert_int_equal(strncmp(a.text, "X-Accel-Redirect: /internal/wait?run=", 37), 0);
	a = ask("GET", "/nowhere", NULL, NULL, 0);
	assert_int_equal(a.status, 404);
}

/* nginx may be kept waiting between connecting and asking: nothing is lost by that. */
static void test_who_asks_late_is_answered(void **state)
{
	(void)state;
	testfcgi_pause_ms = 200;
	assert_int_equal(ask("GET", "/healthz", NULL, NULL, 0).status, 200);
	testfcgi_pause_ms = 0;
}

static void test_upload_and_download(void **state)
{
	const size_t n = 3000000;
	char *tar = pool_alloc(group, n);
	struct fcgi_answer a;
	const char *name, *body;

	(void)state;
	for (size_t i = 0; i < n; i++)
		tar[i] = (char)(i * 31 + i / 4096);
	a = ask("POST", "/upload", "CONTENT_TYPE=application/x-tar", tar, n);
	assert_int_equal(a.status, 201);
	name = strstr(a.text, "blob-");
	a = ask("GET", pool_printf(group, "/blob?name=%.21s", name), NULL, NULL, 0);
	assert_int_equal(a.status, 200);
	body = strstr(a.text, "\r\n\r\n") + 4;
	assert_int_equal(a.n - (size_t)(body - a.text), n);
	assert_memory_equal(body, tar, n);
}

/* Refused before it is read, and still heard: the body is not left in the socket. */
static void test_too_much(void **state)
{
	const size_t n = 6000000;
	char *tar = pool_alloc(group, n);

	(void)state;
	assert_int_equal(
		ask("POST", "/upload", "CONTENT_TYPE=application/x-tar", tar, n).status, 413);
	assert_int_equal(
		ask("POST", "/delegate.json", "CONTENT_TYPE=application/json", tar, n).status, 400);
}

static void test_gives_up_privileges(void **state)
{
	struct stat st;
	pid_t pids[16];
	size_t n = children(pids);

	(void)state;
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		const char *status = pool_printf(group, "/proc/%d/status", pids[i]);

		assert_true(file_says(status, "NoNewPrivs:\t1\n"));
		assert_true(file_says(status, "Seccomp:\t2\n"));
		assert_true(file_says(pool_printf(group, "/proc/%d/limits", pids[i]),
			"Max core file size        0                    0 "));
	}
	assert_int_equal(stat(sock(), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
}

static void test_children_are_replaced(void **state)
{
	pid_t before[16], after[16];
	size_t n = children(before);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(kill(before[i], SIGKILL), 0);
	for (int i = 0; i < 250 && (children(after) < 2 || after[0] == before[0]); i++)
		(void)usleep(20 * 1000);
	assert_int_equal(children(after), 2);
	assert_int_equal(ask("GET", "/healthz", NULL, NULL, 0).status, 200);
}

/* HUP: fresh children under the settings as they are now; nobody is turned away for long. */
static void test_hup(void **state)
{
	pid_t before[16], after[16] = {0};

	(void)state;
	assert_int_equal(children(before), 2);
	assert_int_equal(kill(web.pid, SIGHUP), 0);
	for (int i = 0;
		i < 250 && (children(after) < 2 || after[0] == before[0] || after[1] == before[1]);
		i++)
		(void)usleep(20 * 1000);
	assert_int_equal(children(after), 2);
	assert_true(after[0] != before[0] && after[1] != before[1]);
	assert_int_equal(ask("GET", "/healthz", NULL, NULL, 0).status, 200);
}

static void test_refuses_to_start(void **state)
{
	struct child c;
	struct err err;
	int status;

	(void)state;
	start(&c, "short", "5000000");
	assert_true(child_wait(&c, 20000, &status, &err));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 2);
	testdb_exec("INSERT INTO schema_migrations (n, name, sha256) VALUES (9999, 'of the "
		    "future', 'x')");
	start(&c, TOKEN, "5000000");
	assert_true(child_wait(&c, 20000, &status, &err));
	testdb_exec("DELETE FROM schema_migrations WHERE n = 9999");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
}

static void test_term_ends_it(void **state)
{
	struct err err;
	int64_t began = time_boot_ms();
	int status;

	(void)state;
	assert_int_equal(kill(web.pid, SIGTERM), 0);
	assert_true(child_wait(&web, 20000, &status, &err));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_in_range(time_boot_ms() - began, 0, 5000);
	assert_int_equal(access(sock(), F_OK), -1);
	web.pid = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_serves),
		cmocka_unit_test(test_who_asks_late_is_answered),
		cmocka_unit_test(test_upload_and_download),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_gives_up_privileges),
		cmocka_unit_test(test_children_are_replaced),
		cmocka_unit_test(test_hup),
		cmocka_unit_test(test_refuses_to_start),
		cmocka_unit_test(test_term_ends_it),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
