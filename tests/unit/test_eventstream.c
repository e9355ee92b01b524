/*
 * The event stream's parser, and the counting of a patch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eventstream.h"
#include "patchstat.h"

struct seen {
	char text[512];
	int n;
	int stop_after;
};

static bool collect(void *arg, const struct eventstream_event *e)
{
	struct seen *s = arg;
	size_t at = strlen(s->text);

	(void)snprintf(
		s->text + at, sizeof(s->text) - at, "[%s|%.*s]", e->type, (int)e->size, e->data);
	return ++s->n != s->stop_after;
}

static const struct {
	const char *in, *out, *id;
} streams[] = {
	{"data: a\n\n", "[message|a]", ""},
	{"event: run\ndata: {}\nid: 1.2.3\n\n", "[run|{}]", "1.2.3"},
	{"data: a\r\ndata:b\r\n\r\n", "[message|a\nb]", ""},
	{"data: a\rdata: b\r\r", "[message|a\nb]", ""},
	{": heartbeat\n\ndata:x\n\n", "[message|x]", ""},
	{"retry: 5\nfoo\ndata\n\n", "[message|]", ""},
	{"id: 7\n\n", "", "7"},
	{"id: 7\ndata: half", "", ""},
	{"event: x\n\ndata: y\n\n", "[message|y]", ""},
};

static void test_streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
		for (size_t step = 1; step <= 64; step *= 4) {
			struct seen seen = {.stop_after = -1};
			struct eventstream s;
			size_t n = strlen(streams[i].in);

			eventstream_init(&s, collect, &seen);
			for (size_t at = 0; at < n; at += step)
				assert_true(eventstream_feed(
					&s, streams[i].in + at, n - at < step ? n - at : step));
			assert_string_equal(seen.text, streams[i].out);
			assert_string_equal(s.id, streams[i].id);
			eventstream_done(&s);
		}
}

static void test_stop_and_reset(void **state)
{
	struct seen seen = {.stop_after = 1};
	struct eventstream s;

	(void)state;
	eventstream_init(&s, collect, &seen);
	assert_false(eventstream_feed(&s, "id: 1\ndata: a\n\ndata: b\n\n", 23));
	assert_int_equal(seen.n, 1);
	assert_false(s.failed);
	eventstream_reset(&s);
	assert_true(eventstream_feed(&s, "id: 2\ndata: lost", 16));
	eventstream_reset(&s);
	assert_string_equal(s.id, "1");
	assert_true(eventstream_feed(&s, "data: c\n\n", 9));
	assert_string_equal(seen.text, "[message|a][message|c]");
	eventstream_done(&s);
}

static void test_line_too_long(void **state)
{
	struct seen seen = {.stop_after = -1};
	struct eventstream s;
	char chunk[4096];
	bool ok = true;

	(void)state;
	memset(chunk, 'x', sizeof(chunk));
	eventstream_init(&s, collect, &seen);
	for (size_t n = 0; ok && n < 2u * EVENTSTREAM_LINE_MAX; n += sizeof(chunk))
		ok = eventstream_feed(&s, chunk, sizeof(chunk));
	assert_false(ok);
	eventstream_done(&s);
}

static const char patch[] =
	"diff --git a/one b/one\nindex 1..2 100644\n--- a/one\n+++ b/one\n"
	"@@ -1,3 +1,3 @@\n same\n--- not a header\n-gone\n+new\n+++ also content\n"
	"diff --git a/dir/two b/dir/two\nnew file mode 100644\n--- /dev/null\n+++ b/dir/two\n"
	"@@ -0,0 +1 @@\n+only\n\\ No newline at end of file\n"
	"diff --git a/pic.png b/pic.png\nnew file mode 100644\nGIT binary patch\nliteral 1\n"
	"Ac${Nk-~s>u\n\n";

static void last_path(void *arg, const char *path, size_t n, long added, long removed, bool binary)
{
	char *out = arg;

	(void)snprintf(out, 64, "%.*s %ld %ld %d", (int)n, path, added, removed, binary);
}

static void test_patchstat(void **state)
{
	struct patchstat stat;
	char last[64] = "";

	(void)state;
	patchstat_count(patch, sizeof(patch) - 1, &stat, last_path, last);
	assert_int_equal(stat.files, 3);
	assert_int_equal(stat.binary_files, 1);
	assert_int_equal(stat.added, 3);
	assert_int_equal(stat.removed, 2);
	assert_string_equal(last, "pic.png 0 0 1");
	patchstat_count("", 0, &stat, NULL, NULL);
	assert_int_equal(stat.files, 0);
	/* a hunk that promises more than there is, and numbers without end */
	patchstat_count(
		"diff --git a/x b/x\n@@ -1,99999999999999 +1,9 @@\n+a", 49, &stat, NULL, NULL);
	assert_int_equal(stat.files, 1);
	assert_int_equal(stat.added, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_stop_and_reset),
		cmocka_unit_test(test_line_too_long),
		cmocka_unit_test(test_patchstat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
