/*
 * What every runtime must do, one body for all of them: it runs over each that this host has, and
 * says which it left out and why. QEMU is never left out, nor podman where this is root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "container.h"
#include "json.h"
#include "pool.h"
#include "runtimes.h"
#include "template.h"
#include "testprogram.h"
#include "text.h"
#include "trial.h"
#include "vm.h"
#include "wire.h"

#define TIMEOUT_MS 30000

static struct vms vms;
/* The cache as it was when we began: another build may make "base" mean another image meanwhile. */
static char view[] = "/tmp/asb-view.XXXXXX";

/* A step that must hold; its text is the error. */
#define MUST(condition)                                                                         \
	do {                                                                                    \
		if (!(condition))                                                               \
			return err_set(err, ERR_INTERNAL, "line %d: %s", __LINE__, #condition); \
	} while (0)

/* Runs a script as the agent; *e is the caller's to clean. */
static bool script(struct trial_box *b, const char *text, int timeout_ms, struct boxlink_exit *e,
	struct err *err)
{
	const char *const argv[] = {"/bin/bash", "-c", text, NULL};

	return boxlink_exec(&b->link, b->next_stream++, "agent", argv, timeout_ms, e, err);
}

/* Its output must be this and its exit status 0. */
static bool says(struct trial_box *b, const char *text, const char *want, struct err *err)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	if (!script(b, text, TIMEOUT_MS, &e, err))
		return false;
	if (e.code == 0 && !strcmp(e.out.data, want))
		return true;
	return err_set(err, ERR_INTERNAL, "%.60s: exit %lld, said %.80s", text, (long long)e.code,
		e.out.data);
}

static bool exits(struct trial_box *b, struct err *err)
{
	static const struct {
		const char *text;
		int64_t code, signal;
	} rows[] = {{"true", 0, 0}, {"false", 1, 0}, {"exit 255", 255, 0},
		{"kill -SEGV $$", -1, 11}, {"kill -TERM $$", -1, 15}, {"no-such-program", 127, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

		if (!script(b, rows[i].text, TIMEOUT_MS, &e, err))
			return err_wrap(err, "%s", rows[i].text);
		if (e.code != rows[i].code || e.signal != rows[i].signal)
			return err_set(err, ERR_INTERNAL, "%s: exit %lld signal %lld", rows[i].text,
				(long long)e.code, (long long)e.signal);
	}
	return says(b, "id -u; hostname; pwd", "1000\n" TRIAL_BOX "\n/\n", err);
}

static bool timeouts(struct trial_box *b, struct err *err)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	if (!script(b,
		    "setsid sleep 4321 & env -i /usr/bin/setsid /bin/sh -c '/bin/sleep 4322 & "
		    "exit' & "
		    "echo on; sleep 4323",
		    1500, &e, err))
		return false;
	MUST(e.timed_out);
	MUST(!strcmp(e.out.data, "on\n"));
	if (!says(b, "pgrep -fc '^(/bin/)?sleep 432[123]' || true", "0\n", err))
		return err_wrap(err, "what a time-out killed");
	/* the control: one that lives is seen */
	return says(b, "sleep 4320 & sleep 0.3; pgrep -fc '^sleep 432[0]'; kill $!", "1\n", err);
}

/* Everything in `text` goes to cat's standard input, and comes back. */
static bool input(struct trial_box *b, struct err *err)
{
	static const char request[] =
		"{\"argv\":[\"/usr/bin/tr\",\"a-z\",\"A-Z\"],\"cwd\":\"/\",\"user\":\"agent\","
		"\"lane\":\"drive\",\"stdin\":true,\"timeout_ms\":20000}";
	CLEANUP(buf) struct buf out = BUF_INIT(4096);
	uint32_t stream = b->next_stream++;
	struct wire_frame f;

	if (!boxlink_send(&b->link, WIRE_EXEC, stream, request, err) ||
		!boxlink_send_bytes(&b->link, WIRE_STDIN, stream, "from outside", 12, err) ||
		!boxlink_send_bytes(&b->link, WIRE_EOF, stream, NULL, 0, err))
		return false;
	do {
		if (!boxlink_next(&b->link, TIMEOUT_MS, &f, err))
			return false;
		if (f.stream == stream && f.type == WIRE_STDOUT)
			(void)buf_add(&out, f.payload + WIRE_OFFSET, f.length - WIRE_OFFSET);
		MUST(f.type != WIRE_ERROR);
	} while (f.stream != stream || f.type != WIRE_EXIT);
	MUST(!strcmp(out.data, "FROM OUTSIDE"));
	return boxlink_send(&b->link, WIRE_ACK_EXIT, stream, "{}", err);
}

static bool tar_out(struct trial_box *b, const char *path, struct buf *out, struct err *err)
{
	uint32_t stream = b->next_stream++;
	char request[128];
	struct wire_frame f;

	(void)snprintf(request, sizeof(request), "{\"path\":\"%s\",\"max_bytes\":1048576}", path);
	if (!boxlink_send(&b->link, WIRE_TAR_OUT, stream, request, err))
		return false;
	do {
		if (!boxlink_next(&b->link, TIMEOUT_MS, &f, err))
			return false;
		if (f.stream == stream && f.type == WIRE_DATA)
			(void)buf_add(out, f.payload, f.length);
		MUST(f.type != WIRE_ERROR);
	} while (f.stream != stream || f.type != WIRE_DONE);
	return true;
}

/* A tree out of the box and in again elsewhere. */
static bool files(struct trial_box *b, struct err *err)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
	uint32_t stream;

	if (!says(b,
		    "mkdir -p /workspace/a/sub && cd /workspace/a && echo one >f && "
		    "printf '#!/bin/sh\\necho two\\n' >sub/x && chmod 755 sub/x",
		    "", err) ||
		!tar_out(b, "/workspace/a", &tar, err))
		return err_wrap(err, "tar out");
	MUST(tar.len >= 1024 && tar.len < 65536);
	stream = b->next_stream++;
	if (!boxlink_send(&b->link, WIRE_TAR_IN, stream,
		    "{\"path\":\"/workspace/b\",\"user\":\"agent\"}", err))
		return false;
	for (size_t at = 0; at < tar.len; at += 16384) {
		size_t n = tar.len - at < 16384 ? tar.len - at : 16384;

		if (!boxlink_send_bytes(&b->link, WIRE_DATA, stream, tar.data + at, n, err))
			return false;
	}
	if (!boxlink_send_bytes(&b->link, WIRE_EOF, stream, NULL, 0, err) ||
		!boxlink_expect(&b->link, WIRE_DONE, stream, TIMEOUT_MS, NULL, err))
		return err_wrap(err, "tar in");
	return says(b,
		"cd /workspace/b && cd \"$(dirname \"$(find . -name f)\")\" && cat f && ./sub/x && "
		"id -un",
		"one\ntwo\nagent\n", err);
}

/* It never ends by itself, and doubles until something stops it: the limit that each sandbox's exec
 * has, or the container's own; and then the time-out. */
static bool bomb(struct trial_box *b, struct err *err)
{
	static const char request[] =
		"{\"argv\":[\"/bin/bash\",\"-c\",\"bomb() { bomb | bomb & }; bomb; sleep 60\"],"
		"\"cwd\":\"/\",\"user\":\"agent\",\"lane\":\"drive\",\"timeout_ms\":4000,"
		"\"pids\":128}";
	CLEANUP(json) struct json_object *end = NULL;
	uint32_t stream = b->next_stream++;
	bool timed_out = false;

	if (!boxlink_send(&b->link, WIRE_EXEC, stream, request, err) ||
		!boxlink_expect(&b->link, WIRE_EXIT, stream, 60000, &end, err))
		return false;
	MUST(json_get_bool(end, "timed_out", &timed_out) && timed_out);
	return boxlink_send(&b->link, WIRE_ACK_EXIT, stream, "{}", err);
}

static bool limits(struct trial_box *b, struct err *err)
{
	CLEANUP(boxlink_exit) struct boxlink_exit memory = {0};

	if (!script(b, "python3 -c 'b = bytearray(1536 << 20); print(len(b))'", TIMEOUT_MS, &memory,
		    err))
		return err_wrap(err, "memory");
	MUST(memory.code != 0);
	MUST(!strstr(memory.out.data, "1610612736"));
	if (!says(b, "python3 -c 'b = bytearray(300 << 20); print(len(b) >> 20)'", "300\n", err))
		return err_wrap(err, "memory within the limit");
	if (!bomb(b, err))
		return err_wrap(err, "fork bomb");
	return says(b, "echo here", "here\n", err);
}

static bool seal(struct trial_box *b, struct err *err)
{
	if (!trial_box_sealed(b, err))
		return false;
	if (!says(b, "ls /sys/class/net", "lo\n", err))
		return false;
	if (!says(b, "timeout 5 bash -c 'echo >/dev/tcp/1.1.1.1/443' 2>/dev/null || echo refused",
		    "refused\n", err))
		return false;
	/* the control: what it has, it reaches */
	return says(b,
		"python3 -m http.server 8000 >/dev/null 2>&1 & for i in $(seq 100); do "
		"(echo >/dev/tcp/127.0.0.1/8000) 2>/dev/null && echo reached && break; "
		"sleep 0.2; done; kill $!",
		"reached\n", err);
}

/* What the row of the box would say of it. */
static bool isolation(struct trial_box *b, const char *runtime, struct err *err)
{
	static const struct {
		const char *runtime, *class;
	} rows[] = {{"qemu", "emulated-vm"}, {"podman", "container"},
		{"docker", "container, slots not separated"},
		{"msb", "container, a stand-in, slots not separated"}};

	if (getenv("ASB_MSB_REAL") && !strcmp(runtime, "msb"))
		return true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].runtime, runtime) &&
			!strcmp(rows[i].class, b->spawned.isolation))
			return true;
	return geteuid() ? true : err_set(err, ERR_INTERNAL, "says %s", b->spawned.isolation);
}

static bool body(struct trial *t, void *arg, struct err *err)
{
	struct trial_box b;
	struct err ignored;
	bool fine = trial_box_start(t, arg, "base", &b, err) && isolation(&b, arg, err) &&
		    seal(&b, err) && exits(&b, err) && timeouts(&b, err) && input(&b, err) &&
		    files(&b, err) && limits(&b, err) && seal(&b, err);

	if (!trial_box_destroy(t, &b, fine ? err : &ignored))
		return false;
	if (!fine)
		return false;
	/* a second life on the same name starts from nothing */
	if (!trial_box_start(t, arg, "base", &b, err))
		return err_wrap(err, "second life");
	fine = says(&b, "ls -A /workspace | wc -l", "0\n", err);
	return trial_box_destroy(t, &b, fine ? err : &ignored) && fine;
}

/* NULL: it can be tried here. */
static const char *left_out(const char *runtime)
{
	const struct engine *e = engine_find(runtime);
	const char *version;
	struct err err;

	if (!e)
		return NULL;
	if (geteuid())
		return "containers need root here";
	return engine_probe(vms.pool, e, &version, &err) ? NULL : pool_strdup(vms.pool, err.msg);
}

static void image_import(const char *engine)
{
	struct child c = {.argv = (const char *const[]){"workers/box/images/import", engine, "base",
				  view, NULL},
		.env = (const char *const *)environ,
		.die_with_parent = true};
	int status = 0;

	assert_done(child_start(&c, err) && child_wait(&c, 300000, &status, err));
	assert_int_equal(status, 0);
}

static void conformance(const char *runtime)
{
	const char *only = getenv("RUNTIME"), *why = left_out(runtime);
	char bin[4096];
	struct err said = {0};
	struct trial t;
	bool fine;

	if (only && *only && strcmp(only, runtime))
		skip();
	if (why) {
		(void)fprintf(stderr, "%s left out: %s\n", runtime, why);
		/* these are what the host must have; msb has a stand-in */
		assert_true(geteuid() || !strcmp(runtime, "docker"));
		/* `make runtimes` gives it a daemon, and then it must be there */
		assert_null(getenv("DOCKER_HOST"));
		skip();
	}
	if (engine_find(runtime))
		image_import(runtime);
	(void)snprintf(bin, sizeof(bin), "%s", testprogram("asb-spawn"));
	*strrchr(bin, '/') = '\0';
	assert_done(trial_begin(&t, vms.pool, view, bin, err));
	fine = trial_as_worker(&t, body, (void *)(uintptr_t)runtime, &said);
	trial_end(&t);
	if (!fine)
		fail_msg("%s: %s", runtime, said.msg);
	/* nothing of it is left in the folder either */
	assert_int_not_equal(access(t.dir, F_OK), 0);
}

static void test_qemu(void **state)
{
	(void)state;
	conformance("qemu");
}

static void test_podman(void **state)
{
	(void)state;
	conformance("podman");
}

static void test_docker(void **state)
{
	(void)state;
	conformance("docker");
}

/* Of the host, where that is asked for and it has KVM; else the stand-in, which says so. */
static void test_msb(void **state)
{
	const char *path = getenv("PATH"), *version, *const own = getenv("ASB_MSB_REAL");
	char cwd[4096];

	(void)state;
	if (own) {
		conformance("msb");
		return;
	}
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(
		setenv("PATH", pool_printf(vms.pool, "%s/tests/support/stand-in:%s", cwd, path), 1),
		0);
	assert_done(engine_probe(vms.pool, engine_find("msb"), &version, err));
	assert_non_null(strstr(version, "stand-in"));
	conformance("msb");
	assert_int_equal(setenv("PATH", path, 1), 0);
}

static const char *in_view(const char *name)
{
	return pool_printf(vms.pool, "%s/%s", view, name);
}

static int group_setup(void **state)
{
	(void)state;
	vms_init(&vms);
	vms_template(&vms);
	return !mkdtemp(view) || chmod(view, 0755) || mkdir(in_view("images"), 0755) ||
	       mkdir(in_view("images/by-name"), 0755) || mkdir(in_view("tmp"), 0755) ||
	       symlink(pool_printf(vms.pool, "../%s", vms.image.key),
		       in_view("images/by-name/base")) ||
	       symlink(vms.image.dir, in_view(pool_printf(vms.pool, "images/%s", vms.image.key))) ||
	       symlink(pool_printf(vms.pool, "%s/templates", vms.cache_dir), in_view("templates"));
}

static int group_teardown(void **state)
{
	(void)state;
	(void)unlink(in_view("images/by-name/base"));
	(void)unlink(in_view(pool_printf(vms.pool, "images/%s", vms.image.key)));
	(void)unlink(in_view("templates"));
	(void)unlink(in_view("tmp/.import.lock"));
	(void)rmdir(in_view("images/by-name"));
	(void)rmdir(in_view("images"));
	(void)rmdir(in_view("tmp"));
	assert_int_equal(rmdir(view), 0);
	vms_done(&vms);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qemu),
		cmocka_unit_test(test_podman),
		cmocka_unit_test(test_docker),
		cmocka_unit_test(test_msb),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
