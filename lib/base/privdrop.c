/*
 * Dropping users, capabilities and the way back to them. Talks to the kernel directly: the four
 * calls needed do not warrant libcap.
 */
#include "privdrop.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

bool privdrop_become(uid_t uid, gid_t gid, struct err *err)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	if (geteuid() != uid || getegid() != gid) {
		if (setgroups(0, NULL))
			return err_errno(err, ERR_INTERNAL, "become uid %u: groups", uid);
		if (setresgid(gid, gid, gid))
			return err_errno(err, ERR_INTERNAL, "become gid %u", gid);
		if (setresuid(uid, uid, uid))
			return err_errno(err, ERR_INTERNAL, "become uid %u", uid);
	}
	if (getresuid(&r, &e, &s) || getresgid(&rg, &eg, &sg) || r != uid || e != uid || s != uid ||
		rg != gid || eg != gid || sg != gid)
		return err_set(err, ERR_INTERNAL, "become uid %u: it did not take", uid);
	return true;
}

bool privdrop_no_new_privs(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return err_errno(err, ERR_INTERNAL, "no_new_privs");
	return true;
}

bool privdrop_keep(const int *caps, size_t n, struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct want[2] = {{0}}, have[2] = {{0}};

	for (size_t i = 0; i < n; i++) {
		want[caps[i] / 32].permitted |= 1u << (caps[i] % 32);
		want[caps[i] / 32].effective |= 1u << (caps[i] % 32);
	}
	/* the bounding set first: dropping from it needs a capability that goes next */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (want[cap / 32].permitted & 1u << (cap % 32))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return err_errno(err, ERR_INTERNAL, "drop capability %d", cap);
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return err_errno(err, ERR_INTERNAL, "clear ambient capabilities");
	if (syscall(SYS_capset, &head, want))
		return err_errno(err, ERR_INTERNAL, "set capabilities");
	if (syscall(SYS_capget, &head, have) || have[0].permitted != want[0].permitted ||
		have[1].permitted != want[1].permitted || have[0].effective != want[0].effective ||
		have[1].effective != want[1].effective)
		return err_set(err, ERR_INTERNAL, "set capabilities: they did not take");
	return privdrop_no_new_privs(err);
}

void privdrop_no_core(void)
{
	struct rlimit none = {0};

	(void)setrlimit(RLIMIT_CORE, &none);
}
