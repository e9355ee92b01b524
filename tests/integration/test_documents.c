/*
 * Clients that are described by a document at their client_id: the real asb-gate reads it from a
 * host on loopback, which the operator has excepted; the doors are asked in memory. Each thing that
 * may be wrong with an address, a host or a document stands alone, beside one that is good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "buf.h"
#include "cleanup.h"
#include "document.h"
#include "encode.h"
#include "gatesite.h"
#include "oauthclient.h"
#include "pool.h"
#include "testdb.h"
#include "text.h"

static struct pool *pool;
static const char *dir;
static pid_t host;
static FILE *host_said;
static int port;

static void certificate_make(void)
{
	command_run((const char *const[]){"/usr/bin/openssl", "req", "-x509", "-newkey", "ec",
		"-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
		"-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2", "-keyout",
		pool_printf(pool, "%s/key.pem", dir), "-out", pool_printf(pool, "%s/cert.pem", dir),
		NULL});
}

static void host_start(void)
{
	const char *cert = pool_printf(pool, "%s/cert.pem", dir),
		   *key = pool_printf(pool, "%s/key.pem", dir);
	int out[2];

	assert_int_equal(pipe(out), 0);
	host = fork();
	if (!host) {
		(void)dup2(out[1], 1);
		(void)execlp(
			"node", "node", "tests/support/document-host", cert, key, (char *)NULL);
		_exit(99);
	}
	(void)close(out[1]);
	host_said = fdopen(out[0], "re");
	assert_int_equal(fscanf(host_said, "port %d", &port), 1);
}

/* The gate with the operator's words for it. */
static void gate_start(const char *allow, const char *ca)
{
	gatesite_program(pool, dir,
		(const char *const[]){pool_printf(pool, "EGRESS_PRIVATE_ALLOW=%s", allow),
			pool_printf(pool, "EGRESS_CA_FILE=%s", ca), NULL});
}

static const char *allowed(void)
{
	return pool_printf(pool, "127.0.0.1:%d", port);
}

static const char *cert_path(void)
{
	return pool_printf(pool, "%s/cert.pem", dir);
}

static int setup(void **state)
{
	(void)state;
	pool = pool_new();
	dir = gatesite_dir(pool);
	certificate_make();
	host_start();
	gate_start(allowed(), cert_path());
	testweb_config.run_dir = dir;
	testweb_config.has_client_documents = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)kill(host, SIGKILL);
	(void)waitpid(host, NULL, 0);
	(void)fclose(host_said);
	gatesite_stop(dir);
	testweb_done();
	pool_free(pool);
	return 0;
}

static const char *document(const char *name)
{
	return pool_printf(oauth_pool, "https://localhost:%d/%s", port, name);
}

static const char *query_of(const char *client_id)
{
	oauth_client_id = client_id;
	return oauth_query("");
}

/* What the page asks that the person is sent to. */
static struct answer connect_get(const char *query)
{
	CLEANUP(buf) struct buf b = BUF_INIT(8000);

	(void)buf_adds(&b, "/connect.json?request=");
	url_add(&b, query);
	return testweb_operator(oauth_pool, "GET", b.data, NULL);
}

static void refused(const char *client_id, const char *word)
{
	struct answer a = connect_get(query_of(client_id));

	if (a.status != 422 ||
		strcmp(testweb_get(oauth_pool, &a, "error.context.reason"), "invalid_client") !=
			0 ||
		!strstr(a.body, word))
		fail_msg("%s: %d %s, not %s", client_id, a.status, a.body, word);
	/* and nothing of it was kept */
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_clients"), 0);
}

static void test_the_whole_way(void **state)
{
	const char *id = document("good"), *q = query_of(id), *refresh;
	struct answer a;

	(void)state;
	a = oauth_get("/.well-known/oauth-authorization-server");
	assert_string_equal(
		testweb_get(oauth_pool, &a, "client_id_metadata_document_supported"), "true");
	/* nobody is signed in yet: the browser is sent on, and nothing is fetched for it */
	a = oauth_get(pool_printf(oauth_pool, "/oauth/authorize?%s", q));
	assert_int_equal(a.status, 302);
	assert_non_null(strstr(a.head, "Location: " TESTWEB_URL "/dashboard/connect?"));
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_clients"), 0);
	/* an answer to what nobody has seen is none */
	a = oauth_consent(q, true);
	assert_int_equal(a.status, 404);
	a = connect_get(q);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(oauth_pool, &a, "client_id"), id);
	assert_string_equal(testweb_get(oauth_pool, &a, "title"), "Documented Editor");
	assert_string_equal(testweb_get(oauth_pool, &a, "document"), "true");
	a = oauth_exchange(oauth_code_of(q), VERIFIER, CALLBACK_QUERY, id, RESOURCE_QUERY);
	assert_int_equal(a.status, 200);
	assert_int_equal(
		oauth_who(testweb_get(oauth_pool, &a, "access_token"), "/mcp", NULL), CALLER_OAUTH);
	refresh = testweb_get(oauth_pool, &a, "refresh_token");
	/* now it is known: what is wrong is told to the client, what leads elsewhere to nobody */
	a = oauth_get(pool_printf(oauth_pool, "/oauth/authorize?%s&scope=none", q));
	assert_non_null(strstr(a.head, "error=invalid_scope"));
	a = oauth_get(pool_printf(oauth_pool,
		"/oauth/authorize?client_id=%s&redirect_uri=https%%3A%%2F%%2Fevil.example", id));
	assert_int_equal(a.status, 400);
	/* tokens live without the document; one who connects again has it read again */
	testdb_exec(
		"UPDATE oauth_clients SET fetched_at = now() - interval '61 min', title = 'old'");
	assert_int_equal(oauth_refresh(refresh, "").status, 200);
	a = oauth_consent(q, true);
	assert_int_equal(a.status, 404);
	a = connect_get(q);
	assert_string_equal(testweb_get(oauth_pool, &a, "title"), "Documented Editor");
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_clients"), 1);
	assert_int_equal(oauth_consent(q, true).status, 200);
}

static void test_documents_that_are_none(void **state)
{
	static const struct {
		const char *name, *word;
	} cases[] = {
		{"moved", "redirect"},
		{"error", "answers with an error"},
		{"absent", "answers with an error"},
		{"page", "application/json"},
		{"list", "not a JSON object"},
		{"broken", "not a JSON object"},
		{"big", "larger than 32 KiB"},
		{"stranger", "another client_id"},
		{"anonymous", "another client_id"},
		{"secret", "client_secret"},
		{"basic", "token_endpoint_auth_method"},
		{"signed", "token_endpoint_auth_method"},
		{"nowhere", "redirect_uris"},
		{"script", "redirect_uris"},
	};
	struct answer a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refused(document(cases[i].name), cases[i].word);
	assert_int_equal(connect_get(query_of(document("padded"))).status, 200);
	assert_int_equal(connect_get(query_of(document("nameless"))).status, 200);
	a = connect_get(query_of(document("renamed")));
	assert_string_equal(testweb_get(oauth_pool, &a, "title"), "Other Name");
	/* a redirect_uri that is not in it */
	a = connect_get(pool_printf(
		oauth_pool, "client_id=%s&redirect_uri=https://evil.example/cb", document("good")));
	assert_int_equal(a.status, 422);
	assert_non_null(strstr(a.body, "redirect_uri"));
}

static void test_addresses_that_are_none(void **state)
{
	static const char *const bad[] = {"http://localhost:%d/good", "https://localhost:%d",
		"https://localhost:%d/", "https://localhost:%d/?x=/good",
		"https://user@localhost:%d/good", "https://user:pw@localhost:%d/good",
		"https://localhost:%d/x/../good", "https://localhost:%d/./good",
		"https://localhost:%d/%%252e%%252E/good", "https://localhost:%d//good",
		"https://localhost:%d/good%%23x", "https://[::1]:%d/good",
		"HTTPS://localhost:%d/good"};
	struct answer a;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char url[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(url, sizeof(url), bad[i], port);
#pragma GCC diagnostic pop
		a = oauth_get(pool_printf(oauth_pool, "/oauth/authorize?%s", query_of(url)));
		if (a.status != 400)
			fail_msg("%s: %d", url, a.status);
		refused(url, "no such client");
	}
	testweb_config.has_client_documents = 0;
	refused(document("good"), "register instead");
	a = oauth_get("/.well-known/oauth-authorization-server");
	assert_string_equal(
		testweb_get(oauth_pool, &a, "client_id_metadata_document_supported"), "false");
	testweb_config.has_client_documents = 1;
}

static void gate_again(const char *allow, const char *ca)
{
	gatesite_end();
	gate_start(allow, ca);
}

static void test_hosts_that_are_refused(void **state)
{
	static const char *const private[] = {"https://localhost/x", "https://127.0.0.1/x",
		"https://0x7f.1/x", "https://2130706433/x", "https://10.0.0.1/x",
		"https://169.254.169.254/latest/meta-data", "https://100.64.0.1/x",
		"https://0.0.0.0/x", "https://8.8.8.8:8443/x"};

	(void)state;
	for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++)
		refused(private[i], "no public address");
	refused("https://no-such-host.invalid/x", "name leads nowhere");
	/* another port of an excepted address, and the same one where nothing is excepted: the host
	 * hears nothing of either */
	refused(pool_printf(oauth_pool, "https://localhost:%d/x", port_free()),
		"no public address");
	gate_again("", cert_path());
	refused(document("good"), "no public address");
	/* a host that nobody vouches for */
	gate_again(allowed(), "");
	refused(document("good"), "certificate");
	gate_again(allowed(), cert_path());
	assert_int_equal(connect_get(query_of(document("good"))).status, 200);
}

/* What becomes of asking; ERR_NONE: the document came. */
static enum err_code ask(const char *name, struct err *err)
{
	const char *body;
	size_t n;

	return document_ask(&testweb_config, oauth_pool, document(name), &body, &n, err)
		       ? ERR_NONE
		       : err->code;
}

static void test_slow_hosts(void **state)
{
	enum err_code code;
	struct err err;
	pid_t pids[2];
	int status;

	(void)state;
	/* two that hold whoever asks for their time, and no longer */
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		while ((code = ask("slow", &err)) == ERR_BUSY)
			; /* the asking below was faster */
		_exit(code != ERR_UPSTREAM || !strstr(err.msg, "within 5 s"));
	}
	/* a third is told at once that it is not its turn */
	while ((code = ask("good", &err)) == ERR_NONE)
		;
	assert_int_equal(code, ERR_BUSY);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(ask("good", &err), ERR_NONE);
}

/* Connects as this uid, and says whether the gate would serve it. */
static bool is_served(uid_t uid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char answer[16] = "";
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/" DOCUMENT_SOCKET, dir);
		if (setuid(uid) || connect(fd, (struct sockaddr *)&a, sizeof(a)))
			_exit(2);
		(void)send(fd, "https://127.0.0.1/x\n", 20, MSG_NOSIGNAL);
		_exit(recv(fd, answer, sizeof(answer) - 1, 0) > 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static void test_who_may_ask(void **state)
{
	const char *path = pool_printf(pool, "%s/" DOCUMENT_SOCKET, dir);

	(void)state;
	gatesite_end();
	gatesite_program(pool, dir,
		(const char *const[]){pool_printf(pool, "BOX_UID_BASE=%d", GATE_BASE_UID), NULL});
	/* the mode keeps others from it; who gets past that is known by its uid */
	assert_int_equal(chmod(path, 0666), 0);
	assert_true(is_served(GATE_BASE_UID));
	assert_false(is_served(GATE_UID));
	assert_false(is_served(GATE_BASE_UID + 1));
	assert_false(is_served(0));
	gate_again(allowed(), cert_path());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, oauthclient_fresh, oauthclient_over)
	const struct CMUnitTest tests[] = {
		TEST(test_the_whole_way),
		TEST(test_documents_that_are_none),
		TEST(test_addresses_that_are_none),
		TEST(test_hosts_that_are_refused),
		TEST(test_slow_hosts),
		TEST(test_who_may_ask),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
