/*
 * Guests for tests. Failing to bring one up is not a test's result but the end of the program.
 */
#include "vm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

#define BUILD_MS 900000
#define HELLO_MS 180000

static _Noreturn void fail(const char *what, const struct err *err)
{
	(void)fprintf(stderr, "vm: %s: %s (%s)\n", what, err->msg, err->fix);
	exit(1);
}

/* The build script is a no-op where the image is in the cache. */
static void image_build(const char *cache_dir)
{
	struct child c = {.argv = (const char *const[]){"workers/box/images/build", "base",
				  cache_dir, "build/box", NULL},
		.env = (const char *const *)environ};
	struct err err = {0};
	int status = 0;

	if (!child_start(&c, &err) || !child_wait(&c, BUILD_MS, &status, &err) || status) {
		if (status)
			(void)err_set(&err, ERR_INTERNAL, "status %d", status);
		fail("building the image", &err);
	}
}

void vms_init(struct vms *v)
{
	struct err err = {0};
	const char *cache_dir = getenv("ASB_CACHE_DIR");

	*v = (struct vms){.pool = pool_new(),
		.cache_dir = cache_dir && *cache_dir ? cache_dir : "/var/cache/agent-sandbox",
		.dir = "/tmp/asb-vms.XXXXXX",
		.size = size_class_find("s"),
		.tpl = TEMPLATE_INIT};
	if (!mkdtemp(v->dir))
		(void)err_errno(&err, ERR_INTERNAL, "mkdtemp"), fail("folder", &err);
	image_build(v->cache_dir);
	if (!image_get(v->pool, v->cache_dir, "base", &v->image, &err))
		fail("image", &err);
}

void vms_template(struct vms *v)
{
	struct err err = {0};

	if (!template_make(v->pool, v->cache_dir, &v->image, v->size, NULL, &v->tpl, &err) ||
		!template_load(&v->tpl, &err))
		fail("template", &err);
}

void vms_done(struct vms *v)
{
	DIR *dir = opendir(v->dir);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		(void)closedir(dir);
	(void)rmdir(v->dir);
	cleanup_template(&v->tpl);
	pool_free(v->pool);
}

static void start(struct vms *v, const struct template *tpl, const char *mem_path, struct vm *vm)
{
	static int count;
	struct qemu_spec spec = {.marker = "asb-test",
		.image_dir = v->image.dir,
		.memory_bytes = v->size->memory_bytes,
		.cpus = v->size->cpus,
		.mem_fd = tpl ? tpl->mem_fd : -1,
		.state_fd = -1,
		.mem_path = mem_path};
	struct err err = {0};

	spec.disk = pool_printf(v->pool, "%s/disk%d", v->dir, ++count);
	CLEANUP(fd) int disk = open(spec.disk, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CLEANUP(fd) int state = -1;

	if (disk < 0 ||
		!disk_copy(tpl ? tpl->disk : image_disk(v->pool, &v->image, v->size), disk, &err))
		fail("disk", &err);
	if (tpl && !template_open_state(tpl, &state, &err))
		fail("state", &err);
	spec.state_fd = state;
	if (!qemu_start(v->pool, &spec, &vm->q, &err))
		fail("start", &err);
	vm->disk = spec.disk;
	vm->next_stream = 1;
	boxlink_init(&vm->link, vm->q.channel, vm->q.console);
}

void vm_start(struct vms *v, const struct template *tpl, struct vm *vm)
{
	start(v, tpl, NULL, vm);
}

void vm_start_shared(struct vms *v, const char *mem_path, struct vm *vm)
{
	start(v, NULL, mem_path, vm);
}

void vm_open(struct vm *vm, const char *hostname, struct json_object **hello)
{
	CLEANUP(json) struct json_object *got = NULL;
	struct err err = {0};

	if (!boxlink_hello(&vm->link, HELLO_MS, &got, &err)) {
		(void)fprintf(stderr, "console:\n%s\n", vm->link.console_tail.data);
		fail("hello", &err);
	}
	if (!boxlink_welcome(&vm->link, hostname, time_now_ms(), HELLO_MS, NULL, &err))
		fail("welcome", &err);
	if (hello)
		*hello = STEAL(got);
}

void vm_stop(struct vm *vm)
{
	boxlink_done(&vm->link);
	qemu_kill(&vm->q);
	(void)unlink(vm->disk);
}

const char *vm_output(struct vms *v, struct vm *vm, const char *script)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	struct err err = {0};

	if (!boxlink_exec(&vm->link, vm->next_stream++, "agent",
		    (const char *const[]){"/bin/bash", "-c", script, NULL}, 60000, &e, &err))
		fail(script, &err);
	if (e.code) {
		(void)err_set(&err, ERR_INTERNAL, "code %" PRId64 " signal %" PRId64 ": %.100s",
			e.code, e.signal, e.out.data);
		fail(script, &err);
	}
	return pool_strdup(v->pool, e.out.data);
}

const char *host_file(struct pool *pool, const char *path)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	return pool_memdup(pool, text, n > 0 ? (size_t)n : 0);
}

double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

bool vm_probe(struct vm *vm, struct json_object **out, struct err *err)
{
	static const char no[] = "{\"reason\":\"sealed\"}";
	uint32_t stream = vm->next_stream++;
	struct wire_frame f;

	if (!boxlink_send(&vm->link, WIRE_PROBE, stream, "{}", err))
		return false;
	do {
		if (!boxlink_next(&vm->link, 60000, &f, err))
			return false;
	} while (f.type != WIRE_OPEN);
	return boxlink_send(&vm->link, WIRE_REFUSE, f.stream, no, err) &&
	       boxlink_expect(&vm->link, WIRE_PROBE, stream, 60000, out, err);
}
