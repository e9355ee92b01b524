/*
 * What is run in a box to install packages: a row for each manager, with the script that installs
 * and the one that says what is there. Scripts are fixed texts; what somebody asked for comes to
 * them as arguments, each checked to be a package spec.
 */
#include "installers.h"

#include <assert.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "json.h"
#include "package.h"
#include "package_file.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

/* Who fetches: not root, and not _apt, whose group nogroup is no id of a container. */
#define APT_AS "-o APT::Sandbox::User=agent"
#define ROUTES "http://127.0.0.1:8377/pkg" /* boxd's listener: workers/box/boxd/egress.c */
#define LISTED_MAX 2000			   /* packages that are written down of a box */
#define LIST_BYTES (512u * 1024)
#define IVY_FILE "ivy.xml"

static const struct installer {
	const char *user;
	const char *script;    /* installs "$@" */
	const char *from;      /* installs from the lock file; NULL: there is none */
	const char *list;      /* prints NAME SEPARATOR VERSION lines */
	const char *separator; /* the last one in the line counts */
	bool lists_all;	       /* also what was there before: that is taken off */
} installers[] = {
	[PACKAGE_PIP] = {"agent",
		"exec python3 -m pip install --isolated --user --no-input --no-cache-dir -q "
		"--disable-pip-version-check --no-warn-script-location --progress-bar off "
		"--index-url " ROUTES "/pypi/simple/ -- \"$@\"",
		"exec python3 -m pip install --isolated --user --no-input --no-cache-dir -q "
		"--disable-pip-version-check --no-warn-script-location --progress-bar off "
		"--index-url " ROUTES "/pypi/simple/ -r requirements.txt",
		"exec python3 -m pip list --isolated --user --format freeze "
		"--disable-pip-version-check",
		"==", false},
	[PACKAGE_NPM] = {"agent",
		"exec npm install --registry " ROUTES
		"/npm/ --prefix . --no-save --no-audit --no-fund "
		"--no-update-notifier --loglevel error -- \"$@\"",
		"exec npm ci --registry " ROUTES "/npm/ --no-audit --no-fund --no-update-notifier "
		"--loglevel error",
		"exec node -e 'const p = JSON.parse(require(\"fs\").readFileSync("
		"\"node_modules/.package-lock.json\")).packages; for (const k in p) if "
		"(p[k].version) "
		"console.log(k.slice(k.lastIndexOf(\"node_modules/\") + 13) + \" \" + "
		"p[k].version)'",
		" ", false},
	[PACKAGE_APT] = {"root",
		"export DEBIAN_FRONTEND=noninteractive; apt-get -q " APT_AS
		" update >/dev/null && exec apt-get -q " APT_AS " install -- \"$@\" >/dev/null",
		NULL, "exec dpkg-query -W -f '${binary:Package} ${Version}\\n'", " ", true},
	[PACKAGE_GO] = {"agent",
		"[ -e go.mod ] || go mod init sandbox 2>/dev/null || exit; go get -- \"$@\" && "
		"exec go mod download",
		"exec go mod download",
		"exec go list -m -f '{{if not .Main}}{{.Path}} {{.Version}}{{end}}' all", " ",
		false},
	[PACKAGE_MAVEN] = {"agent",
		"exec java -jar /usr/share/java/ivy.jar -settings "
		"/usr/local/share/asb/ivysettings.xml -ivy /run/asb/" IVY_FILE
		" -error -types jar bundle "
		"-retrieve 'lib/[organisation]@[module]@[revision](-[classifier]).[ext]'",
		"exec java -jar /usr/share/java/ivy.jar -settings "
		"/usr/local/share/asb/ivysettings.xml -ivy pom.xml -error -types jar bundle "
		"-retrieve 'lib/[organisation]@[module]@[revision](-[classifier]).[ext]'",
		"cd lib 2>/dev/null || exit 0; for f in *@*@*.jar; do f=${f%.jar}; m=${f%@*}; "
		"[ \"$f\" = '*@*@*' ] || echo \"${m%@*}:${m##*@} ${f##*@}\"; done",
		" ", false},
};
static_assert(sizeof(installers) / sizeof(installers[0]) == PACKAGE_MANAGER__COUNT, "each one");

struct work {
	struct guest *g;
	struct pool *pool;
	const struct install *in;
	const struct installer *how;
	enum package_manager manager;
	int64_t deadline;
	struct json_object *before; /* an object of names, where how->lists_all */
};

/* --- running things --- */

static bool output_keep(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct buf *b = arg;

	(void)err;
	if (stream == 1)
		(void)buf_add(b, data, n); /* past the maximum there is no more */
	return true;
}

/* The script with these arguments (NULL-ended; NULL: none), its stdout into out (may be NULL). */
static bool script_run(struct work *w, const char *script, const char *const *args, struct buf *out,
	const char *what, struct err *err)
{
	const struct config *cfg = w->g->r->cfg;
	const char *sums = strchr(cfg->pkg_go, ' ');
	const char *const env[] = {"GOPROXY", ROUTES "/go", "GOFLAGS", "-modcacherw", "GOSUMDB",
		sums && strstr(sums, "://") ? strstr(sums, "://") + 3 : "off", NULL};
	const char *argv[PACKAGES_MAX + 5] = {"/bin/sh", "-c", script, "install"};
	struct guest_exec x = {
		.argv = argv,
		.env = w->manager == PACKAGE_GO ? env : NULL,
		.cwd = w->in->workdir,
		.user = w->how->user,
		.sink = out ? output_keep : NULL,
		.arg = out,
	};

	for (size_t n = 4; args && *args; args++)
		argv[n++] = *args;
	x.timeout_ms = w->deadline - time_boot_ms();
	if (x.timeout_ms <= 0)
		return err_set(err, ERR_TIMEOUT, "%s: no time was left", what);
	if (guest_exec_ok(w->g, &x, what, w->deadline, err))
		return true;
	return err->reason[0] ? false : err_advise(err, "packages", NULL);
}

/* --- what is there --- */

/* Each line of the list that is one, in turn; the rest is no one's. */
static bool listed_next(struct work *w, char **at, const char **name, const char **version)
{
	while (**at) {
		char *line = *at, *eol = strchr(line, '\n'), *sep = NULL;
		size_t n = strlen(w->how->separator);

		*at = eol ? eol + 1 : line + strlen(line);
		if (eol)
			*eol = '\0';
		for (char *p = line; (p = strstr(p, w->how->separator)); p += n)
			sep = p;
		if (!sep || sep == line || !sep[n] || strlen(line) > 400)
			continue;
		*sep = '\0';
		*name = line;
		*version = sep + n;
		return true;
	}
	return false;
}

static const char *sane(struct work *w, const char *s)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1600);

	text_add_sane(&b, s, strlen(s));
	return pool_strdup(w->pool, b.data);
}

/* Text of the list, memory of the pool. */
static bool list_read(struct work *w, char **out, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(LIST_BYTES);

	if (!script_run(w, w->how->list, NULL, &b, "list packages", err))
		return false;
	*out = pool_memdup(w->pool, b.data, b.len);
	return true;
}

static bool before_read(struct work *w, struct err *err)
{
	const char *name, *version;
	char *at;

	if (!w->how->lists_all)
		return true;
	if (!list_read(w, &at, err))
		return false;
	w->before = json_new_object();
	while (listed_next(w, &at, &name, &version))
		json_add_text(w->before, name, version);
	return true;
}

static bool after_read(struct work *w, const char **installed, struct err *err)
{
	CLEANUP(json) struct json_object *list = json_new_array();
	const char *name, *version, *was;
	char *at;

	if (!list_read(w, &at, err))
		return false;
	while (json_count(list) < LISTED_MAX && listed_next(w, &at, &name, &version)) {
		struct json_object *o;

		if (w->before && json_get_text(w->before, name, &was) && !strcmp(was, version))
			continue;
		o = json_new_object();
		json_add_text(o, "name", sane(w, name));
		json_add_text(o, "version", sane(w, version));
		json_push(list, o);
	}
	*installed = json_text(list, w->pool);
	return true;
}

/* --- what is wanted --- */

/* Ivy reads what it is to fetch from a file. The specs hold no character that XML minds. */
static bool ivy_write(struct work *w, const struct package *p, size_t n, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(64u * 1024);

	(void)buf_adds(&b,
		"<ivy-module version=\"2.0\"><info organisation=\"asb\" module=\"sandbox\"/>"
		"<configurations><conf name=\"default\"/></configurations><dependencies>");
	for (size_t i = 0; i < n; i++) {
		int group = (int)strcspn(p[i].name, ":");

		(void)buf_addf(&b,
			"<dependency org=\"%.*s\" name=\"%s\" rev=\"%s\" "
			"conf=\"default->default\"/>",
			group, p[i].name, p[i].name + group + 1, p[i].version);
	}
	(void)buf_adds(&b, "</dependencies></ivy-module>\n");
	return guest_file_in(
		w->g, "/run/asb", IVY_FILE, "agent", 0644, b.data, b.len, w->deadline, err);
}

static bool packages_put(struct work *w, struct err *err)
{
	CLEANUP(json) struct json_object *list = NULL;
	const char *specs[PACKAGES_MAX + 1] = {NULL};
	struct package p[PACKAGES_MAX];
	size_t n;

	if (!json_parse(w->in->packages, strlen(w->in->packages), &list, err))
		return err_wrap(err, "packages");
	n = json_count(list);
	for (size_t i = 0; i < n && i < PACKAGES_MAX; i++)
		if (!json_as_text(json_at(list, i), &specs[i]))
			specs[i] = "";
	if (!packages_parse(w->pool, w->manager, specs, n, p, err))
		return false;
	if (!n)
		return true;
	if (w->manager == PACKAGE_MAVEN && !ivy_write(w, p, n, err))
		return false;
	return script_run(w, w->how->script, w->manager == PACKAGE_MAVEN ? NULL : specs, NULL,
		"install packages", err);
}

static bool from_put(struct work *w, struct err *err)
{
	static const char cat[] = "exec cat -- \"$1\"";
	CLEANUP(buf) struct buf b = BUF_INIT(PACKAGE_FILE_MAX + 65536);
	enum package_manager manager;

	if (!package_file_manager(w->in->from, &manager) || manager != w->manager ||
		!w->how->from) {
		(void)err_set(err, ERR_INVALID, "packages_from: %.80s is no lock file of %s",
			w->in->from, package_manager_names[w->manager]);
		return err_advise(err, "invalid_package",
			"requirements.txt, package-lock.json, go.sum or pom.xml");
	}
	return script_run(w, cat, (const char *const[]){w->in->from, NULL}, &b, w->in->from, err) &&
	       package_file_check(w->pool, manager, b.data, b.len, err) &&
	       script_run(w, w->how->from, NULL, NULL, "install packages", err);
}

bool package_install(struct guest *g, const struct install *in, int64_t deadline,
	const char **installed, struct err *err)
{
	struct work w = {.g = g, .pool = g->r->pool, .in = in, .deadline = deadline};
	bool ok;

	if (!package_manager_find(in->manager, &w.manager))
		return err_set(err, ERR_INTERNAL, "no package manager %s", in->manager);
	w.how = &installers[w.manager];
	ok = before_read(&w, err) && (!in->from || from_put(&w, err)) &&
	     (!in->packages || packages_put(&w, err)) && after_read(&w, installed, err);
	json_free(w.before);
	return ok;
}
