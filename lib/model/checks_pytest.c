/*
 * pytest's own text: the sum in its last line, the failures in its short summary.
 */
#include <string.h>

#include "checks_read.h"
#include "text.h"

/* "3 passed, 1 failed, 2 skipped in 0.12s": true and added up where the whole line is one. */
static bool sum_read(const char *s, struct checks_tally *out)
{
	struct checks_tally t = {0};
	int64_t value;
	size_t parts = 0;

	for (;;) {
		size_t n;

		if (!checks_number(&s, &value) || *s != ' ')
			return false;
		s++;
		n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
		if ((n == 6 && !strncmp(s, "passed", n)) || (n == 7 && !strncmp(s, "xpassed", n)))
			t.passed += value;
		else if ((n == 6 && !strncmp(s, "failed", n)) ||
			 (n == 5 && !strncmp(s, "error", n)) ||
			 (n == 6 && !strncmp(s, "errors", n)))
			t.failed += value;
		else if ((n == 7 && !strncmp(s, "skipped", n)) ||
			 (n == 7 && !strncmp(s, "xfailed", n)))
			t.skipped += value;
		else if (n != 8 && n != 7 && n != 10)
			return false; /* warning(s), deselected count nothing */
		s += n;
		parts++;
		if (text_has_prefix(s, ", ")) {
			s += 2;
			continue;
		}
		if (!text_has_prefix(s, " in ") || s[4] < '0' || s[4] > '9' || !parts)
			return false;
		out->passed = t.passed;
		out->failed = t.failed;
		out->skipped = t.skipped;
		return true;
	}
}

/* "FAILED tests/test_a.py::test_b - assert 1 == 2" */
static bool failure_read(struct checks *c, const char *s)
{
	const char *dash;

	if (text_has_prefix(s, "FAILED "))
		s += 7;
	else if (text_has_prefix(s, "ERROR "))
		s += 6;
	else
		return false;
	if (!*s || *s == ' ')
		return false;
	dash = strstr(s, " - ");
	return checks_fail(c, CHECKS_PYTEST, s, dash ? (size_t)(dash - s) : strlen(s),
		dash ? dash + 3 : NULL, dash ? strlen(dash + 3) : 0);
}

void checks_pytest_line(struct checks *c, const char *line, size_t n)
{
	struct checks_tally *t = &c->tallies[CHECKS_PYTEST];
	const char *s = line;

	(void)n;
	if (failure_read(c, line))
		return;
	while (*s == '=')
		s++;
	if (s > line && *s == ' ')
		s++;
	else if (s > line)
		return;
	if (sum_read(s, t))
		t->known = true;
}
