#pragma once
/*
 * Packing a working tree for a box: what git would show of it (tracked, modified and untracked
 * files, nothing ignored) and the repository itself, without what could run or tell secrets there:
 * a new config, no hooks, no reflogs, no credentials in addresses. A directory that is no
 * repository is packed whole. Files whose names say credentials stay at home.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct pool;

#define TREE_MAX_BYTES (256LL << 20)

/* Called for each path that is not shipped, with why. */
typedef void tree_note_fn(void *arg, const char *path, const char *why);

/* Why a path of a plain directory is left out, or NULL. What is in a folder that is left out is not
 * asked for. */
typedef const char *tree_skip_fn(void *arg, const char *path, bool is_folder);

struct tree_options {
	const char *dir;	    /* any directory in the working tree */
	const char *const *include; /* paths, relative to the tree's top, shipped all the same */
	size_t ninclude;
	int64_t max_bytes;
	int max_files;	    /* and links; 0: no limit */
	tree_skip_fn *skip; /* tree_pack_dir's; NULL: folders that tools make */
	tree_note_fn *note;
	void *note_arg; /* skip's as well */
};

struct tree_packed {
	int64_t size_bytes; /* of the tar */
	int files;
	bool is_git;
	const char *name; /* of the tree's top directory, made safe: what it is called in the box */
};

/* Writes the tar to fd, from its beginning. */
bool tree_pack(struct pool *pool, const struct tree_options *opt, int fd, struct tree_packed *out,
	struct err *err) NODISCARD;

/* The same for all that is below the open directory `top`, whether it is a repository or not;
 * opt->dir gives the name alone. */
bool tree_pack_dir(struct pool *pool, const struct tree_options *opt, int top, int fd,
	struct tree_packed *out, struct err *err) NODISCARD;
/* Opens a path below the directory top, through no link at all: -1 and errno where it is not there,
 * is a link or lies behind one. */
int tree_open(int top, const char *path, uint64_t flags);

/* --- git.c: the parts that ask git --- */
struct tarball;

/* Runs git with these arguments in dir, with an environment of its own (no global or system
 * config, no prompts) and nothing of the repository's config that starts programs; its output
 * in *out (NUL-terminated, pool's). ERR_NOT_FOUND where dir is in no repository. */
bool git_run(struct pool *pool, const char *dir, const char *const *args, char **out, size_t *n,
	struct err *err) NODISCARD;
/* The same; *said: what it said on stderr, where it succeeded. */
bool git_run_said(struct pool *pool, const char *dir, const char *const *args, char **out,
	size_t *n, const char **said, struct err *err) NODISCARD;
/* Adds .git as the box gets it. */
bool git_pack(struct pool *pool, const char *top, struct tarball *t, const struct tree_options *opt,
	struct err *err) NODISCARD;
/* The address without user, password and query where it has any; pool's memory. */
const char *git_clean_url(struct pool *pool, const char *url);
