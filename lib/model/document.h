#pragma once
/*
 * Documents by which clients describe themselves (client-id metadata documents): asb-web asks
 * asb-gate for one, since only that reaches other hosts. Over the socket DOCUMENT_SOCKET of
 * ASB_RUN_DIR goes the address and a line's end; back come "ok", a line's end and the document, or
 * "no" or "busy", a line's end and a sentence.
 */
#include <stddef.h>

#include "err.h"

struct config;
struct pool;

#define DOCUMENT_SOCKET "documents.sock"
#define DOCUMENT_URL_MAX 500	     /* bytes */
#define DOCUMENT_MAX ((size_t)32768) /* bytes: no more than a client may send that registers */
#define DOCUMENT_MS 5000	     /* from the question to the last byte */
#define DOCUMENTS_AT_ONCE 2	     /* each holds a process of asb-web until it is read */

/* The document's bytes as they came, in the pool. ERR_UPSTREAM: a sentence why there are none;
 * ERR_BUSY: others are being read, or the gate is not there. Takes DOCUMENT_MS and 2 s at most. */
bool document_ask(const struct config *cfg, struct pool *pool, const char *url, const char **out,
	size_t *n, struct err *err) NODISCARD;
