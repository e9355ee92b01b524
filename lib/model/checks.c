/*
 * Output of test runners, cut into lines and handed to the reader of each format; what they found
 * as JSON.
 */
#include "checks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "checks_read.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

/* The rest of a longer line is not looked at. */
#define LINE_MAX_BYTES (64u * 1024)
#define NUMBER_MAX 1000000000

static const char *const format_names[] = {
	[CHECKS_JUNIT] = "junit",
	[CHECKS_GO] = "go",
	[CHECKS_NODE] = "node:test",
	[CHECKS_TAP] = "tap",
	[CHECKS_PYTEST] = "pytest",
};
static_assert(
	sizeof(format_names) / sizeof(format_names[0]) == CHECKS_FORMAT__COUNT, "a name each");

struct checks *checks_new(void)
{
	struct checks *c = mem_alloc(sizeof(*c));

	memset(c, 0, sizeof(*c));
	c->pool = pool_new();
	buf_init(&c->line, LINE_MAX_BYTES);
	buf_init(&c->junit.tag, 16 * 1024);
	buf_init(&c->junit.text, CHECKS_MESSAGE_MAX);
	buf_init(&c->junit.name, 1024);
	buf_init(&c->junit.message, CHECKS_MESSAGE_MAX * 4);
	return c;
}

void checks_free(struct checks *c)
{
	if (!c)
		return;
	checks_go_end(c);
	checks_junit_end(c);
	buf_done(&c->line);
	pool_free(c->pool);
	free(c);
}

/* Cut, and safe to show. */
static const char *text_keep(struct checks *c, const char *s, size_t n, size_t max)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(max * 3 + 16);

	while (n && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')) {
		s++;
		n--;
	}
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\n' || s[n - 1] == '\r'))
		n--;
	if (n > max) {
		n = max;
		/* not in the middle of a character */
		while (n && (s[n] & 0xc0) == 0x80)
			n--;
		text_add_sane(&sane, s, n);
		(void)buf_adds(&sane, "...");
	} else {
		text_add_sane(&sane, s, n);
	}
	return pool_memdup(c->pool, sane.data, sane.len);
}

bool checks_fail(struct checks *c, enum checks_format format, const char *name, size_t name_size,
	const char *message, size_t message_size)
{
	struct checks_tally *t = &c->tallies[format];

	if (t->nfailures == CHECKS_FAILURES_MAX)
		return false;
	t->failures[t->nfailures++] = (struct checks_failure){
		.name = text_keep(c, name, name_size, CHECKS_NAME_MAX),
		.message = message ? text_keep(c, message, message_size, CHECKS_MESSAGE_MAX) : "",
	};
	return true;
}

void checks_fail_says(struct checks *c, enum checks_format format, const char *s, size_t n)
{
	struct checks_tally *t = &c->tallies[format];

	if (t->nfailures && !t->failures[t->nfailures - 1].message[0])
		t->failures[t->nfailures - 1].message = text_keep(c, s, n, CHECKS_MESSAGE_MAX);
}

bool checks_number(const char **s, int64_t *out)
{
	const char *p = *s;
	int64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (v < NUMBER_MAX)
			v = v * 10 + (*p - '0');
	if (p == *s)
		return false;
	*s = p;
	*out = v < NUMBER_MAX ? v : NUMBER_MAX;
	return true;
}

/* Takes escape sequences and a carriage return at the end out of the line, in place. */
static void line_clean(struct buf *line)
{
	size_t to = 0;

	for (size_t i = 0; i < line->len; i++) {
		if (line->data[i] == 27 && i + 1 < line->len && line->data[i + 1] == '[') {
			i += 2;
			while (i < line->len && (line->data[i] < '@' || line->data[i] > '~'))
				i++;
			continue;
		}
		/* the readers take text for C strings */
		line->data[to++] = line->data[i] ? line->data[i] : ' ';
	}
	if (to && line->data[to - 1] == '\r')
		to--;
	line->len = to;
	if (line->cap)
		line->data[to] = '\0';
}

static void line_done(struct checks *c)
{
	line_clean(&c->line);
	checks_tap_line(c, c->line.data, c->line.len);
	checks_node_line(c, c->line.data, c->line.len);
	checks_pytest_line(c, c->line.data, c->line.len);
	if (!c->line_cut)
		checks_go_line(c, c->line.data, c->line.len);
	buf_reset(&c->line);
	c->line_cut = false;
}

void checks_feed(struct checks *c, const void *data, size_t n)
{
	const char *p = data;

	checks_junit_feed(c, p, n);
	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t part = end ? (size_t)(end - p) : n;
		size_t room = LINE_MAX_BYTES - c->line.len, take = part < room ? part : room;

		c->line_cut |= take < part;
		(void)buf_add(&c->line, p, take);
		if (end)
			line_done(c);
		p += part + (end ? 1 : 0);
		n -= part + (end ? 1 : 0);
	}
}

const char *checks_json(struct checks *c, struct pool *pool)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *failures;
	struct checks_tally *t = c->tallies;

	if (c->line.len)
		line_done(c);
	checks_tap_end(c);
	while (t < c->tallies + CHECKS_FORMAT__COUNT && !t->known)
		t++;
	if (t == c->tallies + CHECKS_FORMAT__COUNT)
		return NULL;
	o = json_new_object();
	failures = json_new_array();
	json_add_text(o, "framework", format_names[t - c->tallies]);
	json_add_i64(o, "passed", t->passed);
	json_add_i64(o, "failed", t->failed);
	json_add_i64(o, "skipped", t->skipped);
	for (size_t i = 0; i < t->nfailures; i++) {
		struct json_object *f = json_new_object();

		json_add_text(f, "name", t->failures[i].name);
		json_add_text(f, "message", t->failures[i].message);
		json_push(failures, f);
	}
	json_add(o, "failures", failures);
	return json_text(o, pool);
}
