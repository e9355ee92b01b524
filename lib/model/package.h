#pragma once
/*
 * Packages as people ask for them: a name, with the one version wanted in the syntax of the
 * language. Flags, URLs, paths, VCS references and version ranges are none: what passes here may
 * stand in the command line of an installer.
 *
 *	pip    requests==2.32.3, uvicorn[standard]==0.34.0     npm    left-pad@1.3.0,
 *@scope/name@1.0.0 apt    jq=1.7.1-6                                      go
 *github.com/owner/name@v1.2.3 maven  group:artifact:1.0 (the version is a must)
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct pool;

#define PACKAGES_MAX 25 /* that one may ask for; what they need in turn is not counted */

enum package_manager {
	PACKAGE_PIP,
	PACKAGE_NPM,
	PACKAGE_APT,
	PACKAGE_GO,
	PACKAGE_MAVEN,
	PACKAGE_MANAGER__COUNT
};
extern const char *const package_manager_names[PACKAGE_MANAGER__COUNT];
/* False: none of that name. */
bool package_manager_find(const char *name, enum package_manager *out);

struct package {
	const char *spec;    /* as asked; checked */
	const char *name;    /* without extras */
	const char *version; /* "": none was named */
};

/* One spec; ERR_INVALID, reason invalid_package, the fix shows how it is written. */
bool package_parse(struct pool *pool, enum package_manager manager, const char *spec,
	struct package *out, struct err *err) NODISCARD;
/* All of them, into an array of n: at most PACKAGES_MAX, none twice. */
bool packages_parse(struct pool *pool, enum package_manager manager, const char *const *specs,
	size_t n, struct package *out, struct err *err) NODISCARD;
