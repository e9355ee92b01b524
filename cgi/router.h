#pragma once
/*
 * From a request to its answer: finds the action by path and method and does around it what is the
 * same for all: Host and Origin, who asks, CSRF, body and fields, transaction, Idempotency-Key,
 * audit, the error's shape, and one log line.
 */
struct request;
struct response;
struct site;

/* Largest JSON body, bytes. */
#define ROUTER_BODY_MAX (8u << 20)

/* Fills rs, which is initialised; always answers. */
void router_serve(const struct site *site, struct request *rq, struct response *rs);
