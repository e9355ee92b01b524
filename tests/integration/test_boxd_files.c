/*
 * asb-boxd's files: tars in and out, hostile entries against a real file system, and STAT.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "tar.h"

static void entry_add(struct buf *tar, enum tar_kind kind, const char *name, const char *link,
	const char *data, size_t n)
{
	const struct tar_entry e = {kind, name, link, n, 0750, 1000000000};

	assert_true(tar_add_header(tar, &e));
	assert_true(buf_add(tar, data, n));
	assert_true(tar_add_padding(tar, n));
}

/* What a tar holds, one line an entry, in reading order. */
static bool seen_entry(void *arg, const struct tar_entry *e, struct err *err)
{
	(void)err;
	return buf_addf(arg, "%c %s%s%s %o %llu\n", "fdsh"[e->kind], e -> name,
		e -> link ? ">" : "", e->link ? e->link : "", e->mode, (unsigned long long)e->size);
}

static bool seen_data(void *arg, const void *data, size_t n, struct err *err)
{
	(void)err;
	return buf_add(arg, data, n < 64 ? n : 0);
}

static void tar_out(struct boxd_peer *p, uint32_t stream, const char *path, struct buf *seen)
{
	const struct tar_sink sink = {seen_entry, seen_data, NULL, seen};
	struct tar_reader *r = tar_reader_new(&tar_limits_default, &sink);
	struct err err = {0};
	uint64_t got = 0;

	boxd_say(p, WIRE_TAR_OUT, stream, "{\"path\":\"%s\",\"max_bytes\":100000000}", path);
	for (;;) {
		assert_true(boxd_next(p));
		if (p->frame.stream != stream)
			continue;
		if (p->frame.type != WIRE_DATA)
			break;
		got += p->frame.length;
		if (!tar_reader_push(r, p->frame.payload, p->frame.length, &err))
			fail_msg("%s", err.msg);
		boxd_credit(p, stream, got + WIRE_WINDOW);
	}
	assert_int_equal(p->frame.type, WIRE_DONE);
	assert_true(tar_reader_finish(r, &err));
	tar_reader_free(r);
}

static void test_round_trip(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(8 << 20);
	CLEANUP(buf) struct buf big = BUF_INIT(4 << 20);
	CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
	struct boxd_peer p;
	char path[128], script[512];
	const char *answer;

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(path, sizeof(path), "%s/deep/er/x", p.dir);
	for (int i = 0; i < 200000; i++)
		(void)buf_addf(&big, "%08d\n", i);
	entry_add(&tar, TAR_DIR, "d", NULL, "", 0);
	entry_add(&tar, TAR_FILE, "d/small", NULL, "hello", 5);
	entry_add(&tar, TAR_FILE, "implied/dir/file", NULL, "x", 1);
	entry_add(&tar, TAR_SYMLINK, "s", "/etc/passwd", "", 0);
	entry_add(&tar, TAR_HARDLINK, "h", "d/small", "", 0);
	entry_add(&tar, TAR_FILE, "big", NULL, big.data, big.len);
	assert_true(tar_add_end(&tar));
	assert_int_equal(boxd_tar_in(&p, 1, path, &tar, &answer), WIRE_DONE);
	assert_int_equal(boxd_number(answer, "entries"), 6);
	assert_int_equal(boxd_number(answer, "bytes"), 6 + big.len);
	(void)snprintf(script, sizeof(script),
		"cd %s && stat -c '%%n %%a %%u %%h %%Y' d/small big s && tail -n 1 big && readlink "
		"s",
		path);
	(void)boxd_script(&p, 2, "", script, &out);
	if (geteuid() == 0)
		assert_non_null(strstr(out.data, "d/small 750 1000 2 1000000000\nbig 750 1000 1 "));
	assert_non_null(strstr(out.data, "\n00199999\n/etc/passwd\n"));
	tar_out(&p, 3, path, &seen);
	assert_non_null(strstr(seen.data, "f d/small 750 5\nhello"));
	assert_non_null(strstr(seen.data, "s s>/etc/passwd 777 0\n"));
	assert_non_null(strstr(seen.data, "f big 750 1800000\n"));
	assert_non_null(strstr(seen.data, "d implied/dir 755 0\n"));
	/* again over what is there: files are replaced, links are not written through */
	assert_int_equal(boxd_tar_in(&p, 4, path, &tar, &answer), WIRE_DONE);
	boxd_say(&p, WIRE_TAR_OUT, 5, "{\"path\":\"%s\",\"max_bytes\":1000}", path);
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 5), "\"code\":\"too_large\""));
	boxd_say(&p, WIRE_TAR_OUT, 6, "{\"path\":\"%s/none\"}", path);
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 6), "\"code\":\"not_found\""));
	buf_reset(&seen);
	(void)snprintf(script, sizeof(script), "%s/d/small", path);
	tar_out(&p, 7, script, &seen);
	assert_string_equal(seen.data, "f small 750 5\nhello");
	boxd_close(&p);
}

/* The end of a tar that is said twice: a runner's, and its shim's when that runner has died. */
static void test_end_said_twice(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 16);
	CLEANUP(buf) struct buf frames = BUF_INIT(1 << 17);
	struct boxd_peer p;
	char path[128];

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(path, sizeof(path), "%s/twice", p.dir);
	entry_add(&tar, TAR_FILE, "x", NULL, "hello", 5);
	assert_true(tar_add_end(&tar));
	boxd_say(&p, WIRE_TAR_IN, 1, "{\"path\":\"%s\"}", path);
	assert_true(wire_add(&frames, WIRE_DATA, 1, tar.data, tar.len));
	assert_true(wire_add(&frames, WIRE_EOF, 1, NULL, 0));
	assert_true(wire_add(&frames, WIRE_EOF, 1, NULL, 0));
	/* in one piece, so that the tar is not unpacked yet at its second end */
	assert_int_equal(send(p.fd, frames.data, frames.len, MSG_NOSIGNAL), frames.len);
	assert_int_equal(boxd_number(boxd_expect(&p, WIRE_DONE, 1), "bytes"), 5);
	boxd_close(&p);
}

/* One small file as one frame: into a folder of boxd's or the user's own, over nothing that was put
 * there. */
static void test_one_file(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
	char dir[96], link[128], script[400];
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(dir, sizeof(dir), "%s/own", p.dir);
	(void)snprintf(link, sizeof(link), "%s/x", dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	(void)snprintf(script, sizeof(script), "%s/kept", p.dir);
	assert_int_equal(symlink(script, link), 0);
	boxd_say(&p, WIRE_TAR_IN, 1,
		"{\"path\":\"%s\",\"name\":\"x\",\"mode\":448,\"text\":\"a \\u00e9\\n\"}", dir);
	(void)boxd_expect(&p, WIRE_DONE, 1);
	(void)snprintf(script, sizeof(script),
		"cd %s && stat -c '%%F %%a %%u' x && cat x; test ! -e ../kept && echo clean", dir);
	(void)boxd_script(&p, 2, "", script, &out);
	assert_non_null(strstr(out.data,
		geteuid() ? "regular file 700 " : "regular file 700 1000\na \xc3\xa9\nclean"));
	assert_non_null(strstr(out.data, "\na \xc3\xa9\nclean"));
	/* names that lead out of the folder */
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {"", "..", "a/b", "/etc/x"};

		boxd_say(&p, WIRE_TAR_IN, 10 + (uint32_t)i,
			"{\"path\":\"%s\",\"name\":\"%s\",\"text\":\"x\"}", dir, names[i]);
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 10 + (uint32_t)i), "name:"));
	}
	/* a folder that is reached over a link, and one that is another's */
	(void)snprintf(
		script, sizeof(script), "ln -s %s %s/link; mkdir %s/theirs", dir, p.dir, p.dir);
	(void)boxd_script(&p, 3, "", script, NULL);
	boxd_say(
		&p, WIRE_TAR_IN, 20, "{\"path\":\"%s/link\",\"name\":\"y\",\"text\":\"x\"}", p.dir);
	(void)boxd_expect(&p, WIRE_ERROR, 20);
	if (geteuid() == 0) {
		boxd_say(&p, WIRE_TAR_IN, 21,
			"{\"path\":\"%s/theirs\",\"name\":\"y\",\"text\":\"x\",\"user\":\"ask\"}",
			p.dir);
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 21), "another's folder"));
		boxd_say(&p, WIRE_TAR_IN, 22,
			"{\"path\":\"%s/theirs\",\"name\":\"y\",\"text\":\"x\"}", p.dir);
		(void)boxd_expect(&p, WIRE_DONE, 22);
	}
	boxd_close(&p);
}

/* The code of an exec: there while it runs, of its user alone, over no link; then gone. */
static void test_code(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
	char script[600], members[300];
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(script, sizeof(script),
		"mkdir %s/w && touch %s/kept && ln -s %s/kept %s/w/code", p.dir, p.dir, p.dir,
		p.dir);
	(void)boxd_script(&p, 1, "", script, NULL);
	(void)snprintf(members, sizeof(members),
		",\"code\":\"%s/w/code\",\"code_text\":\"echo ran \u00e9\\n\"", p.dir);
	(void)snprintf(
		script, sizeof(script), "cd %s/w && stat -c '%%F %%a' code && sh code", p.dir);
	(void)boxd_script(&p, 2, members, script, &out);
	assert_string_equal(out.data, "regular file 600\nran \xc3\xa9\n");
	/* gone, and the link's target as it was */
	buf_reset(&out);
	(void)snprintf(script, sizeof(script), "cd %s && ls w && stat -c %%s kept", p.dir);
	(void)boxd_script(&p, 3, "", script, &out);
	assert_string_equal(out.data, "0\n");
	/* without a text it is one that came before */
	buf_reset(&out);
	(void)snprintf(script, sizeof(script), "echo echo came >%s/w/code", p.dir);
	(void)boxd_script(&p, 4, "", script, NULL);
	(void)snprintf(members, sizeof(members), ",\"code\":\"%s/w/code\"", p.dir);
	(void)snprintf(script, sizeof(script), "sh %s/w/code; rm %s/w/code", p.dir, p.dir);
	(void)boxd_script(&p, 5, members, script, &out);
	assert_string_equal(out.data, "came\n");
	boxd_close(&p);
}

static void test_hostile_entries(void **state)
{
	static const struct {
		enum tar_kind kind;
		const char *name, *link, *entry;
	} rows[] = {
		{TAR_FILE, "../up", NULL, "../up"},
		{TAR_FILE, "/tmp/asb-absolute", NULL, "/tmp/asb-absolute"},
		{TAR_FILE, "link/through", NULL, "link/through"},
		{TAR_DIR, "link", NULL, "link/"},
		{TAR_HARDLINK, "hard", "../../etc/passwd", "hard"},
		{TAR_HARDLINK, "hard", "link", "hard"},
		/* not known from the archive: it was there before, and leads out */
		{TAR_FILE, "planted/file", NULL, "planted/file"},
		{TAR_DIR, "planted", NULL, "planted/"},
	};
	struct boxd_peer p;
	char path[128], script[512];
	struct stat st;

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(path, sizeof(path), "%s/t", p.dir);
	(void)snprintf(script, sizeof(script), "mkdir %s %s/out; ln -s %s/out %s/planted", path,
		p.dir, p.dir, path);
	(void)boxd_script(&p, 1, "", script, NULL);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
		const char *answer;
		char want[128];

		entry_add(&tar, TAR_FILE, "before", NULL, "b", 1);
		entry_add(&tar, TAR_SYMLINK, "link", p.dir, "", 0);
		entry_add(&tar, rows[i].kind, rows[i].name, rows[i].link, "", 0);
		assert_true(tar_add_end(&tar));
		if (boxd_tar_in(&p, 10 + i, path, &tar, &answer) != WIRE_ERROR)
			fail_msg("%s was taken", rows[i].name);
		(void)snprintf(want, sizeof(want), "\"entry\":\"%s\"", rows[i].entry);
		assert_non_null(strstr(answer, "\"code\":\"tree\""));
		if (!strstr(answer, want))
			fail_msg("%s: %s", rows[i].name, answer);
	}
	/* nothing came out, and what stood before each was unpacked */
	(void)snprintf(script, sizeof(script), "%s/out/file", p.dir);
	assert_int_equal(lstat(script, &st), -1);
	assert_int_equal(lstat("/tmp/asb-absolute", &st), -1);
	(void)snprintf(script, sizeof(script), "%s/through", p.dir);
	assert_int_equal(lstat(script, &st), -1);
	(void)snprintf(script, sizeof(script), "%s/t/before", p.dir);
	assert_int_equal(lstat(script, &st), 0);
	boxd_close(&p);
}

static void test_user_rules_hold(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 16);
	const char *answer;
	struct boxd_peer p;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: users can be switched by root only\n");
		skip();
	}
	boxd_open(&p, "cgroup");
	entry_add(&tar, TAR_FILE, "f", NULL, "x", 1);
	assert_true(tar_add_end(&tar));
	assert_int_equal(boxd_tar_in(&p, 1, "/etc/asb-test", &tar, &answer), WIRE_ERROR);
	assert_non_null(strstr(answer, "\"code\":\"forbidden\""));
	assert_int_equal(boxd_tar_in(&p, 2, "relative", &tar, &answer), WIRE_ERROR);
	assert_int_equal(boxd_tar_in(&p, 3, "/tmp/../etc", &tar, &answer), WIRE_ERROR);
	boxd_say(&p, WIRE_TAR_OUT, 4, "{\"path\":\"/etc/shadow\"}");
	(void)boxd_expect(&p, WIRE_ERROR, 4);
	boxd_close(&p);
}

static void test_stat(void **state)
{
	struct boxd_peer p;
	char script[512];
	const char *text;

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(
		script, sizeof(script), "cd %s && mkdir d && echo hey > d/f && ln -s f d/l", p.dir);
	(void)boxd_script(&p, 1, "", script, NULL);
	boxd_say(&p, WIRE_STAT, 2, "{\"path\":\"%s/d/f\"}", p.dir);
	text = boxd_expect(&p, WIRE_DONE, 2);
	assert_non_null(strstr(text, "\"kind\":\"file\",\"size\":4"));
	boxd_say(&p, WIRE_STAT, 3, "{\"path\":\"%s/d/l\"}", p.dir);
	assert_non_null(strstr(boxd_expect(&p, WIRE_DONE, 3), "\"kind\":\"symlink\""));
	boxd_say(&p, WIRE_STAT, 4, "{\"path\":\"%s/d/none\"}", p.dir);
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 4), "not_found"));
	boxd_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_end_said_twice),
		cmocka_unit_test(test_one_file),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_user_rules_hold),
		cmocka_unit_test(test_stat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
