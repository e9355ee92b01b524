/*
 * Bringing a QEMU process up and steering it. The command line is one list, the same for a cold
 * boot, a template and its clones but for where memory comes from, since a clone must be the very
 * machine its template was. Guests under emulation get the `pc` machine with an HPET: without one
 * the kernel's TSC calibration has no reference and hangs now and then.
 */
#include "qemu.h"

#include <sys/socket.h>

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "killpoint.h"
#include "pool.h"
#include "qmp.h"
#include "text.h"

/* QEMU answers its monitor in milliseconds; a machine swamped by other builds may take seconds. */
#define ANSWER_MS 20000
#define SAVE_MS 60000
/* Memory that is shared (a template's file) is not part of the stream. */
#define SET_CAPABILITIES                                                             \
	"{\"execute\":\"migrate-set-capabilities\",\"arguments\":{\"capabilities\":" \
	"[{\"capability\":\"x-ignore-shared\",\"state\":true}]}}"
/* Where descriptors stand in QEMU. */
enum { FD_QMP = 3, FD_CHANNEL, FD_CONSOLE, FD_MEM, FD_STATE };

/*
 * init_on_free: pages of ended processes hold secrets, and a checkpoint would keep them.
 * mitigations=off only under emulation, where nothing is speculated but every retpoline is paid
 * for; norandmaps too, since QEMU finds translated code by its address: with ld.so and libc at a
 * new place in each process, each process is translated anew (all clones of a template share its
 * kernel's and boxd's addresses anyway). A fifth level of page tables would only slow each walk
 * down (-la57). reboot=t with -no-reboot: the guest's end is QEMU's end. rcu_expedited: cgroups and
 * mounts wait for grace periods, 10 ms each without it. An idle guest is woken by nothing but what
 * has to be done: compaction looked twice a second, and each wake is a millisecond under emulation.
 */
#define KERNEL_LINE                                                                               \
	"console=ttyS0 quiet loglevel=3 panic=-1 reboot=t init_on_free=1 random.trust_cpu=on "    \
	"tsc=reliable no_timer_check rcupdate.rcu_expedited=1 cryptomgr.notests 8250.nr_uarts=1 " \
	"init_on_alloc=0 clearcpuid=112 audit=0 psi=0 nowatchdog "                                \
	"sysctl.vm.compaction_proactiveness=0 sysctl.vm.stat_interval=120"
#define SANDBOX "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

/* Its heap in huge pages: half of QEMU's start was page faults on memory it fills once. */
static const char *const environment[] = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1", NULL};

struct args {
	struct pool *pool;
	const char *v[64];
	size_t n;
};

static void arg(struct args *a, const char *s)
{
	if (a->n + 1 < sizeof(a->v) / sizeof(a->v[0])) /* the last stays NULL */
		a->v[a->n++] = s;
}

static void arg2(struct args *a, const char *name, const char *value)
{
	arg(a, name);
	arg(a, value);
}

/* QEMU's option lists end a value at a comma; a comma in a path is written twice. */
static const char *option_path(struct pool *pool, const char *path)
{
	char *out = pool_alloc(pool, 2 * strlen(path) + 1), *to = out;

	for (; *path; path++) {
		if (*path == ',')
			*to++ = ',';
		*to++ = *path;
	}
	return out;
}

/* What does not vary from box to box. */
static void args_machine(struct args *a, bool kvm)
{
	arg2(a, "-machine",
		pool_printf(a->pool,
			"%s,memory-backend=ram,graphics=off,vmport=off,usb=off,smbus=off,"
			"i8042=off,sata=off,dump-guest-core=off,mem-merge=off%s",
			kvm ? "q35" : "pc", kvm ? "" : ",hpet=on"));
	/* a box's translated code would otherwise grow to 1 GiB of the host's memory */
	arg2(a, "-accel", kvm ? "kvm" : "tcg,tb-size=256");
	arg2(a, "-cpu", kvm ? "host" : "max,-erms,-la57");
	arg(a, "-nodefaults");
	arg(a, "-no-user-config");
	arg(a, "-no-reboot");
	arg2(a, "-display", "none");
	if (!test_switch("noseccomp"))
		arg2(a, "-sandbox", SANDBOX);
	arg2(a, "-chardev", pool_printf(a->pool, "socket,id=qmp,fd=%d", FD_QMP));
	arg2(a, "-mon", "chardev=qmp,mode=control");
	arg2(a, "-chardev", pool_printf(a->pool, "socket,id=asb,fd=%d", FD_CHANNEL));
	arg2(a, "-device", "virtio-serial-pci,id=serial,max_ports=2,disable-legacy=on");
	arg2(a, "-device", "virtserialport,bus=serial.0,nr=1,chardev=asb,name=asb");
	arg2(a, "-chardev", pool_printf(a->pool, "socket,id=console,fd=%d", FD_CONSOLE));
	arg2(a, "-serial", "chardev:console");
	arg2(a, "-device", "virtio-blk-pci,drive=root,disable-legacy=on");
	arg2(a, "-device", "virtio-blk-pci,drive=disk,disable-legacy=on");
}

static const char *kernel_line(bool kvm)
{
	return kvm ? KERNEL_LINE : KERNEL_LINE " mitigations=off norandmaps";
}

static void args_memory(struct args *a, const struct qemu_spec *spec)
{
	int64_t bytes = spec->memory_bytes;
	const char *path = NULL;

	if (test_switch("memory2x"))
		bytes *= 2;
	if (spec->mem_path)
		path = option_path(a->pool, spec->mem_path);
	else if (spec->mem_fd >= 0)
		path = pool_printf(a->pool, "/proc/self/fd/%d", FD_MEM);
	arg2(a, "-m", pool_printf(a->pool, "%" PRId64 "M", bytes >> 20));
	arg2(a, "-smp", pool_printf(a->pool, "%" PRId64, spec->cpus));
	if (path)
		arg2(a, "-object",
			pool_printf(a->pool,
				"memory-backend-file,id=ram,size=%" PRId64 "M,mem-path=%s,share=%s",
				bytes >> 20, path, spec->mem_path ? "on" : "off"));
	else
		arg2(a, "-object",
			pool_printf(a->pool, "memory-backend-ram,id=ram,size=%" PRId64 "M",
				bytes >> 20));
}

static void args_box(struct args *a, const struct qemu_spec *spec)
{
	const char *image = option_path(a->pool, spec->image_dir);

	arg2(a, "-name", spec->marker);
	args_memory(a, spec);
	arg2(a, "-blockdev",
		pool_printf(a->pool,
			"raw,node-name=root,read-only=on,file.driver=file,file.locking=off,"
			"file.filename=%s/root.img",
			image));
	/* flushes are not passed on: a box's disk does not outlive a crash of the host */
	arg2(a, "-blockdev",
		pool_printf(a->pool,
			"raw,node-name=disk,cache.no-flush=on,discard=unmap,file.driver=file,"
			"file.filename=%s",
			option_path(a->pool, spec->disk)));
	if (spec->mem_fd >= 0) {
		arg2(a, "-incoming", "defer");
	} else {
		/* a clone has its kernel in memory: to load it again would cost 50 ms */
		arg2(a, "-kernel", pool_printf(a->pool, "%s/vmlinuz", spec->image_dir));
		arg2(a, "-initrd", pool_printf(a->pool, "%s/initrd", spec->image_dir));
		arg2(a, "-append", kernel_line(spec->kvm));
	}
	if (test_switch("nic"))
		arg2(a, "-device", "virtio-net-pci");
}

const char *qemu_machine_line(struct pool *pool, bool kvm)
{
	struct args a = {.pool = pool};
	const char *line = kernel_line(kvm);

	args_machine(&a, kvm);
	for (size_t i = 0; i < a.n; i++)
		line = pool_printf(pool, "%s %s", line, a.v[i]);
	return line;
}

/* The template's memory is there already; this brings in the devices and lets the guest go on. */
static bool guest_restore(struct qemu *q, struct err *err)
{
	char text[128];

	if (!qmp_command(q->qmp, SET_CAPABILITIES, -1, ANSWER_MS, NULL, err))
		return false;
	(void)snprintf(text, sizeof(text),
		"{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"fd:%d\"}}", FD_STATE);
	return qmp_command(q->qmp, text, -1, ANSWER_MS, NULL, err) &&
	       qmp_wait_event(q->qmp, "RESUME", ANSWER_MS, err);
}

bool qemu_start(struct pool *pool, const struct qemu_spec *spec, struct qemu *q, struct err *err)
{
	struct args a = {.pool = pool};
	int pairs[3][2];
	struct child_fd fds[5];
	size_t n = 0;
	bool ok;

	*q = (struct qemu){
		.child = {.pid = -1, .pidfd = -1}, .channel = -1, .qmp = -1, .console = -1};
	if (!text_is_name(spec->marker) || (spec->mem_fd >= 0) != (spec->state_fd >= 0))
		return err_set(err, ERR_INTERNAL, "qemu: bad marker, or memory without state");
	arg(&a, QEMU_PROGRAM);
	args_machine(&a, spec->kvm);
	args_box(&a, spec);
	for (int i = 0; i < 3; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i])) {
			while (i-- > 0) {
				(void)close(pairs[i][0]);
				(void)close(pairs[i][1]);
			}
			return err_errno(err, ERR_BUSY, "qemu: socketpair");
		}
		fds[n++] = (struct child_fd){.from = pairs[i][1], .to = FD_QMP + i};
	}
	if (spec->mem_fd >= 0) {
		fds[n++] = (struct child_fd){.from = spec->mem_fd, .to = FD_MEM};
		fds[n++] = (struct child_fd){.from = spec->state_fd, .to = FD_STATE};
	}
	q->qmp = pairs[0][0];
	q->channel = pairs[1][0];
	q->console = pairs[2][0];
	q->child.argv = a.v;
	q->child.env = environment;
	q->child.fds = fds;
	q->child.nfds = n;
	q->child.die_with_parent = true;
	ok = child_start(&q->child, err);
	q->child.argv = NULL; /* it lived in this frame, as fds did */
	q->child.fds = NULL;
	for (int i = 0; i < 3; i++)
		(void)close(pairs[i][1]);
	if (ok && qmp_open(q->qmp, ANSWER_MS, err) && (spec->mem_fd < 0 || guest_restore(q, err)))
		return true;
	qemu_kill(q);
	return err_wrap(err, "qemu");
}

static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void qemu_kill(struct qemu *q)
{
	child_kill(&q->child);
	close_and_forget(&q->channel);
	close_and_forget(&q->qmp);
	close_and_forget(&q->console);
}

bool qemu_pause(struct qemu *q, struct err *err)
{
	return qmp_command(q->qmp, "{\"execute\":\"stop\"}", -1, ANSWER_MS, NULL, err);
}

bool qemu_resume(struct qemu *q, struct err *err)
{
	return qmp_command(q->qmp, "{\"execute\":\"cont\"}", -1, ANSWER_MS, NULL, err);
}

/* Over every bus, since a bridge could hide one. */
static int64_t count_nics(struct json_object *buses)
{
	int64_t nics = 0;

	for (size_t b = 0; b < json_count(buses); b++) {
		struct json_object *devices = json_get(json_at(buses, b), "devices");

		for (size_t d = 0; d < json_count(devices); d++) {
			struct json_object *class = json_get(json_at(devices, d), "class_info");
			int64_t id = 0;

			/* PCI base class 2 is "network controller" */
			nics += json_get_i64(class, "class", &id) && id >> 8 == 2;
		}
	}
	return nics;
}

bool qemu_inspect(struct qemu *q, struct qemu_facts *out, struct err *err)
{
	CLEANUP(json) struct json_object *pci = NULL, *memory = NULL, *cpus = NULL;
	int64_t memory_bytes;

	if (!qmp_command(q->qmp, "{\"execute\":\"query-pci\"}", -1, ANSWER_MS, &pci, err) ||
		!qmp_command(q->qmp, "{\"execute\":\"query-memory-size-summary\"}", -1, ANSWER_MS,
			&memory, err) ||
		!qmp_command(
			q->qmp, "{\"execute\":\"query-cpus-fast\"}", -1, ANSWER_MS, &cpus, err))
		return err_wrap(err, "qemu inspect");
	if (!json_get_i64(json_get(memory, "return"), "base-memory", &memory_bytes))
		return err_set(err, ERR_UPSTREAM, "qemu inspect: no memory size");
	out->nics = count_nics(json_get(pci, "return"));
	out->memory_bytes = memory_bytes;
	out->cpus = (int64_t)json_count(json_get(cpus, "return"));
	return true;
}

/* Asks every few milliseconds: the state is half a megabyte, written in one go. */
static bool save_wait(int qmp, struct err *err)
{
	int64_t deadline_ms = time_boot_ms() + SAVE_MS;

	while (time_boot_ms() < deadline_ms) {
		CLEANUP(json) struct json_object *answer = NULL;
		const char *status = "";

		if (!qmp_command(
			    qmp, "{\"execute\":\"query-migrate\"}", -1, ANSWER_MS, &answer, err))
			return false;
		if (json_get_text(json_get(answer, "return"), "status", &status)) {
			if (!strcmp(status, "completed"))
				return true;
			if (!strcmp(status, "failed") || !strcmp(status, "cancelled"))
				return err_set(
					err, ERR_UPSTREAM, "saving the device state: %s", status);
		}
		(void)usleep(5000);
	}
	return err_set(err, ERR_TIMEOUT, "saving the device state: still not done");
}

bool qemu_save(struct qemu *q, int fd, struct err *err)
{
	return qmp_command(q->qmp, "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}",
		       fd, ANSWER_MS, NULL, err) &&
	       qmp_command(q->qmp, SET_CAPABILITIES, -1, ANSWER_MS, NULL, err) &&
	       qmp_command(q->qmp, "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:state\"}}",
		       -1, ANSWER_MS, NULL, err) &&
	       save_wait(q->qmp, err);
}
