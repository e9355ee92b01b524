/*
 * Confinement of the processes that parse what the network sends: whoever takes one over can start
 * nothing and reach nothing but the sockets of this host.
 */
#include "confine.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <seccomp.h>

static bool add_rules(scmp_filter_ctx ctx)
{
	static const int forbidden[] = {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace),
		SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(mount),
		SCMP_SYS(bpf), SCMP_SYS(userfaultfd), SCMP_SYS(unshare), SCMP_SYS(setns),
		SCMP_SYS(io_uring_setup)};

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), forbidden[i], 0))
			return false;
	return !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
		SCMP_A0(SCMP_CMP_NE, AF_UNIX));
}

bool confine(struct err *err)
{
	const struct rlimit none = {0, 0};
	scmp_filter_ctx ctx;
	bool ok;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
		return err_errno(err, ERR_INTERNAL, "confine");
	ctx = seccomp_init(SCMP_ACT_ALLOW);
	ok = ctx && add_rules(ctx) && !seccomp_load(ctx);
	seccomp_release(ctx);
	return ok || err_set(err, ERR_INTERNAL, "confine: seccomp refused the filter");
}
