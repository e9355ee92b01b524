/*
 * Settings: one table, three layers (defaults, file, environment). The table is also
 * docs/config.md. Nothing here knows what a setting is for; what must hold between settings is
 * checked once at the end.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "pool.h"
#include "text.h"

/* A settings file or secret longer than this is a mistake. */
#define FILE_MAX 65536

enum setting_type { SETTING_TEXT, SETTING_INT };

struct setting {
	const char *name;
	enum setting_type type;
	bool secret; /* may come as NAME_FILE, and is never printed */
	size_t offset;
	const char *text; /* default of a text */
	int64_t value;	  /* default of a number, in [min, max] */
	int64_t min, max;
	const char *help;
};

/* The offset of member m, which must be of type t, or this does not compile. */
#define OFFSET(m, t)                                                            \
	(offsetof(struct config, m) +                                           \
		0 * sizeof(char[__builtin_types_compatible_p(                   \
					__typeof__(((struct config *)0)->m), t) \
					? 1                                     \
					: -1]))
#define TEXT(n, m, def, h)                                                            \
	{                                                                             \
		.name = (n), .type = SETTING_TEXT, .offset = OFFSET(m, const char *), \
		.text = (def), .help = (h)                                            \
	}
#define SECRET(n, m, h)                                                    \
	{                                                                  \
		.name = (n), .type = SETTING_TEXT, .secret = true,         \
		.offset = OFFSET(m, const char *), .text = "", .help = (h) \
	}
#define INT(n, m, def, lo, hi, h)                                                               \
	{                                                                                       \
		.name = (n), .type = SETTING_INT, .offset = OFFSET(m, int64_t), .value = (def), \
		.min = (lo), .max = (hi), .help = (h)                                           \
	}

#define MIB (1024 * 1024)
#define DAY_MS (24 * 3600 * 1000)

/* clang-format off */
static const struct setting settings[] = {
	TEXT("ASB_SITE", site, "site0000", "8 lower-case letters or digits that name this installation on its host."),
	TEXT("ASB_URL", url, "http://127.0.0.1:8380", "What people open; links are made from it. Plain http only on loopback."),
	INT("ASB_CONFORMANCE", has_conformance, 0, 0, 1, "1: /mcp also has what the official conformance suite wants to find; for tests on loopback only."),
	TEXT("ASB_STATE_DIR", state_dir, "/var/lib/agent-sandbox", "What survives restarts: database, secrets, logs, box disks."),
	TEXT("ASB_RUN_DIR", run_dir, "/run/agent-sandbox", "Sockets and box directories; wiped at boot."),
	TEXT("ASB_CACHE_DIR", cache_dir, "/var/cache/agent-sandbox", "Images and templates, by key; may be removed at any time."),
	TEXT("ASB_LIB_DIR", lib_dir, "/usr/lib/agent-sandbox", "Programs, sql/ and box binaries as installed."),
	TEXT("ASB_LOG_LEVEL", log_level, "info", "error, warn, info or debug."),
	TEXT("ASB_DB", db, "host=/run/agent-sandbox/pg dbname=asb", "libpq connection string; each program puts its own role in."),
	TEXT("ASB_DB_PASSFILE", db_passfile, "", "libpq password file of this program's role; empty where the server trusts the peer."),
	SECRET("MCP_HTTP_TOKEN", operator_token, "The operator's token, at least 20 characters. The site does not start without it."),
	INT("ASB_WEB_CHILDREN", web_children, 4, 1, 256, "Processes that answer requests."),
	INT("BOX_UID_BASE", uid_base, 0, 0, 4000000000, "First of the site's 256 uids; 0: everything under one uid, slots not separated."),
	INT("BOX_SLOTS", box_slots, 8, 1, 240, "Live boxes at the most on this host."),
	TEXT("BOX_IMAGE", box_image, "base", "Image of a box when the request names none."),
	INT("BOX_MEMORY_MB", box_memory_mb, 1024, 128, 4096, "Memory of a box when the request names none."),
	INT("BOX_CPUS", box_cpus, 1, 1, 4, "Processors of a box when the request names none."),
	INT("BOX_POOL", box_pool, -1, -1, 64, "Boxes kept ahead, paused, of each image and size that is wanted; each takes a slot, and all at the most half of them. 0: none; -1: one for each 8 GiB of the host's memory, at least 1 and at most 4."),
	INT("BOX_MAX_S", box_max_s, 86400, 60, 30 * 86400, "A box is destroyed this long after its creation, seconds."),
	INT("BOX_IDLE_S", box_idle_s, 1800, 1, 30 * 86400, "A sandbox that nobody has used for so long is destroyed, seconds."),
	TEXT("BOX_RUNTIME", box_runtime, "qemu", "Runtime of new boxes: qemu, podman, docker, msb, or auto: the best that asb doctor has proved on this host."),
	TEXT("BOX_RUNTIMES", box_runtimes, "", "More runtimes that a sandbox may ask for, with spaces between. A container engine, here or in BOX_RUNTIME, makes asb-spawn keep root."),
	TEXT("ASB_GIT_UPSTREAMS", git_upstreams, "", "Git hosts that tasks may clone from: \"name=http(s)://host/path ...\"."),
	TEXT("ANTHROPIC_BASE_URL", model_upstream, "https://api.anthropic.com", "Where the gate sends model calls."),
	SECRET("ANTHROPIC_API_KEY", model_key, "Key that the gate adds to model calls of accounts that have entered none; empty: those are refused."),
	SECRET("ASB_SEAL_KEY", seal_key, "Seed of the X25519 key that secrets are sealed to, which the gate alone opens, 32 bytes in base64 for URLs; empty: none can be entered."),
	SECRET("ASB_RECEIPT_KEY", receipt_key, "Seed of the Ed25519 key that the gate signs receipts with, 32 bytes in base64 for URLs; empty: none are signed."),
	INT("ASB_MODEL", has_model, 0, 0, 1, "1: the gate has a key for model calls, which no other program may see; 0: agents that need a model are refused."),
	INT("ASB_CLIENT_DOCUMENTS", has_client_documents, 1, 0, 1, "1: a client_id of OAuth may be the https address of a document, which the gate reads; 0: clients register, as on a site that reaches no other hosts."),
	TEXT("EGRESS_PRIVATE_ALLOW", private_allow, "", "Endpoints that names chosen by others may lead to although they are private, or not at port 443: \"10.0.0.5:443 [fd00::5]:8443\"."),
	TEXT("EGRESS_CA_FILE", ca_file, "", "PEM file of the certificate authorities that the gate believes; empty: the system's."),
	INT("ASB_MODEL_RETRIES", model_retries, 10, 0, 100, "How often an agent tries a failed model call again."),
	TEXT("ASB_PKG_NPM", pkg_npm, "https://registry.npmjs.org", "The npm registry that sandboxes get packages from; empty: none."),
	TEXT("ASB_PKG_PYPI", pkg_pypi, "https://pypi.org/simple https://files.pythonhosted.org", "Python's index (PEP 503), and where the files are that it names."),
	TEXT("ASB_PKG_DEBIAN", pkg_debian, "http://deb.debian.org", "The host of Debian's archives debian/ and debian-security/."),
	TEXT("ASB_PKG_GO", pkg_go, "https://proxy.golang.org https://sum.golang.org", "Go's module proxy, and the checksum database; without the second, sums are not checked against one."),
	TEXT("ASB_PKG_MAVEN", pkg_maven, "https://repo.maven.apache.org/maven2", "A repository in Maven's layout."),
	INT("ASB_PKG_BYTES_MAX", pkg_bytes_max, 1024 * MIB, 65536, 65536LL * MIB, "Bytes that one box may get from package indexes."),
	INT("ASB_STALL_MS", stall_ms, 600000, 100, DAY_MS, "An agent that says nothing and gets nothing from its model for so long has stalled: its turn fails."),
	INT("ASB_LEAVE_MS", leave_ms, 30000, 100, DAY_MS, "How long an agent may take to leave when it is through; then it is killed, and the turn is done."),
	INT("ASB_UPLOAD_MAX", upload_max, 256 * MIB, 1024, 4096LL * MIB, "Largest upload, bytes."),
	INT("ASB_ARTIFACT_MAX", artifact_max, 64 * MIB, 1024, 4096LL * MIB, "Largest stored artifact, bytes."),
	INT("ASB_RUN_BLOB_MAX", run_blob_max, 512 * MIB, 1024, 65536LL * MIB, "Stored bytes of one run, all blobs together."),
	INT("ASB_LOG_MAX", log_max, 1024 * MIB, 65536, 65536LL * MIB, "Kept bytes of one log; the rest of a box's output is counted, not kept."),
	INT("ASB_AUDIT_DAYS", audit_days, 400, 0, 36500, "Days that audit rows are kept; 0: for ever."),
	INT("ASB_EGRESS_DAYS", egress_days, 90, 0, 36500, "Days that rows of what boxes reached, or were refused, are kept; 0: for ever."),
	INT("ASB_MODEL_CALLS_DAYS", model_calls_days, 400, 0, 36500, "Days that rows of model calls are kept; 0: for ever."),
	INT("ASB_LEASE_MS", lease_ms, 15000, 100, DAY_MS, "How long a claim holds without renewal."),
	INT("ASB_RENEW_MS", renew_ms, 5000, 50, DAY_MS, "How often a claim is renewed; less than half of ASB_LEASE_MS."),
	INT("ASB_REAP_MS", reap_ms, 5000, 50, DAY_MS, "How often expired claims are looked for."),
	INT("ASB_STARTING_MS", starting_ms, 180000, 100, DAY_MS, "Deadline of a turn that is starting."),
	INT("ASB_RUNNING_MS", running_ms, 3600000, 100, 7LL * DAY_MS, "Deadline of a turn that is running."),
	INT("ASB_ASKED_MS", asked_ms, DAY_MS, 100, 30LL * DAY_MS, "How long a question may stay open."),
	INT("ASB_DESTROYING_MS", destroying_ms, 60000, 100, DAY_MS, "Deadline of destroying a box."),
	INT("ASB_MODEL_STALL_MS", model_stall_ms, 300000, 1000, 3600000, "A model call, a fetch or a package ends when nothing has come for so long."),
	INT("ASB_HEARTBEAT_MS", heartbeat_ms, 15000, 50, 60000, "How often a stream sends a heartbeat; nginx waits 60 s."),
	INT("ASB_RESCAN_MS", rescan_ms, 5000, 50, 60000, "How often asb-live looks for news without being notified."),
};
/* clang-format on */
#define NSETTINGS (sizeof(settings) / sizeof(settings[0]))

static const char **text_at(struct config *cfg, const struct setting *s)
{
	return (const char **)((char *)cfg + s->offset);
}

/* The setting called name, or whose file `name` is ("X_FILE"); NULL: none. */
static const struct setting *setting_find(const char *name, bool *is_file)
{
	for (size_t i = 0; i < NSETTINGS; i++) {
		size_t n = strlen(settings[i].name);

		if (strncmp(name, settings[i].name, n))
			continue;
		*is_file = settings[i].secret && !strcmp(name + n, "_FILE");
		if (!name[n] || *is_file)
			return &settings[i];
	}
	return NULL;
}

static bool read_file(struct pool *pool, const char *path, const char **out, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(FILE_MAX);
	CLEANUP(file) FILE *f = fopen(path, "re");
	char *to;
	size_t n;

	if (!f)
		return err_errno(err, ERR_INVALID, "open %s", path);
	do {
		to = buf_room(&b, 4096);
		if (!to)
			return err_set(
				err, ERR_INVALID, "%s is larger than %d bytes", path, FILE_MAX);
		n = fread(to, 1, 4096, f);
		buf_grew(&b, n);
	} while (n);
	if (ferror(f))
		return err_errno(err, ERR_INVALID, "read %s", path);
	if (!text_is_utf8(b.data, b.len))
		return err_set(err, ERR_INVALID, "%s is not UTF-8 text", path);
	*out = pool_memdup(pool, b.data, b.len);
	return true;
}

static bool set_value(struct pool *pool, struct config *cfg, const struct setting *s, bool is_file,
	const char *value, struct err *err)
{
	char *text;
	size_t n;

	if (s->type == SETTING_INT) {
		int64_t v;

		if (!text_to_i64(value, s->min, s->max, &v))
			return err_set(err, ERR_INVALID,
				"%s: must be a whole number from %lld to %lld", s->name,
				(long long)s->min, (long long)s->max);
		*(int64_t *)((char *)cfg + s->offset) = v;
		return true;
	}
	if (is_file) {
		if (!read_file(pool, value, &value, err))
			return err_wrap(err, "%s_FILE", s->name);
		text = pool_strdup(pool, value);
		for (n = strlen(text); n && strchr("\r\n", text[n - 1]); n--)
			text[n - 1] = '\0';
		value = text;
	}
	*text_at(cfg, s) = pool_strdup(pool, value);
	return true;
}

/* KEY=value of the file, spaces cut; a value may stand in double or single quotes. */
static bool take_line(
	struct pool *pool, struct config *cfg, char *line, bool *seen, struct err *err)
{
	char *eq = strchr(line, '='), *value;
	const struct setting *s;
	bool is_file = false;
	size_t n;

	if (!eq)
		return err_set(err, ERR_INVALID, "expected KEY=value");
	*eq = '\0';
	value = eq + 1;
	for (n = strlen(line); n && strchr(" \t", line[n - 1]); n--)
		line[n - 1] = '\0';
	value += strspn(value, " \t");
	for (n = strlen(value); n && strchr(" \t\r", value[n - 1]); n--)
		value[n - 1] = '\0';
	if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
		value[n - 1] = '\0';
		value++;
	}
	s = setting_find(line, &is_file);
	if (!s)
		return err_set(err, ERR_INVALID, "unknown setting %.60s", line);
	if (seen[s - settings])
		return err_set(err, ERR_INVALID, "%s is set twice", s->name);
	seen[s - settings] = true;
	return set_value(pool, cfg, s, is_file, value, err);
}

static bool take_file(struct pool *pool, struct config *cfg, const char *path, struct err *err)
{
	bool seen[NSETTINGS] = {false};
	const char *text;
	char *line, *end;
	int n = 0;

	if (!read_file(pool, path, &text, err))
		return false;
	for (line = pool_strdup(pool, text); line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		n++;
		line += strspn(line, " \t\r");
		if (!*line || *line == '#' || *line == ';')
			continue;
		if (!take_line(pool, cfg, line, seen, err))
			return err_wrap(err, "%s line %d", path, n);
	}
	return true;
}

static bool take_environment(struct pool *pool, struct config *cfg, struct err *err)
{
	for (size_t i = 0; i < NSETTINGS; i++) {
		const struct setting *s = &settings[i];
		const char *value = getenv(s->name);
		const char *file = s->secret ? getenv(pool_printf(pool, "%s_FILE", s->name)) : NULL;

		if (value && file)
			return err_set(
				err, ERR_INVALID, "%s and %s_FILE are both set", s->name, s->name);
		if ((value || file) &&
			!set_value(pool, cfg, s, file != NULL, file ? file : value, err))
			return err_wrap(err, "environment");
	}
	return true;
}

static bool is_loopback(const char *host)
{
	size_t n = strcspn(host, ":/");

	if (text_has_prefix(host, "[::1]"))
		return true;
	return (n == 9 && (!strncmp(host, "127.0.0.1", n) || !strncmp(host, "localhost", n)));
}

/* What no single row can say. */
static bool check(const struct config *cfg, struct err *err)
{
	const char *host;

	if (strlen(cfg->site) != 8 ||
		strspn(cfg->site, "abcdefghijklmnopqrstuvwxyz0123456789") != 8)
		return err_set(
			err, ERR_INVALID, "ASB_SITE: must be 8 lower-case letters or digits");
	if (text_has_prefix(cfg->url, "https://"))
		host = cfg->url + strlen("https://");
	else if (text_has_prefix(cfg->url, "http://"))
		host = cfg->url + strlen("http://");
	else
		return err_set(err, ERR_INVALID, "ASB_URL: must begin with https:// or http://");
	if (!*host || strpbrk(host, "/@?# \t\"\\"))
		return err_set(
			err, ERR_INVALID, "ASB_URL: must be scheme://host[:port] and nothing more");
	if (text_has_prefix(cfg->url, "http://") && !is_loopback(host)) {
		(void)err_set(err, ERR_INVALID, "ASB_URL: plain http is for loopback only");
		return err_advise(err, NULL,
			"Set it to https://NAME and give the site TLS, or a proxy that has it: "
			"docs/access.md.");
	}
	if (cfg->has_conformance && !is_loopback(host))
		return err_set(err, ERR_INVALID,
			"ASB_CONFORMANCE: only for tests, of a site whose ASB_URL is on loopback");
	if (cfg->renew_ms * 2 > cfg->lease_ms)
		return err_set(
			err, ERR_INVALID, "ASB_RENEW_MS: must be at most half of ASB_LEASE_MS");
	return true;
}

/* BOX_RUNTIME=auto is what asb doctor wrote down as the best of this host; until it has run, QEMU
 * without hardware help, which runs everywhere. */
static void runtime_choose(struct pool *pool, struct config *cfg)
{
	char name[33] = "";

	if (strcmp(cfg->box_runtime, "auto"))
		return;
	CLEANUP(file) FILE *f = fopen(pool_printf(pool, "%s/runtime", cfg->state_dir), "re");
	cfg->box_runtime = "qemu";
	if (f && fscanf(f, "%32[a-z]", name) == 1)
		cfg->box_runtime = pool_strdup(pool, name);
}

bool config_load(
	struct pool *pool, int argc, char **argv, const struct config **out, struct err *err)
{
	struct config *cfg = POOL_NEW(pool, struct config);
	const char *path = getenv("ASB_CONFIG");

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--config") || i + 1 >= argc)
			return err_set(err, ERR_INVALID, "usage: %s [--config FILE]", argv[0]);
		path = argv[++i];
	}
	for (size_t i = 0; i < NSETTINGS; i++) {
		if (settings[i].type == SETTING_INT)
			*(int64_t *)((char *)cfg + settings[i].offset) = settings[i].value;
		else
			*text_at(cfg, &settings[i]) = settings[i].text;
	}
	if (path && *path && !take_file(pool, cfg, path, err))
		return err_wrap(err, "settings");
	if (!take_environment(pool, cfg, err) || !check(cfg, err))
		return err_wrap(err, "settings");
	runtime_choose(pool, cfg);
	*out = cfg;
	return true;
}

bool config_has_runtime(const struct config *cfg, const char *runtime)
{
	size_t n = strlen(runtime), len;

	if (!strcmp(cfg->box_runtime, runtime))
		return true;
	for (const char *at = cfg->box_runtimes; at && *at; at += len + strspn(at + len, " ")) {
		len = strcspn(at, " ");
		if (len && len == n && !memcmp(at, runtime, n))
			return true;
	}
	return false;
}

const char *config_db(struct pool *pool, const struct config *cfg, const char *role)
{
	return pool_printf(pool, "%s user=%s%s%s", cfg->db, role,
		*cfg->db_passfile ? " passfile=" : "", cfg->db_passfile);
}

void config_print(struct buf *b)
{
	(void)buf_adds(b, "# Settings\n\n"
			  "Printed from the table of settings by `make docs`; a test fails where "
			  "it is stale.\n\n"
			  "Defaults are overridden by the file that `--config` or `ASB_CONFIG` "
			  "names (`NAME=value` lines),\n"
			  "and that by the environment. An unknown name in the file is an error. A "
			  "secret may also be given\n"
			  "as `NAME_FILE`, the path of a file that holds it.\n\n");
	(void)buf_adds(b, "| setting | default | what |\n|---|---|---|\n");
	for (size_t i = 0; i < NSETTINGS; i++) {
		const struct setting *s = &settings[i];

		(void)buf_addf(b, "| `%s`%s | ", s->name, s->secret ? ", or `_FILE`" : "");
		if (s->type == SETTING_INT)
			(void)buf_addf(b, "%lld (%lld to %lld)", (long long)s->value,
				(long long)s->min, (long long)s->max);
		else
			(void)buf_addf(
				b, "%s%s%s", *s->text ? "`" : "", s->text, *s->text ? "`" : "");
		(void)buf_addf(b, " | %s |\n", s->help);
	}
}
