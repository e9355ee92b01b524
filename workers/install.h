#pragma once
/*
 * Packages of a sandbox: the one window in which its gate lets it reach the package indexes.
 */
#include <stdint.h>

#include "err.h"

struct guest;
struct runner;

/* Installs boxes.packages of the job's box, which g is attached to in the lane admin: opens the
 * window (boxes.egress), installs, fills boxes.installed, and closes the window again whatever
 * came of it. Nothing where none were asked for. ERR_INVALID or ERR_UPSTREAM with the reason
 * "packages" and the installer's words. */
bool install_packages(
	struct runner *r, struct guest *g, int64_t deadline, struct err *err) NODISCARD;
