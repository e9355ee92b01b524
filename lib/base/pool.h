#pragma once
/*
 * Everything a request or a job makes lives in its pool and dies with it. The pool is a list of
 * mallocs, not a bump arena, so that ASan and valgrind see each block. Out of memory ends the
 * process with a line; no caller checks for NULL.
 */
#include <stddef.h>

#include "err.h"

struct pool;

struct pool *pool_new(void);
/* Runs the deferred calls, newest first, then frees every block. NULL is fine. */
void pool_free(struct pool *pool);
void cleanup_pool(struct pool **pool); /* CLEANUP(pool) struct pool *pool = pool_new(); */

/* Zeroed memory of `size` bytes (at least 1). */
void *pool_alloc(struct pool *pool, size_t size) RETURNS_NONNULL;
char *pool_strdup(struct pool *pool, const char *s);
/* Copies n bytes and ends them with a NUL that is not counted. */
char *pool_memdup(struct pool *pool, const void *data, size_t n);
char *pool_printf(struct pool *pool, const char *fmt, ...) PRINTF(2, 3);
/* Calls fn(arg) when the pool goes. */
void pool_defer(struct pool *pool, void (*fn)(void *arg), void *arg);

#define POOL_NEW(pool, type) ((type *)pool_alloc((pool), sizeof(type)))
#define POOL_ARRAY(pool, type, n) ((type *)pool_alloc((pool), sizeof(type) * (n)))

/* malloc that ends the process when there is none; for what outlives any pool. */
void *mem_alloc(size_t size) RETURNS_NONNULL;
void *mem_realloc(void *p, size_t size) RETURNS_NONNULL;
char *mem_strdup(const char *s) RETURNS_NONNULL;
