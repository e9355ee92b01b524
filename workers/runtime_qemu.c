/*
 * Boxes as QEMU microVMs. Starting and ending is qemu.c's; here is what a row of the table adds:
 * reading back from a process's own arguments, and from the machine itself, what it was given.
 */
#include "runtimes.h"

#include <string.h>

#include "isolation.h"
#include "text.h"

static bool qemu_box_start(struct pool *pool, const struct runtime_spec *spec,
	struct runtime_box *out, struct err *err)
{
	struct qemu_spec vm = {
		.marker = spec->marker,
		.image_dir = spec->image_dir,
		.disk = spec->disk,
		.memory_bytes = spec->memory_bytes,
		.cpus = spec->cpus,
		.mem_fd = spec->mem_fd,
		.state_fd = spec->state_fd,
	};

	return qemu_start(pool, &vm, &out->vm, err);
}

static void qemu_box_destroy(struct runtime_box *box)
{
	qemu_kill(&box->vm);
}

/* "1024M", "1G", "size=1024M,...", plain numbers are MiB. */
static bool memory_parse(const char *arg, int64_t *out)
{
	static const char units[] = "KMG";
	char number[24];
	const char *unit;
	int64_t v, scale = 1024 * 1024;
	size_t n;

	if (text_has_prefix(arg, "size="))
		arg += 5;
	n = strspn(arg, "0123456789");
	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, arg, n);
	number[n] = '\0';
	if (arg[n] && arg[n] != ',') {
		unit = strchr(units, arg[n]);
		if (!unit)
			return false;
		scale = 1024;
		for (const char *u = units; u < unit; u++)
			scale *= 1024;
	}
	if (!text_to_i64(number, 0, INT64_MAX / scale, &v))
		return false;
	*out = v * scale;
	return true;
}

static bool cpus_parse(const char *arg, int64_t *out)
{
	char number[8];
	size_t n;

	if (text_has_prefix(arg, "cpus="))
		arg += 5;
	n = strspn(arg, "0123456789");
	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, arg, n);
	number[n] = '\0';
	return text_to_i64(number, 1, 1024, out);
}

/* Does this pair of arguments give the machine a network? */
static bool is_nic(const char *option, const char *value)
{
	static const char *const cards[] = {"virtio-net", "e1000", "rtl8139", "vmxnet3", "ne2k",
		"pcnet", "i825", "igb", "tulip", "usb-net", "vhost-", "rocker", "spapr-vlan",
		"xen-net"};

	if (!strcmp(option, "-nic") || !strcmp(option, "-net"))
		return strcmp(value, "none") != 0;
	if (!strcmp(option, "-netdev"))
		return true;
	if (strcmp(option, "-device"))
		return false;
	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
		if (text_has_prefix(value, cards[i]))
			return true;
	return false;
}

static bool qemu_inspect_arguments(
	char *const *argv, size_t argc, struct runtime_facts *out, struct err *err)
{
	struct runtime_facts facts = {.memory_bytes = -1, .cpus = -1};

	for (size_t i = 1; i + 1 < argc; i++) {
		if (!strcmp(argv[i], "-m") && !memory_parse(argv[i + 1], &facts.memory_bytes))
			return err_set(err, ERR_INTERNAL, "read back: -m is not a size");
		if (!strcmp(argv[i], "-smp") && !cpus_parse(argv[i + 1], &facts.cpus))
			return err_set(err, ERR_INTERNAL, "read back: -smp is not a number");
		facts.nics += is_nic(argv[i], argv[i + 1]);
	}
	if (facts.memory_bytes < 0 || facts.cpus < 0)
		return err_set(
			err, ERR_INTERNAL, "read back: the process names no memory or processors");
	*out = facts;
	return true;
}

static bool qemu_count_nics(struct runtime_box *box, int64_t *out, struct err *err)
{
	struct qemu_facts facts;

	if (!qemu_inspect(&box->vm, &facts, err))
		return false;
	*out = facts.nics;
	return true;
}

static bool qemu_box_pause(struct runtime_box *box, struct err *err)
{
	return qemu_pause(&box->vm, err);
}

static bool qemu_box_resume(struct runtime_box *box, struct err *err)
{
	return qemu_resume(&box->vm, err);
}

const struct runtime runtime_qemu = {
	.name = "qemu",
	.isolation = ISOLATION_EMULATED,
	.has_image = true,
	.confined = true,
	.start = qemu_box_start,
	.destroy = qemu_box_destroy,
	.pause = qemu_box_pause,
	.resume = qemu_box_resume,
	.inspect = qemu_inspect_arguments,
	.count_nics = qemu_count_nics,
};
