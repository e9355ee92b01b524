/*
 * Which site, and whose token: every row of the order that reach.h names, and the file of logins
 * with what makes it unbelievable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "logins.h"
#include "pool.h"
#include "reach.h"

struct places {
	struct pool *pool;
	char dir[64];
	const char *folder, *sites;
	struct reach_places at;
	const char *lists[2];
};

static void file_put(const char *path, const char *text, mode_t mode)
{
	CLEANUP(file) FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fchmod(fileno(f), mode), 0);
}

static int setup(void **state)
{
	struct places *p = mem_alloc(sizeof(*p));

	*p = (struct places){.pool = pool_new(), .dir = "/tmp/test_reach.XXXXXX"};
	if (!mkdtemp(p->dir))
		return -1;
	p->folder = pool_printf(p->pool, "%s/config/agent-sandbox", p->dir);
	p->sites = pool_printf(p->pool, "%s/sites", p->dir);
	p->lists[0] = p->sites;
	p->at = (struct reach_places){.folder = p->folder, .site_lists = p->lists};
	*state = p;
	return mkdir(p->sites, 0700);
}

static int teardown(void **state)
{
	static const char *const files[] = {"config/agent-sandbox/logins.json",
		"config/agent-sandbox/logins.json.new", "config/agent-sandbox", "config",
		"sites/a.site", "sites/b.site", "sites", "state/secrets/operator.token",
		"state/secrets", "state", "token", ""};
	struct places *p = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *path = pool_printf(p->pool, "%s/%s", p->dir, files[i]);

		if (unlink(path))
			(void)rmdir(path);
	}
	pool_free(p->pool);
	free(p);
	return 0;
}

/* A site of this machine at a port, with its token. */
static void claim(struct places *p, const char *name, int port)
{
	const char *state = pool_printf(p->pool, "%s/state", p->dir);

	file_put(pool_printf(p->pool, "%s/%s.site", p->sites, name),
		pool_printf(p->pool, "RANGE=1\nPORT=%d\nSTATE=%s\n", port, state), 0644);
	(void)mkdir(state, 0700);
	(void)mkdir(pool_printf(p->pool, "%s/secrets", state), 0700);
	file_put(pool_printf(p->pool, "%s/secrets/operator.token", state), "operator", 0600);
}

static void test_none(void **state)
{
	struct places *p = *state;
	struct reach at;
	struct err err;

	assert_false(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(err.reason, "no_site");
}

static void test_order(void **state)
{
	struct places *p = *state;
	struct reach at;
	struct err err;

	claim(p, "a", 8381);
	assert_true(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(at.url, "http://127.0.0.1:8381");
	assert_string_equal(at.token, "operator");
	assert_true(login_store(p->pool, p->folder, "https://x.example", "xtoken", &err));
	assert_true(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(at.url, "https://x.example");
	assert_string_equal(at.token, "xtoken");
	assert_null(at.token_file);
	p->at.url = "http://127.0.0.1:8381/";
	assert_true(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(at.url, "http://127.0.0.1:8381");
	assert_string_equal(at.token, "operator");
	/* a token of another site goes nowhere */
	p->at.url = "http://127.0.0.1:9999";
	assert_true(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(at.token, "");
	p->at.token_file = pool_printf(p->pool, "%s/token", p->dir);
	file_put(p->at.token_file, "named\n", 0600);
	assert_true(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(at.token, "named");
	file_put(p->at.token_file, "two\nlines\n", 0600);
	assert_false(reach_find(p->pool, &p->at, &at, &err));
}

static void test_several(void **state)
{
	struct places *p = *state;
	struct reach at;
	struct err err;

	claim(p, "a", 8381);
	claim(p, "b", 8382);
	assert_false(reach_find(p->pool, &p->at, &at, &err));
	assert_non_null(strstr(err.msg, "several sites"));
	p->at.url = "http://127.0.0.1:8382";
	assert_true(reach_find(p->pool, &p->at, &at, &err));
	assert_string_equal(at.token, "operator");
}

static void test_untrusted_list(void **state)
{
	struct places *p = *state;
	struct reach at;
	struct err err;

	claim(p, "a", 8381);
	assert_int_equal(chmod(p->sites, 0777), 0);
	assert_false(reach_find(p->pool, &p->at, &at, &err));
	assert_int_equal(chmod(p->sites, 0755), 0);
	assert_true(reach_find(p->pool, &p->at, &at, &err));
}

static void test_addresses(void **state)
{
	static const char *const bad[] = {"", "x.example", "ftp://x", "http://x.example",
		"http://127.0.0.1.evil.example", "https://me:secret@x.example",
		"https://x.example/?token=1", "http://", "https://x y"};
	static const char *const good[] = {"http://127.0.0.1:8380", "http://localhost",
		"http://[::1]:1", "https://x.example", "https://x.example/below/"};
	struct places *p = *state;
	const char *url;
	struct err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (login_url(p->pool, bad[i], &url, &err))
			fail_msg("%s was taken", bad[i]);
		assert_null(strstr(err.msg, "secret"));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!login_url(p->pool, good[i], &url, &err))
			fail_msg("%s: %s", good[i], err.msg);
	assert_string_equal(url, "https://x.example/below");
}

static void test_logins(void **state)
{
	struct places *p = *state;
	const char *path = pool_printf(p->pool, "%s/logins.json", p->folder);
	struct login login;
	struct stat st;
	struct err err;

	assert_true(login_find(p->pool, p->folder, NULL, &login, &err));
	assert_null(login.url);
	assert_true(login_store(p->pool, p->folder, "https://a.example", "one", &err));
	assert_true(login_store(p->pool, p->folder, "https://b.example", "two", &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(login_find(p->pool, p->folder, NULL, &login, &err));
	assert_string_equal(login.token, "two");
	assert_true(login_find(p->pool, p->folder, "https://a.example", &login, &err));
	assert_string_equal(login.token, "one");
	assert_true(login_forget(p->pool, p->folder, "https://b.example", &err));
	assert_false(login_forget(p->pool, p->folder, "https://b.example", &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_true(login_find(p->pool, p->folder, NULL, &login, &err));
	assert_null(login.url);
	/* one that others may read, or a link, is not believed */
	assert_int_equal(chmod(path, 0640), 0);
	assert_false(login_find(p->pool, p->folder, "https://a.example", &login, &err));
	assert_string_equal(err.reason, "not_private");
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(login_find(p->pool, p->folder, "https://a.example", &login, &err));
	assert_string_equal(login.token, "one");
}

static void test_tokens(void **state)
{
	struct err err;

	(void)state;
	assert_true(login_token_check("asb_key_x", &err));
	assert_false(login_token_check("", &err));
	assert_false(login_token_check("a b", &err));
	assert_false(login_token_check("a\r\nX: y", &err));
	assert_null(strstr(err.msg, "X: y"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_untrusted_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_logins, setup, teardown),
		cmocka_unit_test(test_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
