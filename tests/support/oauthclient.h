#pragma once
/*
 * A client that wants to be connected, in memory: its registration, its request, a person's answer,
 * and what it gets for that; and who the door takes its token for. All memory is the pool of the
 * running test (oauthclient_fresh, oauthclient_over).
 */
#include <stdbool.h>

#include "access.h"
#include "testweb.h"

#define FORM "Content-Type: application/x-www-form-urlencoded"
#define ADDRESS "REMOTE_ADDR=192.0.2.40"
#define CALLBACK "http://127.0.0.1:4000/callback"
#define CALLBACK_QUERY "http%3A%2F%2F127.0.0.1%3A4000%2Fcallback"
#define RESOURCE TESTWEB_URL "/mcp"
#define RESOURCE_QUERY "http%3A%2F%2F127.0.0.1%3A8380%2Fmcp"
/* RFC 7636, appendix B */
#define VERIFIER "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define CHALLENGE "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

extern struct pool *oauth_pool;
extern const char *oauth_client_id; /* of the client that query registers; NULL: none yet */

/* cmocka's: a pool of its own and no rows for each test. */
int oauthclient_fresh(void **state);
int oauthclient_over(void **state);

struct answer oauth_post(const char *path, const char *type, const char *body);
struct answer oauth_get(const char *url);
/* Registers a client; its id. */
const char *oauth_register_client(void);
/* The query of a good request, with more behind it. */
const char *oauth_query(const char *more);
/* A person's answer to it; and the code of a yes. */
struct answer oauth_consent(const char *query, bool allow);
const char *oauth_code_of(const char *query);
/* The code for tokens, in other words and well. */
struct answer oauth_exchange(const char *code, const char *verifier, const char *redirect,
	const char *client, const char *resource);
struct answer oauth_exchange_well(const char *code);
struct answer oauth_refresh(const char *token, const char *more);
/* Who the door takes a token for, at an address. */
enum caller_kind oauth_who(const char *token, const char *url, enum scope *scope);
/* The answer is this error of the standard. */
void oauth_assert_error(const struct answer *a, int status, const char *word);
