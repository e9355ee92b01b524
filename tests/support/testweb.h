#pragma once
/*
 * The web side without nginx: requests in memory through router_serve, against a test database.
 */
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "site.h"

struct pool;

#define TESTWEB_TOKEN "test-operator-token-0123456789"
#define TESTWEB_URL "http://127.0.0.1:8380"
#define BEARER "Authorization: Bearer " TESTWEB_TOKEN
#define HOST "Host: 127.0.0.1:8380"
#define JSON "Content-Type: application/json"

struct answer {
	int status;
	const char *head; /* all header lines as sent */
	const char *body; /* NUL-terminated */
	size_t body_n;
	const char *internal; /* X-Accel-Redirect's target; NULL: none */
};

/* Settings to be changed by tests; the site for them on a connection as asb_web. */
extern struct config testweb_config;
struct site *testweb_site(void);
void testweb_done(void);
/* cmocka's: the same after all tests; and after one whose set-up left its pool in *state. */
int testweb_end(void **state);
int testweb_drop_pool(void **state);

/* headers ends with NULL. Everything lives in the pool. */
struct answer testweb_ask(struct pool *pool, const char *method, const char *url,
	const char *const *headers, const char *body, size_t n);
/* As the operator; body NULL: none, otherwise JSON. */
struct answer testweb_operator(
	struct pool *pool, const char *method, const char *url, const char *body);
/* One message of MCP 2026-07-28, id 1, with the headers that it must have. */
struct testweb_mcp {
	const char *bearer;	  /* header line; NULL: the operator's */
	const char *method;	  /* NULL: tools/call */
	const char *name;	  /* what Mcp-Name repeats; NULL: nothing */
	const char *capabilities; /* members of the client's; NULL: none */
	const char *params;	  /* members, but for _meta */
};
struct answer testweb_mcp(struct pool *pool, const struct testweb_mcp *what);
/* A run of the operator's that waits for an answer to "which colour?"; *question is its number. */
const char *testweb_waiting_run(struct pool *pool, int64_t *question);
/* A member of a flat place in the answer's JSON, as text: "error.code". "" where there is none. */
const char *testweb_get(struct pool *pool, const struct answer *a, const char *path);
/* Signs in: the Cookie header line and the CSRF token's header line. */
void testweb_sign_in(struct pool *pool, const char **cookie, const char **csrf);
