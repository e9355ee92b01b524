/*
 * Pools: a list of blocks and deferred calls, freed together. Does nothing clever on purpose.
 */
#include "pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block's header; the memory handed out follows it, aligned as malloc aligns. */
struct block {
	struct block *next;
	void (*fn)(void *arg); /* set: a deferred call, no memory behind it */
	void *arg;
	size_t pad;
};

struct pool {
	struct block *head;
};

static void oom(size_t size)
{
	(void)fprintf(stderr, "error out of memory size=%zu\n", size);
	abort();
}

void *mem_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		oom(size);
	return p;
}

void *mem_realloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);

	if (!q)
		oom(size);
	return q;
}

char *mem_strdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(mem_alloc(n), s, n);
}

struct pool *pool_new(void)
{
	return mem_alloc(sizeof(struct pool));
}

void pool_free(struct pool *pool)
{
	struct block *b, *next;

	if (!pool)
		return;
	for (b = pool->head; b; b = b->next)
		if (b->fn)
			b->fn(b->arg);
	for (b = pool->head; b; b = next) {
		next = b->next;
		free(b);
	}
	free(pool);
}

void cleanup_pool(struct pool **pool)
{
	pool_free(*pool);
}

static struct block *block_add(struct pool *pool, size_t size)
{
	struct block *b;

	if (size > SIZE_MAX - sizeof(*b))
		oom(size);
	b = mem_alloc(sizeof(*b) + size);
	b->next = pool->head;
	pool->head = b;
	return b;
}

void *pool_alloc(struct pool *pool, size_t size)
{
	return block_add(pool, size ? size : 1) + 1;
}

char *pool_memdup(struct pool *pool, const void *data, size_t n)
{
	char *p = pool_alloc(pool, n + 1);

	if (n)
		memcpy(p, data, n);
	return p;
}

char *pool_strdup(struct pool *pool, const char *s)
{
	return pool_memdup(pool, s, strlen(s));
}

char *pool_printf(struct pool *pool, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		oom(0);
	p = pool_alloc(pool, (size_t)n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void pool_defer(struct pool *pool, void (*fn)(void *arg), void *arg)
{
	struct block *b = block_add(pool, 0);

	b->fn = fn;
	b->arg = arg;
}
