/*
 * Looking into a box: LIST, READ, SEARCH and DIFF over trees that would stop, mislead or fill
 * whoever looks without care. boxd must answer each, and go on answering.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"

static uint32_t next_stream = 100;

/* One look to its end: DATA in out; DONE's or ERROR's text, in a static buffer. */
static const char *look(struct boxd_peer *p, enum wire_type type, struct buf *out, const char *fmt,
	...) PRINTF(4, 5);
static const char *look(
	struct boxd_peer *p, enum wire_type type, struct buf *out, const char *fmt, ...)
{
	static char text[WIRE_PAYLOAD_MAX + 1];
	CLEANUP(buf) struct buf json = BUF_INIT(8192);
	uint32_t stream = next_stream++;
	uint64_t got = 0;
	va_list ap;

	va_start(ap, fmt);
	assert_true(buf_addv(&json, fmt, ap));
	va_end(ap);
	buf_reset(out);
	boxd_send(p, type, stream, json.data, json.len);
	for (;;) {
		assert_true(boxd_next(p));
		if (p->frame.stream != stream)
			continue;
		if (p->frame.type != WIRE_DATA)
			break;
		got += p->frame.length;
		assert_true(buf_add(out, p->frame.payload, p->frame.length));
		boxd_credit(p, stream, got + WIRE_WINDOW);
	}
	assert_true(p->frame.type == WIRE_DONE || p->frame.type == WIRE_ERROR);
	memcpy(text, p->frame.payload, p->frame.length);
	text[p->frame.length] = '\0';
	return text;
}

static void script(struct boxd_peer *p, const char *fmt, ...) PRINTF(2, 3);
static void script(struct boxd_peer *p, const char *fmt, ...)
{
	CLEANUP(buf) struct buf text = BUF_INIT(8192);
	CLEANUP(buf) struct buf quoted = BUF_INIT(16384);
	CLEANUP(buf) struct buf out = BUF_INIT(65536);
	va_list ap;

	(void)buf_addf(&text, "set -e; cd %s; ", p->dir);
	va_start(ap, fmt);
	assert_true(buf_addv(&text, fmt, ap));
	va_end(ap);
	/* it goes into a JSON string */
	for (size_t i = 0; i < text.len; i++) {
		bool is_end = text.data[i] == '\n';

		if (is_end || text.data[i] == '\\' || text.data[i] == '"')
			(void)buf_addc(&quoted, '\\');
		(void)buf_addc(&quoted, is_end ? 'n' : text.data[i]);
	}
	if (!strstr(boxd_script(p, next_stream++, "", quoted.data, &out), "\"code\":0"))
		fail_msg("%s: %s", text.data, out.data);
}

/* A script that is not waited for. */
static void goes_on(struct boxd_peer *p, uint32_t stream, const char *text)
{
	boxd_say(p, WIRE_EXEC, stream,
		"{\"argv\":[\"/bin/sh\",\"-c\",\"%s\"],\"cwd\":\"%s\",\"user\":\"agent\",\"lane\":"
		"\"drive\",\"env\":{\"PATH\":\"/usr/bin:/bin\"}}",
		text, p->dir);
	(void)boxd_expect(p, WIRE_STARTED, stream);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s is not in %s", part, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s is in %s", part, text);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, part)); p++)
		n++;
	return n;
}

static void test_list(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(8 << 20);
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	script(&p, "mkdir -p t/d/e; echo hey >t/d/f; ln -s /etc/passwd t/l; mkfifo t/fifo; "
		   "echo x >t/d/e/g; printf x >\"$(printf 't/new\\nline')\"; "
		   "printf x >\"$(printf 't/\\377')\"");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/t\"}", p.dir),
		"\"entries\":5,\"truncated\":false");
	has(out.data, "{\"path\":\"l\",\"kind\":\"symlink\"");
	has(out.data, "\"target\":\"/etc/passwd\"}\n");
	has(out.data, "{\"path\":\"fifo\",\"kind\":\"other\"");
	has(out.data, "{\"path\":\"new\\nline\",\"kind\":\"file\",\"size\":1,");
	has(out.data, "{\"path\":\"\uFFFD\"");
	has_not(out.data, "d/f");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/t\",\"depth\":64}", p.dir), "\"entries\":8");
	has(out.data, "{\"path\":\"d/f\",\"kind\":\"file\",\"size\":4,\"mode\":");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/t\",\"depth\":2}", p.dir), "\"entries\":7");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/t\",\"depth\":64,\"max_entries\":3}", p.dir),
		"\"entries\":3,\"truncated\":true");
	assert_int_equal(count(out.data, "\n"), 3);
	/* what is no folder, is not there, leads out or is not ours to see */
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/t/d/f\"}", p.dir), "not_found");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/none\"}", p.dir), "not_found");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/t/../..\"}", p.dir), "invalid");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"t\"}"), "invalid");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"/proc/self\"}"), "mount that is not looked at");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s\",\"user\":\"root\"}", p.dir),
		"nobody looks");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s\",\"depth\":65}", p.dir), "invalid");
	if (geteuid() == 0)
		has(look(&p, WIRE_LIST, &out, "{\"path\":\"/root\"}"), "forbidden");
	boxd_close(&p);
}

static void test_read(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(8 << 20);
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	script(&p, "seq 1 200000 >big; printf 'a\\0b' >bin; mkfifo fifo; ln -s big link; mkdir d; "
		   "ln -s . d/dot; echo secret >private; chmod 0 private; : >empty");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/big\"}", p.dir),
		"\"bytes\":1288895,\"size\":1288895,");
	assert_int_equal(out.len, 1288895);
	assert_memory_equal(out.data + out.len - 7, "200000\n", 7);
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/big\",\"offset\":2,\"max_bytes\":4}", p.dir),
		"\"bytes\":4,");
	assert_string_equal(out.data, "2\n3\n");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/big\",\"offset\":99999999}", p.dir),
		"\"bytes\":0,");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/empty\"}", p.dir), "\"changed\":false");
	(void)look(&p, WIRE_READ, &out, "{\"path\":\"%s/bin\"}", p.dir);
	assert_memory_equal(out.data, "a\0b", 3);
	/* no reader waits for a writer, and none is let go on by us */
	goes_on(&p, 10, "echo in >fifo");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/fifo\"}", p.dir), "not a plain file");
	script(&p, "read x <fifo; test $x = in");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/link\"}", p.dir), "not a plain file");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/d/dot/dot\"}", p.dir), "symbolic link");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/d\"}", p.dir), "not a plain file");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"/dev/zero\"}"), "mount that is not looked at");
	has(look(&p, WIRE_READ, &out, "{\"path\":\"/proc/kcore\"}"), "mount that is not looked at");
	if (geteuid() == 0) {
		has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/private\"}", p.dir), "forbidden");
		has(look(&p, WIRE_READ, &out, "{\"path\":\"/etc/shadow\"}"), "forbidden");
	}
	has(look(&p, WIRE_READ, &out, "{\"path\":\"/etc/passwd\"}"), "\"changed\":false");
	boxd_close(&p);
}

static void test_search(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(8 << 20);
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	script(&p, "mkdir -p t/.git t/d; echo needle >t/.git/x; printf 'one\\nA needle, two "
		   "needles\\n' "
		   ">t/d/a; printf 'needle\\0' >t/bin; mkfifo t/fifo; ln -s a t/d/l; printf NEEDLE "
		   ">t/d/b; truncate -s 20M t/holes");
	has(look(&p, WIRE_SEARCH, &out, "{\"path\":\"%s/t\",\"text\":\"needle\"}", p.dir),
		"\"files\":4,\"binary\":2,\"matches\":1,\"truncated\":false");
	assert_string_equal(out.data,
		"{\"path\":\"d/a\",\"line\":2,\"column\":3,\"text\":\"A needle, two needles\"}\n");
	has(look(&p, WIRE_SEARCH, &out,
		    "{\"path\":\"%s/t\",\"text\":\"needle\",\"ignore_case\":true}", p.dir),
		"\"matches\":2");
	has(out.data, "{\"path\":\"d/b\",\"line\":1,\"column\":1,\"text\":\"NEEDLE\"}\n");
	/* a line as long as a file, with the match where two chunks meet; lines over chunks */
	script(&p,
		"rm -r t; mkdir t; head -c 32765 /dev/zero | tr '\\0' x >t/long; "
		"printf 'needle%%01000d\\n' 7 >>t/long; seq 1 100000 >t/seq; echo needle >>t/seq");
	has(look(&p, WIRE_SEARCH, &out, "{\"path\":\"%s/t\",\"text\":\"needle\"}", p.dir),
		"\"matches\":2");
	has(out.data, "\"line\":1,\"column\":32766,\"text\":\"xxx");
	has(out.data, "{\"path\":\"seq\",\"line\":100001,\"column\":1,\"text\":\"needle\"}\n");
	assert_true(out.len < 1200);
	script(&p, "for i in $(seq 1 50); do yes needle | head -n 100 >t/$i; done");
	has(look(&p, WIRE_SEARCH, &out,
		    "{\"path\":\"%s/t\",\"text\":\"needle\",\"max_matches\":30}", p.dir),
		"\"matches\":30,\"truncated\":true");
	assert_int_equal(count(out.data, "\n"), 30);
	has(look(&p, WIRE_SEARCH, &out, "{\"path\":\"%s/t\",\"text\":\"\"}", p.dir), "invalid");
	has(look(&p, WIRE_SEARCH, &out, "{\"path\":\"%s/t\",\"text\":\"a\\nb\"}", p.dir),
		"invalid");
	boxd_close(&p);
}

/* The base is another folder here; in a box it lies where only boxd and git's user can go. */
static void test_diff(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(8 << 20);
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	script(&p,
		"mkdir -p base/d base/gone; cd base; echo one >d/same; echo one >d/sneaky; "
		"echo one >exec; ln -s a link; ln -s a to_file; echo x >gone/f; echo x >to_dir; "
		"seq 1 50000 >long; cd ..; chmod -R a+rX base; cp -a base now; cd now; "
		"echo two >d/sneaky; touch -r ../base/d/sneaky d/sneaky; chmod +x exec; "
		"ln -sfn b link; rm to_file; echo a >to_file; rm -r gone; rm to_dir; mkdir to_dir; "
		"echo new >to_dir/new; mkfifo fifo; sed -i 's/^50000$/50001/' long");
	has(look(&p, WIRE_DIFF, &out, "{\"path\":\"%s/now\",\"base\":\"%s/base\"}", p.dir, p.dir),
		"\"changes\":9,\"truncated\":false");
	has_not(out.data, "d/same");
	has(out.data,
		"{\"path\":\"d/sneaky\",\"change\":\"modified\",\"kind\":\"file\",\"size\":4,");
	has(out.data, "{\"path\":\"long\",\"change\":\"modified\"");
	has(out.data, "{\"path\":\"exec\",\"change\":\"mode\"");
	has(out.data, "{\"path\":\"link\",\"change\":\"modified\",\"kind\":\"symlink\"");
	has(out.data, "{\"path\":\"to_file\",\"change\":\"kind\",\"kind\":\"file\"");
	has(out.data, "{\"path\":\"to_dir\",\"change\":\"kind\",\"kind\":\"dir\"");
	has(out.data, "{\"path\":\"to_dir/new\",\"change\":\"added\"");
	has(out.data, "{\"path\":\"fifo\",\"change\":\"added\",\"kind\":\"other\"");
	has(out.data, "{\"path\":\"gone/f\",\"change\":\"removed\",\"base_kind\":\"file\"");
	has(look(&p, WIRE_DIFF, &out, "{\"path\":\"%s/base\",\"base\":\"%s/base\"}", p.dir, p.dir),
		"\"changes\":0,\"truncated\":false");
	assert_int_equal(out.len, 0);
	has(look(&p, WIRE_DIFF, &out,
		    "{\"path\":\"%s/now\",\"base\":\"%s/base\",\"max_changes\":2}", p.dir, p.dir),
		"\"changes\":2,\"truncated\":true");
	has(look(&p, WIRE_DIFF, &out, "{\"path\":\"%s/now\",\"base\":\"%s/no\"}", p.dir, p.dir),
		"not_found");
	boxd_close(&p);
}

/* Trees that never end, and a box that goes on while they are looked at. */
static void test_hostile(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(16 << 20);
	struct boxd_peer p;
	int64_t began;

	(void)state;
	boxd_open(&p, "cgroup");
	/* deeper than a path is long */
	script(&p, "python3 -c 'import os\nos.mkdir(\"deep\")\nos.chdir(\"deep\")\nfor i in "
		   "range(300):\n"
		   " os.mkdir(\"d\" * 20)\n os.chdir(\"d\" * 20)\nopen(\"f\", "
		   "\"w\").write(\"needle\")'");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/deep\",\"depth\":64}", p.dir),
		"\"entries\":64,\"truncated\":false,\"skipped\":1");
	has(look(&p, WIRE_SEARCH, &out, "{\"path\":\"%s/deep\",\"text\":\"needle\"}", p.dir),
		"\"matches\":0,\"truncated\":false,\"skipped\":1");
	/* more than is listed */
	script(&p, "mkdir many; cd many; seq 1 12000 | xargs touch");
	has(look(&p, WIRE_LIST, &out, "{\"path\":\"%s/many\"}", p.dir),
		"\"entries\":10000,\"truncated\":true");
	assert_int_equal(count(out.data, "\n"), 10000);
	/* a file that grows and shrinks while it is read */
	script(&p, "seq 1 100000 >moving");
	goes_on(&p, 40, "while :; do : >moving; seq 1 100000 >moving; done");
	for (int i = 0; i < 20; i++)
		has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/moving\"}", p.dir), "\"changed\":");
	boxd_say(&p, WIRE_SIGNAL, 40, "{\"signal\":9,\"all\":true}");
	(void)boxd_expect(&p, WIRE_EXIT, 40);
	/* terabytes of nothing: ended by its limit, and other requests are answered meanwhile */
	script(&p, "truncate -s 4T huge");
	boxd_say(&p, WIRE_READ, 50, "{\"path\":\"%s/huge\"}", p.dir);
	began = time_boot_ms();
	boxd_say(&p, WIRE_STAT, 51, "{\"path\":\"%s/huge\"}", p.dir);
	has(boxd_expect(&p, WIRE_DONE, 51), "\"size\":4398046511104");
	assert_true(time_boot_ms() - began < 5000);
	/* a stream in use, and too many at once, are refused and disturb nothing */
	boxd_say(&p, WIRE_LIST, 50, "{\"path\":\"%s\"}", p.dir);
	has(boxd_expect(&p, WIRE_ERROR, 50), "busy");
	for (uint32_t i = 0; i < 7; i++)
		boxd_say(&p, WIRE_READ, 60 + i, "{\"path\":\"%s/huge\"}", p.dir);
	boxd_say(&p, WIRE_READ, 70, "{\"path\":\"%s/huge\"}", p.dir);
	has(boxd_expect(&p, WIRE_ERROR, 70), "busy");
	/* a new host: what the last one asked is dropped, and there is room again */
	boxd_attach(&p);
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/huge\",\"max_bytes\":5}", p.dir),
		"\"bytes\":5,");
	boxd_close(&p);
}

/* A lease makes an open wait for its holder, a process of the box. */
static void test_lease(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(1 << 20);
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1,
		"{\"argv\":[\"python3\",\"-c\",\"import fcntl,time,signal\\nsignal.signal(signal."
		"SIGIO,signal.SIG_IGN)\\nf=open('%s/"
		"held','w')\\nfcntl.fcntl(f,fcntl.F_SETLEASE,fcntl."
		"F_WRLCK)\\nprint('held',flush=True)\\ntime.sleep(100)\"],\"cwd\":\"/\",\"user\":"
		"\"agent\",\"lane\":\"drive\",\"env\":{}}",
		p.dir);
	(void)boxd_expect(&p, WIRE_STDOUT, 1);
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/held\"}", p.dir),
		"a program of the box holds it");
	has(look(&p, WIRE_SEARCH, &out, "{\"path\":\"%s\",\"text\":\"x\"}", p.dir),
		"\"skipped\":1");
	boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":9,\"all\":true}");
	(void)boxd_expect(&p, WIRE_EXIT, 1);
	has(look(&p, WIRE_READ, &out, "{\"path\":\"%s/held\"}", p.dir), "\"bytes\":0");
	boxd_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
