/*
 * The seccomp filter of every program that a box or the network speaks to, and of QEMU, which
 * inherits its shim's. A list of what is refused rather than of what is let through: libraries
 * change what they call, and a filter that kills a program for a new way to sleep is soon taken
 * out.
 */
#include "confine.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>

#include "privdrop.h"

/* Refused whatever their arguments. */
static const int refused[] = {
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(kcmp),
	SCMP_SYS(bpf),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(reboot),
	SCMP_SYS(personality),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsmount),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
};

/* Families are refused one by one, since a rule looks at an argument once. */
static bool sockets_refuse(scmp_filter_ctx ctx, bool inet)
{
	bool fine = true;

	for (int family = 0; family < AF_MAX; family++) {
		/* the resolver asks netlink which addresses this host has */
		if (family == AF_UNIX ||
			(inet && (family == AF_INET || family == AF_INET6 || family == AF_NETLINK)))
			continue;
		fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
			SCMP_A0_32(SCMP_CMP_EQ, (scmp_datum_t)family));
	}
	fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
		SCMP_A0_32(SCMP_CMP_GE, AF_MAX));
	return fine;
}

static bool rules_add(scmp_filter_ctx ctx, unsigned may)
{
	bool fine = sockets_refuse(ctx, may & CONFINE_INET);

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	if (!(may & CONFINE_EXEC)) {
		fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execve), 0);
		fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execveat), 0);
	}
	/* threads yes, user namespaces no; clone3's flags lie in memory, so glibc is sent to clone
	 */
	fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
	fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* typing into another's terminal */
	fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
		SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, 0x5412 /* TIOCSTI */));
	return fine;
}

bool confine(unsigned may, struct err *err)
{
	scmp_filter_ctx ctx;
	int rc = -ENOMEM;

	privdrop_no_core();
	if (!privdrop_no_new_privs(err))
		return false;
	ctx = seccomp_init(SCMP_ACT_ALLOW);
	/* another ABI's numbers would walk around the list: calls of one are killed, the default */
	if (ctx && rules_add(ctx, may))
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	if (rc || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		return err_set(err, ERR_INTERNAL, "seccomp filter: error %d", -rc);
	return true;
}
