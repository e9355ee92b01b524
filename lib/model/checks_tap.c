/*
 * TAP 13 and 14, and what node:test writes: as TAP with a sum in comments at the end, or as its
 * `spec` text.
 */
#include <string.h>
#include <strings.h>

#include "checks_read.h"
#include "text.h"

/* The directive behind a '#', "" for none; *n: the text before it, without trailing spaces. A '#'
 * that a backslash precedes is a letter of the name. */
static const char *directive(const char *s, size_t *n)
{
	const char *at = s;

	while ((at = strchr(at, '#')) && at > s && at[-1] == '\\')
		at++;
	if (!at)
		return "";
	*n = (size_t)(at - s);
	at++;
	return at + strspn(at, " ");
}

/* The name is without the backslashes that '#' and the backslash itself are written with. */
static void failure_keep(struct checks *c, const char *s, size_t n)
{
	char name[CHECKS_NAME_MAX * 2];
	size_t to = 0;

	for (size_t i = 0; i < n && to < sizeof(name); i++) {
		if (s[i] == '\\' && i + 1 < n && (s[i + 1] == '#' || s[i + 1] == '\\'))
			i++;
		name[to++] = s[i];
	}
	c->tap.after_fail = checks_fail(
		c, CHECKS_TAP, to ? name : "(no name)", to ? to : strlen("(no name)"), NULL, 0);
}

/* "ok 1 - name # SKIP why" behind "ok" or "not ok". */
static void result_read(struct checks *c, const char *s, bool ok, bool nested)
{
	struct checks_tally *t = &c->tallies[CHECKS_TAP];
	size_t n;
	const char *what;
	int64_t number;

	s += strspn(s, " ");
	if (checks_number(&s, &number))
		s += strspn(s, " ");
	if (s[0] == '-' && (s[1] == ' ' || !s[1]))
		s += 1 + strspn(s + 1, " ");
	n = strlen(s);
	what = directive(s, &n);
	c->tap.after_fail = false;
	if (!nested) {
		c->tap.counted = true;
		c->tap.ran++;
	}
	if (!strncasecmp(what, "skip", 4) || !strncasecmp(what, "todo", 4)) {
		t->skipped += !nested;
		return;
	}
	t->passed += !nested && ok;
	t->failed += !nested && !ok;
	if (!ok)
		failure_keep(c, s, n);
}

/* A failure's diagnosis: its `message:` or `error:`, which may be a block of lines below it. */
static void yaml_read(struct checks *c, const char *s)
{
	const char *value = NULL;

	if (!strncmp(s, "...", 3)) {
		c->tap.in_yaml = c->tap.yaml_next = false;
	} else if (c->tap.yaml_next) {
		checks_fail_says(c, CHECKS_TAP, s, strlen(s));
		c->tap.yaml_next = false;
	} else if (text_has_prefix(s, "error:") || text_has_prefix(s, "message:")) {
		value = strchr(s, ':') + 1;
		value += strspn(value, " ");
		c->tap.yaml_next = !*value || *value == '|' || *value == '>';
	}
	if (value && !c->tap.yaml_next) {
		size_t n = strlen(value);

		if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
			value++;
			n -= 2;
		}
		checks_fail_says(c, CHECKS_TAP, value, n);
	}
}

static void bail_read(struct checks *c, const char *s)
{
	c->tap.counted = true;
	c->tallies[CHECKS_TAP].failed++;
	(void)checks_fail(c, CHECKS_TAP, "Bail out!", 9, s, strlen(s));
}

void checks_tap_line(struct checks *c, const char *line, size_t n)
{
	size_t indent = strspn(line, " ");
	const char *s = line + indent;
	bool nested = indent > 0;

	(void)n;
	if (c->tap.in_yaml) {
		yaml_read(c, s);
	} else if (!strncmp(s, "---", 3) && !s[3] && nested && c->tap.after_fail) {
		c->tap.in_yaml = true;
	} else if (text_has_prefix(s, "ok") && (s[2] == ' ' || !s[2])) {
		result_read(c, s + 2, true, nested);
	} else if (text_has_prefix(s, "not ok") && (s[6] == ' ' || !s[6])) {
		result_read(c, s + 6, false, nested);
	} else if (!nested && text_has_prefix(s, "1..")) {
		const char *p = s + 3;

		c->tap.has_plan |= checks_number(&p, &c->tap.planned);
	} else if (!nested && text_has_prefix(s, "TAP version ")) {
		c->tap.has_plan = true;
		c->tap.planned = -1;
	} else if (!nested && text_has_prefix(s, "Bail out!")) {
		bail_read(c, s + 9);
	} else if (!nested && text_has_prefix(s, "# ") && !checks_node_sum(c, s + 2) &&
		   c->tap.after_fail) {
		checks_fail_says(c, CHECKS_TAP, s + 2, strlen(s + 2));
	}
}

void checks_tap_end(struct checks *c)
{
	struct checks_tally *t = &c->tallies[CHECKS_TAP], *node = &c->tallies[CHECKS_NODE];

	if (t->known)
		return;
	t->known = c->tap.has_plan && c->tap.counted;
	if (t->known && c->tap.planned > c->tap.ran) {
		static const char why[] = "more tests were planned than ran";

		t->failed++;
		(void)checks_fail(c, CHECKS_TAP, "plan", 4, why, sizeof(why) - 1);
	}
	/* "# pass 1" alone is any program's comment */
	node->known = c->node.pass_seen && (t->known || c->node.is_spec);
	/* of a suite that failed since a test in it did, the test is enough */
	for (size_t i = 0; node->known && !c->node.in_failing && i < t->nfailures; i++)
		if (!strstr(t->failures[i].message, "subtest"))
			node->failures[node->nfailures++] = t->failures[i];
}

bool checks_node_sum(struct checks *c, const char *s)
{
	struct checks_tally *t = &c->tallies[CHECKS_NODE];
	const struct {
		const char *word;
		int64_t *sum;
	} sums[] = {
		{"pass ", &t->passed},
		{"fail ", &t->failed},
		{"cancelled ", &t->failed},
		{"skipped ", &t->skipped},
		{"todo ", &t->skipped},
	};
	int64_t value;

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		const char *p = s + strlen(sums[i].word);

		if (!text_has_prefix(s, sums[i].word) || !checks_number(&p, &value) || *p)
			continue;
		*sums[i].sum = i == 2 || i == 4 ? *sums[i].sum + value : value;
		c->node.pass_seen |= i == 0;
		return true;
	}
	return false;
}

void checks_node_line(struct checks *c, const char *line, size_t n)
{
	static const char info[] = "\u2139 ", cross[] = "\u2716 ";
	size_t indent = strspn(line, " ");
	const char *s = line + indent, *end;

	(void)n;
	if (text_has_prefix(s, info)) {
		c->node.is_spec |= checks_node_sum(c, s + sizeof(info) - 1);
	} else if (text_has_prefix(s, cross)) {
		s += sizeof(cross) - 1;
		if (!strcmp(s, "failing tests:")) {
			c->node.in_failing = true;
			return;
		}
		if (!c->node.in_failing)
			return;
		/* "name (1.5ms)" */
		end = strrchr(s, '(');
		if (!end || end == s)
			end = s + strlen(s);
		c->node.want_message = checks_fail(c, CHECKS_NODE, s, (size_t)(end - s), NULL, 0);
	} else if (c->node.want_message && *s) {
		checks_fail_says(c, CHECKS_NODE, s, strlen(s));
		c->node.want_message = false;
	}
}
