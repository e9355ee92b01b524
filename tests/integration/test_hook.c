/*
 * asb-hook as an agent CLI runs it: silent while no question is open, and a refusal whenever it is
 * not sure of that; and the settings of the image that make the CLI run it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"

#define PROGRAM "build/box/asb-hook"
#define SETTINGS "workers/box/images/managed-settings.json"

static char dir[] = "/tmp/asb-hook-XXXXXX";

static const char *in(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* Its exit status; what it says in out. n bytes are written to it, all of which it must take. */
static int hook(const char *event, const char *marker, size_t n, bool listens, struct buf *out)
{
	char piece[4096];
	int to[2], from[2], status = 0;
	pid_t pid;
	ssize_t got;

	memset(piece, 'x', sizeof(piece));
	assert_int_equal(pipe(to) | pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(to[0], 0);
		(void)dup2(from[1], 1);
		(void)dup2(from[1], 2);
		if (!listens)
			(void)close(1);
		(void)closefrom(3);
		(void)execl(PROGRAM, "hook", event, marker, (char *)NULL);
		_exit(99);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	for (size_t left = n; left; left -= left < sizeof(piece) ? left : sizeof(piece)) {
		size_t part = left < sizeof(piece) ? left : sizeof(piece);

		assert_int_equal(write(to[1], piece, part), part);
	}
	(void)close(to[1]);
	while ((got = read(from[0], piece, sizeof(piece))) > 0)
		(void)buf_add(out, piece, (size_t)got);
	(void)close(from[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void marker_make(const char *name)
{
	CLEANUP(fd) int fd = open(in(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
}

static void test_silent_without_a_question(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);

	(void)state;
	assert_int_equal(hook("PreToolUse", in("none"), 0, true, &out), 0);
	assert_int_equal(hook("PostToolUse", in("none"), 1 << 20, true, &out), 0);
	assert_string_equal(out.data, "");
}

static void test_denies_and_ends(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);
	CLEANUP(json) struct json_object *pre = NULL;
	CLEANUP(json) struct json_object *post = NULL;
	struct json_object *inner;
	const char *text;
	struct err err;
	bool yes = true;

	(void)state;
	marker_make("question");
	assert_int_equal(hook("PreToolUse", in("question"), 1 << 20, true, &out), 0);
	assert_true(json_parse(out.data, out.len, &pre, &err));
	assert_true(json_get_bool(pre, "continue", &yes) && !yes);
	inner = json_get(pre, "hookSpecificOutput");
	assert_true(json_get_text(inner, "hookEventName", &text) && !strcmp(text, "PreToolUse"));
	assert_true(json_get_text(inner, "permissionDecision", &text) && !strcmp(text, "deny"));
	assert_true(json_get_text(inner, "permissionDecisionReason", &text));
	assert_non_null(strstr(text, "next message"));
	buf_reset(&out);
	yes = true;
	assert_int_equal(hook("PostToolUse", in("question"), 0, true, &out), 0);
	assert_true(json_parse(out.data, out.len, &post, &err));
	assert_true(json_get_bool(post, "continue", &yes) && !yes);
	assert_null(json_get(post, "hookSpecificOutput"));
}

/* Whatever is not a clear "no question" must not look like one: exit 0 without words. */
static void test_in_doubt_refuses(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);

	(void)state;
	marker_make("question");
	/* it cannot say it: nobody listens */
	assert_int_equal(hook("PreToolUse", in("question"), 0, false, &out), 2);
	assert_non_null(strstr(out.data, "A question is open"));
	/* it cannot look: the folder is a file, or the name is too long */
	buf_reset(&out);
	assert_int_equal(hook("PreToolUse", in("question/x"), 0, true, &out), 0);
	assert_non_null(strstr(out.data, "\"deny\""));
	/* a link to nowhere is there */
	buf_reset(&out);
	assert_int_equal(symlink("/nowhere", in("link")), 0);
	assert_int_equal(hook("PreToolUse", in("link"), 0, true, &out), 0);
	assert_non_null(strstr(out.data, "\"deny\""));
	assert_int_equal(hook("SomethingElse", in("none"), 0, true, &out), 2);
	assert_int_equal(hook(NULL, NULL, 0, true, &out), 2);
}

/* The image's settings have the CLI ask the hook for every tool, and take a hook that fails or is
 * slow for a refusal; no other hook and no server counts. */
static void test_settings_fail_closed(void **state)
{
	static const struct {
		const char *event, *command;
	} rows[] = {
		{"PreToolUse", "/usr/local/lib/asb/hook PreToolUse"},
		{"PostToolUse", "/usr/local/lib/asb/hook PostToolUse"},
		{"PostToolUseFailure", "/usr/local/lib/asb/hook PostToolUse"},
	};
	CLEANUP(json) struct json_object *all = NULL;
	CLEANUP(fd) int fd = open(SETTINGS, O_RDONLY | O_CLOEXEC);
	struct json_object *servers;
	char text[8192];
	struct err err;
	bool ours_only = false, off = false;
	ssize_t n;

	(void)state;
	n = read(fd, text, sizeof(text));
	assert_in_range(n, 1, sizeof(text) - 1);
	assert_true(json_parse(text, (size_t)n, &all, &err));
	assert_true(json_get_bool(all, "allowManagedHooksOnly", &ours_only) && ours_only);
	assert_false(json_get_bool(all, "disableAllHooks", &off) && off);
	servers = json_get(all, "allowedMcpServers");
	assert_non_null(servers);
	assert_int_equal(json_count(servers), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_object *groups = json_get(json_get(all, "hooks"), rows[i].event);
		struct json_object *group = json_at(groups, 0);
		struct json_object *one = json_at(json_get(group, "hooks"), 0);
		const char *said = "";
		int64_t timeout_s = 0;

		assert_int_equal(json_count(groups), 1);
		assert_int_equal(json_count(json_get(group, "hooks")), 1);
		assert_true(json_get_text(group, "matcher", &said));
		assert_string_equal(said, "*");
		assert_true(json_get_text(one, "type", &said));
		assert_string_equal(said, "command");
		assert_true(json_get_text(one, "command", &said));
		assert_string_equal(said, rows[i].command);
		assert_true(json_get_text(one, "onFailure", &said));
		assert_string_equal(said, "block");
		assert_true(json_get_i64(one, "timeout", &timeout_s));
		assert_int_equal(timeout_s, 5);
	}
}

static int setup(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(in("question"));
	(void)unlink(in("link"));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_without_a_question),
		cmocka_unit_test(test_denies_and_ends),
		cmocka_unit_test(test_in_doubt_refuses),
		cmocka_unit_test(test_settings_fail_closed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
