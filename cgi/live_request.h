#pragma once
/*
 * One request of asb-live as libfcgi parsed it, copied out before the connection is taken over, and
 * answers that are whole at once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "request.h"

struct buf;
struct conn;
struct live;

struct live_request {
	struct request rq;
	int id; /* FastCGI request id */
	const char *last_event_id;
	struct caller caller;
	int64_t retry_s; /* when a refused caller may try again; 0: nothing said */
};

/* envp: libfcgi's, copied into the pool. */
bool live_request_init(
	struct live_request *lr, struct pool *pool, int id, char **envp, struct err *err) NODISCARD;
/* Appends the head of a stream. */
void live_stream_head(const struct live *live, const struct live_request *lr, struct buf *out);
/* Sends a whole JSON answer and ends it. False: the client is gone. */
bool live_answer(const struct live *live, struct conn *c, int status, const char *json) NODISCARD;
/* The same for an error; retry_s > 0: Retry-After. */
bool live_answer_err(const struct live *live, struct conn *c, const char *request_id,
	int64_t retry_s, const struct err *err) NODISCARD;
/* Answers err on a descriptor that became nothing else; takes fd over. */
void live_refuse(struct live *live, const struct live_request *lr, int fd, const struct err *err);
