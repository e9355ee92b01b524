/*
 * The filter under which the shim and its QEMU live, put on before QEMU is started and inherited by
 * it. A machine without a network card must not get one through its process: no socket outside
 * AF_UNIX can be made. And what an escaped guest would reach for next is refused too.
 */
#include "shim.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>

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

static bool rules_add(scmp_filter_ctx ctx)
{
	bool fine = true;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	fine &= !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
		SCMP_A0(SCMP_CMP_NE, AF_UNIX));
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

bool shim_confine(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc = -ENOMEM;

	/* another ABI's numbers would walk around the list: calls of one are killed, the default */
	if (ctx && rules_add(ctx))
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	if (rc || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		return err_set(err, ERR_INTERNAL, "seccomp filter: error %d", -rc);
	return true;
}
