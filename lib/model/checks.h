#pragma once
/*
 * What a test runner said in its output, as numbers: TAP, JUnit XML, pytest's own text, node:test
 * (its TAP and its `spec` text) and `go test -json` are known. Fed with stdout as it comes, in any
 * pieces; memory is bounded whatever comes. It says what the program claimed, not what is true: the
 * exit code is the kernel's word, this is the box's.
 *
 *	struct checks *checks = checks_new();
 *	checks_feed(checks, data, n);		each piece of stdout
 *	json = checks_json(checks, pool);	NULL: nothing known was seen
 *	checks_free(checks);
 *
 * The JSON (EXEC.checks): {"framework":"pytest","passed":12,"failed":1,"skipped":0,
 * "failures":[{"name":"..","message":".."}]}: the first CHECKS_FAILURES_MAX failures, their texts
 * cut and made safe to show. A test that was expected to fail counts as skipped, a TAP plan that
 * was not kept and a Go package that did not build as one failed.
 */
#include <stddef.h>

#define CHECKS_FAILURES_MAX 20
#define CHECKS_NAME_MAX 200
#define CHECKS_MESSAGE_MAX 500

struct checks;
struct pool;

struct checks *checks_new(void);
void checks_free(struct checks *c); /* NULL is fine */
void checks_feed(struct checks *c, const void *data, size_t n);
/* Ends the input. One JSON object in the pool, or NULL. */
const char *checks_json(struct checks *c, struct pool *pool);
