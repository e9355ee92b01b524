#pragma once
/*
 * The trees a run works on: an uploaded one, one cloned in the box through the gate, or none; and
 * the baseline the patch is made against later. All of git runs in the box: the baseline as user
 * `git` with a directory of its own and no configuration but ours, so that whatever the tree's
 * .git/config says runs nothing there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct guest;
struct runner;

struct tree {
	const char *dir;  /* its name under /workspace */
	const char *repo; /* git: owner/name */
	const char *ref;  /* NULL: the default branch */
	const char *host; /* NULL: the first upstream */
};

struct trees {
	const char *source; /* none | upload | git */
	int64_t upload_id;
	struct tree *list;
	size_t count;
	const char *cwd; /* /workspace/NAME for one tree, else /workspace */
};

/* Reads runs.source, repos and upload_id. */
bool trees_read(struct runner *r, const char *source, const char *repos, int64_t upload_id,
	struct trees *out, struct err *err) NODISCARD;
/* Puts them into the box, anew if need be, and takes the baseline. Reason "tree" on failure. */
bool trees_place(
	struct guest *g, const struct trees *trees, int64_t deadline, struct err *err) NODISCARD;

/* A sandbox has one tree, of this name. */
#define SANDBOX_TREE "tree"
/* Where only boxd and git's user go: NAME.git of trees_place, NAME.files of tree_keep. */
#define BASELINE_DIR "/var/lib/asb/base"
#define BASELINE_FILES ".files"

/* Keeps what was delivered as plain files, which a look compares the tree with: the upload once
 * more, where only git's user goes. Again is fine. */
bool tree_keep(struct guest *g, int64_t upload_id, const char *dir, int64_t deadline,
	struct err *err) NODISCARD;

/* The environment of our git in the box, and of git as the agent: pairs for guest_exec. */
extern const char *const git_env[];
extern const char *const agent_git_env[];
