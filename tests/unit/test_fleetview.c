/*
 * The fleet of asb monitor: a snapshot, patches on it, and the lines they become. What a box says
 * is in them, so its control characters are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "fleetview.h"
#include "screen.h"

#define NOW_MS 1767323045000 /* 2026-01-02T03:04:05Z */

static void take(struct fleetview *v, const char *type, const char *data)
{
	const struct eventstream_event e = {.type = type, .data = data, .size = strlen(data)};

	fleetview_take(v, &e);
}

static void add_line(void *arg, const char *line)
{
	(void)buf_addf(arg, "%s\n", line);
}

static void lines(const struct fleetview *v, struct buf *out)
{
	buf_reset(out);
	fleetview_lines(v, NOW_MS, add_line, out);
}

static void test_patches(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);
	struct fleetview v = {0};

	(void)state;
	/* before the snapshot there is nothing to patch */
	take(&v, "run", "{\"session\":\"run-x\",\"state\":\"running\"}");
	assert_null(v.fleet);
	take(&v, "fleet",
		"{\"runs\":[{\"session\":\"run-a\",\"state\":\"queued\",\"title\":\"first\","
		"\"created_at\":\"2026-01-02T03:03:35.000Z\"}],\"boxes\":[{\"name\":\"box-1\","
		"\"state\":\"ready\",\"class\":\"s\",\"image\":\"base\"}]}");
	lines(&v, &out);
	assert_non_null(strstr(out.data, "1 under way, 0 waiting for an answer, 1 boxes"));
	assert_non_null(strstr(out.data, "30 s  first"));
	take(&v, "run",
		"{\"session\":\"run-a\",\"state\":\"waiting\",\"question\":{\"text\":"
		"\"which?\\u001b[31m\\nrun-z  done\"}}");
	take(&v, "run", "{\"session\":\"run-b\",\"state\":\"running\",\"title\":\"second\"}");
	take(&v, "activity", "{\"session\":\"run-b\",\"last\":{\"text\":\"compiling\"}}");
	take(&v, "activity", "{\"session\":\"run-c\",\"last\":{\"text\":\"unknown\"}}");
	take(&v, "box", "{\"box\":\"box-1\",\"state\":\"gone\"}");
	assert_false(v.stale);
	take(&v, "gap", "{\"reason\":\"old\",\"seq\":9}");
	assert_true(v.stale);
	take(&v, "trace", "{\"seq\":1}");
	take(&v, "run", "no json");
	lines(&v, &out);
	assert_non_null(strstr(out.data, "1 under way, 1 waiting for an answer, 0 boxes"));
	assert_non_null(strstr(out.data, "first | ? which? run-z  done\n"));
	assert_non_null(strstr(out.data, "second | compiling\n"));
	assert_null(strstr(out.data, "run-c"));
	assert_null(strstr(out.data, "box-1"));
	assert_null(strchr(out.data, '\033'));
	v.columns = 40;
	lines(&v, &out);
	assert_non_null(strstr(
		out.data, "\nrun-b                 running        \n  second | compiling\n"));
	v.columns = 80;
	lines(&v, &out);
	assert_non_null(strstr(out.data, "  second | compiling\n"));
	assert_null(strstr(out.data, "\n  second"));
	take(&v, "fleet", "{\"runs\":[],\"boxes\":[]}");
	assert_false(v.stale);
	fleetview_done(&v);
}

static void test_fit(void **state)
{
	(void)state;
	assert_int_equal(screen_fit("abc", 10), 3);
	assert_int_equal(screen_fit("abc", 2), 2);
	assert_int_equal(screen_fit("\xc3\xa4\xc3\xb6x", 1), 2);
	assert_int_equal(screen_fit("\xc3\xa4\xc3\xb6x", 2), 4);
	assert_int_equal(screen_fit("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patches),
		cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
