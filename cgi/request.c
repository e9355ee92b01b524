/*
 * Reading a request. Parsing HTTP is nginx's; what is left is picking the parameters, checking what
 * the rest of the program relies on, and reading the body no further than it said it goes.
 */
#include "request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "pool.h"
#include "random.h"
#include "text.h"

/* A parameter's value; "" where it is absent. */
static const char *param(char **params, const char *name)
{
	size_t n = strlen(name);

	for (; params && *params; params++)
		if (!strncmp(*params, name, n) && (*params)[n] == '=')
			return *params + n + 1;
	return "";
}

static bool is_request_id(const char *s)
{
	size_t n = strlen(s);

	return n >= 8 && n <= 64 && text_is_name(s);
}

static const char *make_id(struct pool *pool)
{
	char id[ID_SIZE];

	random_id(id, sizeof(id), "rq-", 16);
	return pool_strdup(pool, id);
}

bool request_init(struct request *rq, struct pool *pool, char **params, request_read_fn *read,
	void *arg, struct err *err)
{
	const char *length = param(params, "CONTENT_LENGTH");

	*rq = (struct request){
		.pool = pool,
		.method = param(params, "REQUEST_METHOD"),
		.path = param(params, "DOCUMENT_URI"),
		.query = param(params, "QUERY_STRING"),
		.content_type = param(params, "CONTENT_TYPE"),
		.address = param(params, "REMOTE_ADDR"),
		.id = param(params, "REQUEST_ID"),
		.host = param(params, "HTTP_HOST"),
		.origin = param(params, "HTTP_ORIGIN"),
		.fetch_site = param(params, "HTTP_SEC_FETCH_SITE"),
		.authorization = param(params, "HTTP_AUTHORIZATION"),
		.cookie = param(params, "HTTP_COOKIE"),
		.csrf = param(params, "HTTP_X_CSRF_TOKEN"),
		.idempotency_key = param(params, "HTTP_IDEMPOTENCY_KEY"),
		.mcp_version = param(params, "HTTP_MCP_PROTOCOL_VERSION"),
		.mcp_method = param(params, "HTTP_MCP_METHOD"),
		.mcp_name = param(params, "HTTP_MCP_NAME"),
		.user_agent = param(params, "HTTP_USER_AGENT"),
		.forwarded =
			*param(params, "HTTP_FORWARDED") || *param(params, "HTTP_X_FORWARDED_FOR"),
		.params = params,
		.read = read,
		.arg = arg,
	};
	if (!is_request_id(rq->id))
		rq->id = make_id(pool);
	if (*length && !text_to_i64(length, 0, INT64_MAX, &rq->content_length))
		return err_set(err, ERR_MALFORMED, "bad Content-Length");
	return true;
}

bool request_read(struct request *rq, char *to, size_t n, size_t *got, struct err *err)
{
	int64_t left = rq->content_length - rq->got;
	long r;

	if ((int64_t)n > left)
		n = (size_t)left;
	if (!n) {
		*got = 0;
		return true;
	}
	r = rq->read(rq->arg, to, n);
	if (r <= 0)
		return err_set(err, ERR_MALFORMED, "the body is shorter than its Content-Length");
	rq->got += r;
	*got = (size_t)r;
	return true;
}

bool request_body(struct request *rq, size_t max, const char **body, size_t *n, struct err *err)
{
	size_t size, at = 0, got;
	char *to;

	if (rq->content_length > (int64_t)max)
		return err_set(err, ERR_TOO_LARGE, "the body has %lld bytes, more than %zu",
			(long long)rq->content_length, max);
	size = (size_t)rq->content_length;
	to = pool_alloc(rq->pool, size + 1);
	while (at < size) {
		if (!request_read(rq, to + at, size - at, &got, err))
			return false;
		at += got;
	}
	*body = to;
	*n = size;
	return true;
}

const char *request_cookie(const struct request *rq, const char *name)
{
	size_t n = strlen(name);
	const char *found = NULL, *p = rq->cookie;

	while (*p) {
		size_t len;

		p += strspn(p, "; ");
		len = strcspn(p, ";");
		if (len > n && !strncmp(p, name, n) && p[n] == '=') {
			if (found)
				return NULL;
			found = pool_memdup(rq->pool, p + n + 1, len - n - 1);
		}
		p += len;
	}
	return found;
}

const char *request_param(const struct request *rq, const char *name)
{
	return param(rq->params, name);
}

bool request_has_type(const struct request *rq, const char *type)
{
	size_t n = strlen(type);
	const char *rest = rq->content_type + n;

	if (strncasecmp(rq->content_type, type, n))
		return false;
	rest += strspn(rest, " \t");
	return !*rest || *rest == ';';
}

struct memory {
	const char *data;
	size_t n;
};

static long read_memory(void *arg, char *to, size_t n)
{
	struct memory *m = arg;

	if (n > m->n)
		n = m->n;
	memcpy(to, m->data, n);
	m->data += n;
	m->n -= n;
	return (long)n;
}

/* "Content-Type: x" as nginx sends it: CONTENT_TYPE=x, others with HTTP_ before. */
static char *header_param(struct pool *pool, const char *header)
{
	size_t n = strcspn(header, ":");
	const char *value = header + n + (header[n] == ':');
	char *p;

	value += strspn(value, " ");
	p = pool_printf(pool, "%s%.*s=%s", strncasecmp(header, "content-", 8) ? "HTTP_" : "",
		(int)n, header, value);
	for (char *c = p; *c != '='; c++)
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	return p;
}

bool request_from_memory(struct request *rq, struct pool *pool, const char *method, const char *url,
	const char *const *headers, const char *body, size_t n, struct err *err)
{
	struct memory *m = POOL_NEW(pool, struct memory);
	size_t nheaders = 0, path = strcspn(url, "?"), i = 0;
	bool has_address = false;
	char **params;

	while (headers[nheaders])
		nheaders++;
	params = POOL_ARRAY(pool, char *, nheaders + 7);
	params[i++] = pool_printf(pool, "REQUEST_METHOD=%s", method);
	params[i++] = pool_printf(pool, "DOCUMENT_URI=%.*s", (int)path, url);
	params[i++] = pool_printf(pool, "QUERY_STRING=%s", url[path] ? url + path + 1 : "");
	for (size_t k = 0; k < nheaders; k++) {
		if (text_has_prefix(headers[k], "REMOTE_ADDR=")) {
			params[i++] = pool_strdup(pool, headers[k]);
			has_address = true;
		} else {
			params[i++] = header_param(pool, headers[k]);
		}
	}
	if (!has_address)
		params[i++] = pool_strdup(pool, "REMOTE_ADDR=127.0.0.1");
	params[i++] = pool_printf(pool, "CONTENT_LENGTH=%zu", n);
	*m = (struct memory){.data = body, .n = n};
	return request_init(rq, pool, params, read_memory, m, err);
}
