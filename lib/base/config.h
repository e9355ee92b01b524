#pragma once
/*
 * Settings: defaults < file (KEY=value lines; --config PATH or ASB_CONFIG) < environment. An
 * unknown key in the file is an error; KEY_FILE=path reads a secret from a file. One struct, read
 * once in main, passed down, never written after. The table in config.c is also docs/config.md.
 */
#include <stdint.h>

#include "err.h"

struct buf;
struct pool;

struct config {
	/* site */
	const char *site;      /* ASB_SITE: 8 characters naming this installation on this host */
	const char *url;       /* ASB_URL: what people open, e.g. http://127.0.0.1:8380 */
	const char *state_dir; /* ASB_STATE_DIR: survives restarts */
	const char *run_dir;   /* ASB_RUN_DIR: sockets and box directories; wiped at boot */
	const char *cache_dir; /* ASB_CACHE_DIR: images and templates, by key */
	const char *lib_dir;   /* ASB_LIB_DIR: sql/, programs and box binaries as installed */
	const char *log_level; /* ASB_LOG_LEVEL */
	/* database: one conninfo; each program puts its own role in `user` */
	const char *db;		 /* ASB_DB, e.g. "host=/run/... dbname=asb" */
	const char *db_passfile; /* ASB_DB_PASSFILE: libpq passfile of this program's role, or "" */
	/* doors */
	const char *operator_token; /* MCP_HTTP_TOKEN(_FILE) */
	int64_t web_children;	    /* ASB_WEB_CHILDREN */
	int64_t has_conformance;    /* ASB_CONFORMANCE: fixtures of the MCP suite, on loopback */
	/* boxes */
	int64_t uid_base;  /* BOX_UID_BASE: first of the site's 256 uids; 0: no uid separation */
	int64_t box_slots; /* BOX_SLOTS: live boxes at the most on this host */
	const char *box_image;	  /* BOX_IMAGE: default image name */
	int64_t box_memory_mb;	  /* BOX_MEMORY_MB */
	int64_t box_cpus;	  /* BOX_CPUS */
	int64_t box_pool;	  /* BOX_POOL: -1: by the host's memory */
	int64_t box_max_s;	  /* BOX_MAX_S: a box is destroyed this long after creation */
	int64_t box_idle_s;	  /* BOX_IDLE_S: of a sandbox that nobody uses */
	const char *box_runtime;  /* BOX_RUNTIME: qemu (process exists in test builds only) */
	const char *box_runtimes; /* BOX_RUNTIMES: others that may be asked for */
	/* gate */
	const char
		*git_upstreams; /* ASB_GIT_UPSTREAMS: "host=http://127.0.0.1:1234/git host2=..." */
	const char *model_upstream;   /* ANTHROPIC_BASE_URL */
	const char *model_key;	      /* ANTHROPIC_API_KEY(_FILE): the gate's alone */
	const char *seal_key;	      /* ASB_SEAL_KEY(_FILE): the gate's alone */
	const char *receipt_key;      /* ASB_RECEIPT_KEY(_FILE): the gate's alone */
	int64_t has_model;	      /* ASB_MODEL: for who may not see the key */
	int64_t has_client_documents; /* ASB_CLIENT_DOCUMENTS */
	const char *private_allow;    /* EGRESS_PRIVATE_ALLOW: "ADDRESS:PORT ..." */
	const char *ca_file;	      /* EGRESS_CA_FILE */
	int64_t model_retries;	      /* ASB_MODEL_RETRIES */
	/* package indexes, ASB_PKG_*: "URL" or "URL OTHER-URL"; "": none */
	const char *pkg_npm, *pkg_pypi, *pkg_debian, *pkg_go, *pkg_maven;
	int64_t pkg_bytes_max; /* ASB_PKG_BYTES_MAX, of a box */
	int64_t stall_ms;      /* ASB_STALL_MS */
	int64_t leave_ms;      /* ASB_LEAVE_MS */
	/* limits on what people send and get */
	int64_t upload_max;   /* ASB_UPLOAD_MAX bytes */
	int64_t artifact_max; /* ASB_ARTIFACT_MAX bytes */
	int64_t run_blob_max; /* ASB_RUN_BLOB_MAX bytes */
	int64_t log_max;      /* ASB_LOG_MAX bytes */
	/* days that rows are kept, 0: for ever */
	int64_t audit_days, egress_days, model_calls_days;
	/* times, ms: decisions.md; settings so that tests need not wait */
	int64_t lease_ms, renew_ms, reap_ms;
	int64_t starting_ms, running_ms, asked_ms, destroying_ms;
	int64_t model_stall_ms; /* ASB_MODEL_STALL_MS: silence of a host that ends a transfer */
	int64_t heartbeat_ms;	/* of a stream */
	int64_t rescan_ms; /* how often asb-live looks for what a lost notification would have told
			    */
};

/* argv: --config PATH is taken; anything else is an error naming the usage. */
bool config_load(struct pool *pool, int argc, char **argv, const struct config **out,
	struct err *err) NODISCARD;
/* May boxes be of this runtime: is it BOX_RUNTIME, or one of BOX_RUNTIMES? */
bool config_has_runtime(const struct config *cfg, const char *runtime);
/* conninfo for a role: db + user=ROLE + passfile. */
const char *config_db(struct pool *pool, const struct config *cfg, const char *role);
/* The table of settings as Markdown: docs/config.md. */
void config_print(struct buf *b);
