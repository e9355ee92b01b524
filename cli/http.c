/*
 * HTTP for the CLI: one libcurl easy handle, used for one request after the other. Redirects are
 * not followed and only http and https are spoken, so that the token goes nowhere else.
 */
#include "http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"

#define CONNECT_TIMEOUT_MS 10000L
#define CALL_TIMEOUT_MS 120000L /* the longest wait a site offers is 50 s */
#define UPLOAD_TIMEOUT_MS 900000L
#define ERROR_BODY_MAX (64u * 1024)

struct http {
	CURL *curl;
	char *url;
	char *auth; /* the header line, or NULL */
	long call_ms;
	http_tick_fn *tick;
	void *tick_arg;
};

/* One request and where its answer goes. */
struct exchange {
	struct http *http;
	struct buf *out;
	struct buf refusal; /* the body where the status is not 2xx */
	http_stream_fn *fn; /* set: the body of a 2xx goes there */
	void *fn_arg;
	bool ended_by_fn;
	int fd; /* body being sent */
	int64_t left;
};

struct http *http_new(const char *url, const char *token)
{
	struct http *h = mem_alloc(sizeof(*h));
	size_t n = strlen(url);

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	*h = (struct http){
		.curl = curl_easy_init(), .url = mem_strdup(url), .call_ms = CALL_TIMEOUT_MS};
	if (!h->curl)
		abort();
	while (n && h->url[n - 1] == '/')
		h->url[--n] = '\0';
	if (*token) {
		size_t size = strlen(token) + sizeof("Authorization: Bearer ");

		h->auth = mem_alloc(size);
		(void)snprintf(h->auth, size, "Authorization: Bearer %s", token);
	}
	return h;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	curl_global_cleanup();
	free(h->auth);
	free(h->url);
	free(h);
}

void http_hurry(struct http *h, int64_t ms)
{
	h->call_ms = (long)ms;
}

const char *http_url(const struct http *h)
{
	return h->url;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	long status = 0;

	n *= size;
	(void)curl_easy_getinfo(x->http->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299) {
		(void)buf_add(&x->refusal, data, n);
		return n;
	}
	if (!x->fn)
		return buf_add(x->out, data, n) ? n : 0;
	if (x->fn(x->fn_arg, data, n))
		return n;
	x->ended_by_fn = true;
	return 0;
}

static size_t on_send(char *data, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	ssize_t got;

	n *= size;
	if ((int64_t)n > x->left)
		n = (size_t)x->left;
	do
		got = read(x->fd, data, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return CURL_READFUNC_ABORT;
	x->left -= got;
	return (size_t)got;
}

static enum err_code code_of(const char *name, long status)
{
	for (int c = ERR_INVALID; c < ERR_CODE__COUNT; c++)
		if (name && strcmp(err_info((enum err_code)c)->name, name) == 0)
			return (enum err_code)c;
	for (int c = ERR_INVALID; c < ERR_CODE__COUNT; c++)
		if (err_info((enum err_code)c)->http == status)
			return (enum err_code)c;
	return status >= 500 ? ERR_UPSTREAM : ERR_INVALID;
}

/* The site's {"error":{..}}, or the bare status where a proxy answered. Always false. */
static bool refused(const char *path, long status, const struct buf *body, struct err *err)
{
	CLEANUP(json) struct json_object *root = NULL;
	struct json_object *e = NULL, *context = NULL;
	const char *code = NULL, *message = NULL, *fix = NULL, *reason = NULL;
	struct err ignored;

	if (json_parse(body->data, body->len, &root, &ignored))
		e = json_get(root, "error");
	if (!e || !json_get_text(e, "message", &message))
		return err_set(err, code_of(NULL, status), "%.*s: the site answered %ld",
			(int)strcspn(path, "?"), path, status);
	(void)json_get_text(e, "code", &code);
	(void)json_get_text(e, "fix", &fix);
	context = json_get(e, "context");
	if (context)
		(void)json_get_text(context, "reason", &reason);
	(void)err_set(err, code_of(code, status), "%s", message);
	return err_advise(err, reason, err->code == ERR_UNAUTHENTICATED ? HTTP_LOGIN_FIX : fix);
}

/* The connection, not the site, is what failed. */
static void broken(const struct http *h, CURLcode rc, const char *why, struct err *err)
{
	(void)err_set(err, rc == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_BUSY, "%s: %s",
		h->url, *why ? why : curl_easy_strerror(rc));
	if (rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST)
		(void)err_advise(err, REASON_UNREACHABLE,
			"is the site running? On its host: deploy/stack status, deploy/stack up");
}

static bool perform(
	struct exchange *x, const char *path, struct curl_slist *headers, struct err *err)
{
	CURL *c = x->http->curl;
	CLEANUP(free) char *url = NULL;
	size_t size = strlen(x->http->url) + strlen(path) + 1;
	char why[CURL_ERROR_SIZE] = "";
	long status = 0;
	CURLcode rc;

	url = mem_alloc(size);
	(void)snprintf(url, size, "%s%s", x->http->url, path);
	(void)curl_easy_setopt(c, CURLOPT_URL, url);
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "asb");
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	buf_init(&x->refusal, ERROR_BODY_MAX);
	rc = curl_easy_perform(c);
	(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_reset(c);
	if (rc == CURLE_OK && (status < 200 || status > 299))
		(void)refused(path, status, &x->refusal, err);
	else if (rc != CURLE_OK && !x->ended_by_fn)
		broken(x->http, rc, why, err);
	buf_done(&x->refusal);
	return x->ended_by_fn || (rc == CURLE_OK && status >= 200 && status <= 299);
}

static struct curl_slist *headers_new(const struct http *h, const char *line)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	if (h->auth)
		list = curl_slist_append(list, h->auth);
	if (line)
		list = curl_slist_append(list, line);
	if (!list)
		abort();
	return list;
}

bool http_get(struct http *h, const char *path, struct buf *out, struct err *err)
{
	struct exchange x = {.http = h, .out = out};
	struct curl_slist *headers = headers_new(h, NULL);
	bool ok;

	(void)curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, h->call_ms);
	ok = perform(&x, path, headers, err);
	curl_slist_free_all(headers);
	return ok;
}

static bool parse_reply(
	const char *path, const struct buf *body, struct json_object **out, struct err *err)
{
	if (!json_parse(body->data, body->len, out, err))
		return err_wrap(err, "%.*s: the site's answer", (int)strcspn(path, "?"), path);
	return true;
}

bool http_get_json(struct http *h, const char *path, struct json_object **out, struct err *err)
{
	CLEANUP(buf) struct buf body = BUF_INIT(HTTP_REPLY_MAX);

	return http_get(h, path, &body, err) && parse_reply(path, &body, out, err);
}

bool http_post_json(struct http *h, const char *path, const char *text, struct json_object **out,
	struct err *err)
{
	CLEANUP(buf) struct buf body = BUF_INIT(HTTP_REPLY_MAX);
	struct exchange x = {.http = h, .out = &body};
	struct curl_slist *headers = headers_new(h, "Content-Type: application/json");
	bool ok;

	(void)curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, h->call_ms);
	(void)curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
	(void)curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, text);
	ok = perform(&x, path, headers, err);
	curl_slist_free_all(headers);
	return ok && parse_reply(path, &body, out, err);
}

bool http_post_file(struct http *h, const char *path, const char *type, int fd, int64_t size,
	struct json_object **out, struct err *err)
{
	CLEANUP(buf) struct buf body = BUF_INIT(HTTP_REPLY_MAX);
	struct exchange x = {.http = h, .out = &body, .fd = fd, .left = size};
	struct curl_slist *headers;
	char line[128];
	bool ok;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(err, ERR_INTERNAL, "upload: seek");
	(void)snprintf(line, sizeof(line), "Content-Type: %s", type);
	headers = headers_new(h, line);
	(void)curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, UPLOAD_TIMEOUT_MS);
	(void)curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	(void)curl_easy_setopt(h->curl, CURLOPT_READFUNCTION, on_send);
	(void)curl_easy_setopt(h->curl, CURLOPT_READDATA, &x);
	ok = perform(&x, path, headers, err);
	curl_slist_free_all(headers);
	return ok && parse_reply(path, &body, out, err);
}

void http_on_tick(struct http *h, http_tick_fn *fn, void *arg)
{
	h->tick = fn;
	h->tick_arg = arg;
}

bool http_tick(struct http *h)
{
	return !h->tick || h->tick(h->tick_arg);
}

static int on_tick(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct exchange *x = arg;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	if (http_tick(x->http))
		return 0;
	x->ended_by_fn = true;
	return 1;
}

bool http_stream(struct http *h, const char *path, const char *last_event_id, int silent_s,
	http_stream_fn *fn, void *arg, struct err *err)
{
	struct exchange x = {.http = h, .fn = fn, .fn_arg = arg};
	struct curl_slist *headers;
	char line[160];
	bool ok;

	(void)snprintf(line, sizeof(line), "Last-Event-ID: %s", last_event_id);
	headers = headers_new(h, *last_event_id ? line : NULL);
	if (h->tick) {
		(void)curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
		(void)curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, on_tick);
		(void)curl_easy_setopt(h->curl, CURLOPT_XFERINFODATA, &x);
	}
	(void)curl_easy_setopt(h->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(h->curl, CURLOPT_LOW_SPEED_TIME, (long)silent_s);
	ok = perform(&x, path, headers, err);
	curl_slist_free_all(headers);
	return ok;
}
