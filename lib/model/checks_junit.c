/*
 * JUnit XML: `testcase` elements and the `failure`, `error` and `skipped` inside them, by a scanner
 * that keeps one tag. It stands in output among other things, so it is not an XML parser: whatever
 * is no tag of these is passed over.
 */
#include <string.h>

#include "checks_read.h"
#include "text.h"

/* A tag's name ends here. */
static bool tag_is(const char *tag, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(tag, name, n) && (!tag[n] || strchr(" \t\r\n/", tag[n]));
}

static void entity_add(struct buf *out, const char *s, size_t n)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (strlen(entities[i].name) == n && !memcmp(entities[i].name, s, n)) {
			(void)buf_addc(out, entities[i].c);
			return;
		}
	/* a character by its number: the line ends that matter here, a space for the rest */
	(void)buf_addc(out, n == 3 && !memcmp(s, "#10", 3) ? '\n' : ' ');
}

static void unescape(struct buf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *end = s[i] == '&' ? memchr(s + i, ';', n - i) : NULL;

		if (!end || end - (s + i) > 10) {
			(void)buf_addc(out, s[i]);
			continue;
		}
		entity_add(out, s + i + 1, (size_t)(end - (s + i)) - 1);
		i = (size_t)(end - s);
	}
}

/* The value of an attribute, unescaped into out, which is emptied; false: it is not there. */
static bool attribute(const char *tag, const char *name, struct buf *out)
{
	size_t n = strlen(name);
	const char *p = tag + strcspn(tag, " \t\r\n");

	buf_reset(out);
	while (*p) {
		const char *key, *value;
		size_t key_size;
		char quote;

		p += strspn(p, " \t\r\n/");
		key = p;
		key_size = strcspn(p, "= \t\r\n/");
		p += key_size;
		p += strspn(p, " \t\r\n");
		if (*p != '=') {
			if (!key_size && *p)
				p++;
			continue;
		}
		p++;
		p += strspn(p, " \t\r\n");
		quote = *p;
		if (quote != '"' && quote != '\'')
			continue;
		value = ++p;
		while (*p && *p != quote)
			p++;
		if (key_size == n && !memcmp(key, name, n)) {
			unescape(out, value, (size_t)(p - value));
			return true;
		}
		if (*p)
			p++;
	}
	return false;
}

static void case_begin(struct checks *c, const char *tag)
{
	struct checks_junit *j = &c->junit;
	struct buf class = BUF_INIT(1024);

	j->in_case = true;
	j->failed = j->skipped = j->in_failure = false;
	(void)attribute(tag, "name", &j->name);
	if (attribute(tag, "classname", &class) && class.len) {
		(void)buf_adds(&class, ".");
		(void)buf_add(&class, j->name.data, j->name.len);
		buf_reset(&j->name);
		(void)buf_add(&j->name, class.data, class.len);
	}
	buf_done(&class);
	buf_reset(&j->message);
	buf_reset(&j->text);
}

static void case_end(struct checks *c)
{
	struct checks_junit *j = &c->junit;
	struct checks_tally *t = &c->tallies[CHECKS_JUNIT];
	const struct buf *says = j->message.len ? &j->message : &j->text;

	if (!j->in_case)
		return;
	j->in_case = j->in_failure = false;
	t->known = true;
	if (j->failed) {
		t->failed++;
		(void)checks_fail(
			c, CHECKS_JUNIT, j->name.data, j->name.len, says->data, says->len);
	} else if (j->skipped) {
		t->skipped++;
	} else {
		t->passed++;
	}
}

static void tag_read(struct checks *c)
{
	struct checks_junit *j = &c->junit;
	const char *tag = j->tag.data;
	bool closed = j->tag.len && tag[j->tag.len - 1] == '/';

	if (tag_is(tag, "testcase")) {
		case_end(c); /* one that was never closed */
		case_begin(c, tag);
		if (closed)
			case_end(c);
	} else if (tag_is(tag, "/testcase")) {
		case_end(c);
	} else if (j->in_case && (tag_is(tag, "failure") || tag_is(tag, "error"))) {
		j->in_failure = !closed;
		if (!j->failed)
			(void)attribute(tag, "message", &j->message);
		j->failed = true;
	} else if (j->in_case && tag_is(tag, "skipped")) {
		j->skipped = true;
	} else if (tag_is(tag, "/failure") || tag_is(tag, "/error")) {
		j->in_failure = false;
	}
}

static void tag_byte(struct checks *c, char b)
{
	struct checks_junit *j = &c->junit;

	if (j->quote) {
		j->quote = b == j->quote ? 0 : j->quote;
	} else if (b == '>') {
		if (!j->tag.failed)
			tag_read(c);
		j->at = XML_TEXT;
		return;
	} else if (b == '<') {
		/* the one before it was no tag */
		buf_reset(&j->tag);
		return;
	} else if (b == '"' || b == '\'') {
		/* only in a tag that has a name may a value stand */
		j->quote = memchr(j->tag.data, '=', j->tag.len) ? b : 0;
	}
	/* a NUL would end the tag early; what does not fit ends it too */
	if (!buf_addc(&j->tag, b ? b : ' ')) {
		j->at = XML_TEXT;
		j->quote = 0;
	} else if (j->tag.len == 3 && !memcmp(j->tag.data, "!--", 3)) {
		j->at = XML_COMMENT;
		j->tail = 0;
	} else if (j->tag.len == 8 && !memcmp(j->tag.data, "![CDATA[", 8)) {
		j->at = XML_CDATA;
		j->tail = 0;
	}
}

static void text_byte(struct checks_junit *j, char b)
{
	if (j->in_failure && j->text.len < CHECKS_MESSAGE_MAX)
		(void)buf_addc(&j->text, b ? b : ' ');
}

void checks_junit_feed(struct checks *c, const char *data, size_t n)
{
	struct checks_junit *j = &c->junit;

	for (size_t i = 0; i < n; i++) {
		char b = data[i];

		switch (j->at) {
		case XML_TAG:
			tag_byte(c, b);
			break;
		case XML_TEXT:
			if (b == '<') {
				j->at = XML_TAG;
				j->quote = 0;
				buf_reset(&j->tag);
			} else {
				text_byte(j, b);
			}
			break;
		case XML_COMMENT:
		case XML_CDATA:
			j->tail = (j->tail << 8 | (unsigned char)b) & 0xffffff;
			if (j->tail == (j->at == XML_CDATA ? 0x5d5d3e : 0x2d2d3e))
				j->at = XML_TEXT;
			else if (j->at == XML_CDATA && b != ']')
				text_byte(j, b);
			break;
		}
	}
}

void checks_junit_end(struct checks *c)
{
	buf_done(&c->junit.tag);
	buf_done(&c->junit.text);
	buf_done(&c->junit.name);
	buf_done(&c->junit.message);
}
