/*
 * Documents of clients, read from hosts that the site does not know. The address that is checked is
 * the one that is connected to, whatever names say a moment later: the check stands where libcurl
 * opens its socket. A redirect is not followed, nothing is kept between two documents, and an end
 * comes after DOCUMENT_MS whatever the other side does.
 */
#include "documents.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <curl/curl.h>

#include "address.h"
#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "confine.h"
#include "document.h"
#include "log.h"
#include "pool.h"
#include "sockpeer.h"

#define ASK_S 2 /* what asb-web may take to say its line */

struct fetch {
	const struct config *cfg;
	struct buf body;
	bool not_public;
};

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct fetch *f = arg;
	struct sockaddr_storage a = {0};

	if (purpose != CURLSOCKTYPE_IPCXN || to->addrlen > sizeof(a))
		return CURL_SOCKET_BAD;
	memcpy(&a, (const char *)to + offsetof(struct curl_sockaddr, addr), to->addrlen);
	if (!address_may_be_named((const struct sockaddr *)&a, f->cfg->private_allow)) {
		f->not_public = true;
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;

	return buf_add(&f->body, data, size * n) ? size * n : 0;
}

static bool is_json(const char *type)
{
	static const char json[] = "application/json";

	return type && !strncasecmp(type, json, sizeof(json) - 1) &&
	       strchr("; \t", type[sizeof(json) - 1]);
}

/* NULL, or why there is no document: what follows "its document". */
static const char *verdict(CURL *e, CURLcode code, const struct fetch *f)
{
	char *type = NULL;
	long status = 0;

	(void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(e, CURLINFO_CONTENT_TYPE, &type);
	if (code != CURLE_OK && f->not_public)
		return "is on no public address at the port of https; a client's name never leads "
		       "the site elsewhere, but where EGRESS_PRIVATE_ALLOW says so";
	if (code == CURLE_OPERATION_TIMEDOUT)
		return "did not come within 5 s";
	if (f->body.failed)
		return "is larger than 32 KiB";
	if (code == CURLE_COULDNT_RESOLVE_HOST)
		return "is on a host whose name leads nowhere from here";
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return "is on a host whose certificate is not good";
	if (code != CURLE_OK)
		return "is on a host that cannot be reached from here";
	if (status >= 300 && status < 400)
		return "is a redirect, which is not followed";
	if (status != 200)
		return "is not there: its host answers with an error";
	return is_json(type) ? NULL : "is not of type application/json";
}

static const char *fetch(struct fetch *f, const char *url)
{
	CURL *e = curl_easy_init();
	struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");

	if (!e)
		return "cannot be read: no memory";
	(void)curl_easy_setopt(e, CURLOPT_URL, url);
	(void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "https");
	(void)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(e, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(e, CURLOPT_USERAGENT, "agent-sandbox");
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)DOCUMENT_MS);
	(void)curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	(void)curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, f);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, f);
	if (*f->cfg->ca_file)
		(void)curl_easy_setopt(e, CURLOPT_CAINFO, f->cfg->ca_file);
	/* the process ends with its document: nothing is cleaned up, which could wait for a name */
	return verdict(e, curl_easy_perform(e), f);
}

static bool question(int fd, char *url, size_t size)
{
	const struct timeval limit = {.tv_sec = ASK_S};
	size_t n = 0;
	ssize_t got;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while (n < size) {
		got = recv(fd, url + n, size - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
		if (url[n - 1] == '\n') {
			url[n - 1] = '\0';
			return true;
		}
	}
	return false;
}

static void answer(int fd, const char *word, const char *data, size_t n)
{
	CLEANUP(buf) struct buf b = BUF_INIT(DOCUMENT_MAX + 64);

	(void)buf_addf(&b, "%s\n", word);
	(void)buf_add(&b, data, n);
	for (ssize_t sent = 0; b.len; buf_shift(&b, (size_t)sent)) {
		sent = send(fd, b.data, b.len, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
	}
}

/* One document, in a process that ends with it. */
static void serve(const struct config *cfg, int fd)
{
	struct fetch f = {.cfg = cfg, .body = BUF_INIT(DOCUMENT_MAX)};
	char url[DOCUMENT_URL_MAX + 2];
	const char *why, *sentence;

	(void)alarm(ASK_S + DOCUMENT_MS / 1000 + 1);
	if (!question(fd, url, sizeof(url)))
		return;
	why = fetch(&f, url);
	log_info("document=%s %s", log_quote(url), why ? why : "read");
	if (!why) {
		answer(fd, "ok", f.body.data, f.body.len);
		return;
	}
	sentence = pool_printf(pool_new(), "its document %s", why);
	answer(fd, "no", sentence, strlen(sentence));
}

static void accept_one(const struct config *cfg, int listener, int *alive)
{
	static const char busy[] = "other clients' documents are being read";
	CLEANUP(fd) int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	uid_t web = cfg->uid_base ? (uid_t)cfg->uid_base : getuid();
	char url[DOCUMENT_URL_MAX + 2];
	pid_t pid;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		--*alive;
	if (fd < 0 || socket_peer(fd) != web)
		return;
	if (*alive >= DOCUMENTS_AT_ONCE) {
		/* closed with words unread, it would be an error at the other end */
		if (question(fd, url, sizeof(url)))
			answer(fd, "busy", busy, sizeof(busy) - 1);
		return;
	}
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		serve(cfg, fd);
		_exit(0);
	}
	*alive += pid > 0;
}

/* Of the site's group, which asb-web is in. */
static bool socket_open(struct pool *pool, const struct config *cfg, int *out, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *path = pool_printf(pool, "%s/" DOCUMENT_SOCKET, cfg->run_dir);
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(err, ERR_INVALID, "%s: too long for a socket", path);
	memcpy(a.sun_path, path, strlen(path));
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(path, 0660) ||
		listen(fd, 16))
		return err_errno(err, ERR_INTERNAL, "%s", path);
	*out = STEAL_FD(fd);
	return true;
}

bool documents_start(const struct config *cfg, pid_t *pid, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(fd) int fd = -1;
	pid_t parent = getpid();
	int alive = 0;

	*pid = 0;
	if (!cfg->has_client_documents)
		return true;
	if (!address_list_check(cfg->private_allow, err) || !socket_open(pool, cfg, &fd, err))
		return false;
	*pid = fork();
	if (*pid < 0)
		return err_errno(err, ERR_INTERNAL, "fork");
	if (*pid)
		return true;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != parent)
		_exit(1);
	log_init("documents", LOG_INFO);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !confine(CONFINE_INET, err)) {
		log_error("%s", err->msg);
		_exit(1);
	}
	for (;;)
		accept_one(cfg, fd, &alive);
}
