/*
 * Packages of a sandbox: the window is opened, the language's installer run, and the window closed
 * again, with what came in written beside it. Where the runner dies in between, the box is made
 * anew.
 */
#include "install.h"

#include <string.h>

#include "guest.h"
#include "installers.h"
#include "language.h"
#include "package_window.h"
#include "runner.h"

static bool open_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return package_window_open(r->db, &r->job.fence, r->box.id, err);
}

static bool close_body(struct runner *r, void *arg, struct err *err)
{
	return package_window_close(r->db, &r->job.fence, r->box.id, arg, err);
}

bool install_packages(struct runner *r, struct guest *g, int64_t deadline, struct err *err)
{
	const struct language *language = language_find(r->box.language);
	const struct install in = {
		.manager = language ? language->manager : "",
		.packages = r->box.packages[0] ? r->box.packages : NULL,
		.from = r->box.packages_from[0] ? r->box.packages_from : NULL,
		.workdir = r->box.upload_id ? "/workspace/tree" : "/workspace",
	};
	const char *installed = NULL;
	struct err ignored;
	bool ok;

	if ((!in.packages || !strcmp(in.packages, "[]")) && !in.from)
		return true;
	if (!runner_try(r, open_body, NULL, err))
		return false;
	ok = package_install(g, &in, deadline, &installed, err);
	return runner_try(r, close_body, (void *)(uintptr_t)installed, ok ? err : &ignored) && ok;
}
