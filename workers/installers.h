#pragma once
/*
 * Packages of a sandbox: what is run in the box for each package manager while its window is open,
 * against the gate's routes (gate_pkg.h) and nothing else, and what came of it. As the agent, whose
 * code it will be; apt alone as root, since dpkg is. The window itself (boxes.egress) is the
 * caller's to open and close.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct guest;

struct install {
	const char *manager;  /* of package_manager_names */
	const char *packages; /* JSON array of specs; NULL: none */
	const char *from;     /* a lock file in workdir: package_file.h; NULL: none */
	const char *workdir;  /* where the code will run */
};

/* *installed: JSON array of {"name","version"}, all that is there now and was not before, in the
 * job's pool. ERR_INVALID "invalid_package" where a spec or the lock file is refused; ERR_UPSTREAM
 * "packages" with the manager's last words where it failed. */
bool package_install(struct guest *g, const struct install *in, int64_t deadline,
	const char **installed, struct err *err) NODISCARD;
