#pragma once
/* What every verb is given, and the few things that several verbs do. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

struct http;
struct json_object;
struct pool;

struct cli {
	struct pool *pool;
	struct http *http; /* after cli_connect */
	bool json;	   /* results as JSON on stdout, everything else on stderr */
};

/* Exit statuses beside those of err_info: what a run came to. */
#define STATUS_RUN_FAILED 1
#define STATUS_RUN_WAITING 10
/* The site is not there, and it took too long: told from "not now". */
#define STATUS_UNREACHABLE 8
#define STATUS_TIMEOUT 9
#define REASON_UNREACHABLE "unreachable" /* of the ERR_BUSY that says so */
/* ... and what a receipt is worth: changed, or whole by a key that nobody vouched for. */
#define STATUS_RECEIPT_BAD 1
#define STATUS_KEY_UNKNOWN 11

/* The site and its token (reach.h) into cli->http. */
bool cli_connect(struct cli *cli, struct err *err) NODISCARD;
/* The settings of a site on this host, from the file, or NULL: like every program's. */
struct config;
bool cli_settings(
	struct cli *cli, const char *file, const struct config **out, struct err *err) NODISCARD;
/* Where this program lies. */
bool cli_self(struct pool *pool, const char **path, struct err *err) NODISCARD;
/* The text of a file ("-": stdin), at most max bytes. */
bool cli_read_text(
	struct pool *pool, const char *path, size_t max, char **out, struct err *err) NODISCARD;
/* The same without the newline at its end. */
bool cli_read_file(
	struct pool *pool, const char *path, size_t max, char **out, struct err *err) NODISCARD;
/* A file without a name, gone when it is closed. */
bool cli_temporary(int *fd, struct err *err) NODISCARD;
/* All of a tar file as a blob of the site: its name, for `upload` of a request. */
bool cli_upload_tar(struct cli *cli, int fd, const char **blob, struct err *err) NODISCARD;
/* The working tree around dir as a blob; *name: what it is called in a box. What stays here is
 * told. include: paths that go all the same. */
bool cli_upload_tree(struct cli *cli, const char *dir, const char *const *include, size_t ninclude,
	const char **blob, const char **name, struct err *err) NODISCARD;
/* A line for people on stderr: "asb: ...". */
void cli_say(const char *fmt, ...) PRINTF(1, 2);
/* s without control characters and escapes; pool's memory. What a box says is hostile. */
const char *cli_sane(struct pool *pool, const char *s);
/* The same on one line: a name or a title that makes no further row of a list. */
const char *cli_line(struct pool *pool, const char *s);
/* One line of JSON on stdout. */
void cli_print_json(struct cli *cli, struct json_object *o);
/* A member that is text, "" where it is absent or null. */
const char *cli_text(struct json_object *o, const char *key);
/* path?key=value, the value percent-encoded. */
const char *cli_query(struct pool *pool, const char *path, const char *key, const char *value);
/* {"code","message","fix","context"}, as the API has it; the caller's. */
struct json_object *cli_error_json(const struct err *err);
/* err as "asb: message" and its fix on stderr; with cli->json also as the API's error object on
 * stdout. */
void cli_complain(struct cli *cli, const struct err *err);

/* --- follow.c --- */
struct follow_options {
	const char *answer;	 /* given to every question; NULL: ask at the terminal */
	bool log;		 /* the raw output too */
	bool answers_from_stdin; /* a line each, whether or not a person is there */
	bool questions_only;	 /* print nothing else */
};
/* Prints the trace of a run as it comes (to stdout, with cli->json to stderr) until the run ends or
 * waits for an answer that nobody is there to give. *run is the last RUN JSON; the caller's. */
bool follow_run(struct cli *cli, const char *session, const struct follow_options *opt,
	struct json_object **run, struct err *err) NODISCARD;
bool follow_is_over(const char *state);

/* --- report.c --- */
/* What the run came to: patch, exit code, addresses. patch_file: where the patch is stored, or
 * NULL. *status: the CLI's exit status. */
bool report_run(struct cli *cli, struct json_object *run, const char *patch_file, int *status,
	struct err *err) NODISCARD;
