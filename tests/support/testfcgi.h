#pragma once
/*
 * A FastCGI client that plays nginx's part: one request on a unix socket, and all of its answer.
 */
#include <stddef.h>

struct pool;

struct fcgi_answer {
	const char *text; /* NULL: no answer, or one that broke off before its end */
	size_t n;
	int status; /* of the Status line; 200 where there is none; 0 without an answer */
};

/* Milliseconds between connecting and asking, as of an nginx that waits for a processor. */
extern int testfcgi_pause_ms;

/* headers: "NAME=value" parameters beside method, path and length; ended by NULL. */
struct fcgi_answer testfcgi_ask(struct pool *pool, const char *socket_path, const char *method,
	const char *url, const char *const *params, const char *body, size_t n);
