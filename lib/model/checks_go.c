/*
 * `go test -json`: one JSON object a line. What a test printed is kept while it runs, since that is
 * the message of its failure.
 */
#include <stdlib.h>
#include <string.h>

#include "checks_read.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

static struct checks_go_test *test_find(struct checks *c, const char *key)
{
	for (size_t i = 0; i < CHECKS_GO_OPEN; i++)
		if (c->go.open[i].key && !strcmp(c->go.open[i].key, key))
			return &c->go.open[i];
	return NULL;
}

static void test_drop(struct checks_go_test *t)
{
	free(t->key);
	t->key = NULL;
	buf_done(&t->said);
}

static struct checks_go_test *test_open(struct checks *c, const char *key)
{
	struct checks_go_test *t = test_find(c, key);

	for (size_t i = 0; !t && i < CHECKS_GO_OPEN; i++)
		if (!c->go.open[i].key)
			t = &c->go.open[i];
	if (!t) {
		t = &c->go.open[c->go.next++ % CHECKS_GO_OPEN];
		test_drop(t);
	}
	if (!t->key) {
		t->key = mem_strdup(key);
		buf_init(&t->said, CHECKS_MESSAGE_MAX);
	}
	return t;
}

/* What says nothing of why it failed is not kept. */
static void output_keep(struct checks *c, const char *key, const char *text)
{
	struct checks_go_test *t;
	size_t n = strlen(text);
	const char *s = text + strspn(text, " \t");

	if (text_has_prefix(s, "=== ") || text_has_prefix(s, "--- ") || !*s || *s == '\n')
		return;
	t = test_open(c, key);
	if (n > CHECKS_MESSAGE_MAX - t->said.len)
		n = CHECKS_MESSAGE_MAX - t->said.len;
	(void)buf_add(&t->said, text, n);
}

static bool package_has_failed(struct checks *c, const char *package)
{
	size_t n = c->go.nfailed < CHECKS_GO_OPEN ? c->go.nfailed : CHECKS_GO_OPEN;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c->go.failed[i], package))
			return true;
	return false;
}

static void fail_keep(struct checks *c, const char *package, const char *test, const char *key)
{
	struct checks_go_test *t = test_find(c, key);
	struct checks_tally *sum = &c->tallies[CHECKS_GO];
	const char *name = test ? test : package;

	/* that a package failed is news only where none of its tests did: it was not built */
	if (!test && package_has_failed(c, package))
		return;
	sum->failed++;
	if (test && !package_has_failed(c, package))
		c->go.failed[c->go.nfailed++ % CHECKS_GO_OPEN] = pool_strdup(c->pool, package);
	(void)checks_fail(
		c, CHECKS_GO, name, strlen(name), t ? t->said.data : NULL, t ? t->said.len : 0);
}

void checks_go_line(struct checks *c, const char *line, size_t n)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf key = BUF_INIT(4096);
	struct checks_tally *t = &c->tallies[CHECKS_GO];
	const char *action, *package, *test = NULL, *text;
	struct checks_go_test *open;
	struct err err;

	if (n < 2 || line[0] != '{' || !json_parse(line, n, &o, &err) ||
		!json_get_text(o, "Action", &action) || !json_get_text(o, "Package", &package))
		return;
	(void)json_get_text(o, "Test", &test);
	(void)buf_addf(&key, "%.1500s %.1500s", package, test ? test : "");
	t->known |= !strcmp(action, "run") || !strcmp(action, "start") || !strcmp(action, "pass") ||
		    !strcmp(action, "fail") || !strcmp(action, "skip");
	if (!strcmp(action, "output")) {
		if (json_get_text(o, "Output", &text))
			output_keep(c, key.data, text);
		return;
	}
	if (test && !strcmp(action, "pass"))
		t->passed++;
	else if (test && !strcmp(action, "skip"))
		t->skipped++;
	else if (!strcmp(action, "fail"))
		fail_keep(c, package, test, key.data);
	else
		return;
	open = test_find(c, key.data);
	if (open)
		test_drop(open);
}

void checks_go_end(struct checks *c)
{
	for (size_t i = 0; i < CHECKS_GO_OPEN; i++)
		if (c->go.open[i].key)
			test_drop(&c->go.open[i]);
}
