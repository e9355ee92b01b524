/*
 * The walk over a working tree and its packing. What belongs to it is git's answer (or, without a
 * repository, every file below); what is left out is this file's, each with a reason. Files are
 * opened without following links, so that a tree changed meanwhile cannot make us read outside.
 */
#include "tree.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "exclude.h"
#include "pool.h"
#include "tarball.h"
#include "text.h"

#define WALK_DEPTH 64

struct packing {
	struct pool *pool;
	const struct tree_options *opt;
	struct tarball *tar;
	int top; /* descriptor of the tree's top directory */
	int files;
};

static void note(const struct packing *p, const char *path, const char *why)
{
	if (p->opt->note)
		p->opt->note(p->opt->note_arg, path, why);
}

static bool is_included(const struct packing *p, const char *path)
{
	for (size_t i = 0; i < p->opt->ninclude; i++)
		if (strcmp(p->opt->include[i], path) == 0)
			return true;
	return false;
}

/* Does a link at `path` with this target stay inside the tree? By its text alone. */
static bool link_stays_inside(const char *path, const char *target)
{
	int depth = 0;

	if (*target == '/')
		return false;
	for (const char *s = path; (s = strchr(s, '/')); s++)
		depth++;
	for (const char *s = target; *s;) {
		size_t n = strcspn(s, "/");

		if (n == 2 && memcmp(s, "..", 2) == 0)
			depth--;
		else if (n && !(n == 1 && *s == '.'))
			depth++;
		if (depth < 0)
			return false;
		s += n + (s[n] == '/');
	}
	return true;
}

int tree_open(int top, const char *path, uint64_t flags)
{
	const struct open_how how = {.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
}

/* After tree_open failed: is it that the path is gone, or behind a link by now? The names in git's
 * index may lie below one from the beginning. */
static bool went_away(const struct packing *p, const char *path)
{
	if (errno == ENOENT)
		return true;
	if (errno != ENOTDIR && errno != ELOOP)
		return false;
	note(p, path, "it lies behind a link");
	return true;
}

static bool count_file(struct packing *p, const char *path, struct err *err)
{
	if (p->opt->max_files && p->files == p->opt->max_files)
		return err_set(err, ERR_TOO_LARGE, "with %.120s there are more than %d files", path,
			p->opt->max_files);
	p->files++;
	return true;
}

static bool pack_link(struct packing *p, const char *path, int fd, struct err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return err_errno(err, ERR_INTERNAL, "pack %.120s", path);
	target[n] = '\0';
	if (!link_stays_inside(path, target)) {
		note(p, path, "a link that points outside the tree");
		return true;
	}
	return count_file(p, path, err) && tarball_add_link(p->tar, path, target, err);
}

static bool npmrc_has_token(int fd, const struct stat *st)
{
	char text[16384];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0 || st->st_size >= (off_t)sizeof(text))
		return true;
	text[n] = '\0';
	return exclude_npmrc_has_token(text);
}

static bool pack_file(struct packing *p, const char *path, struct err *err)
{
	CLEANUP(fd) int fd = tree_open(p->top, path, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		note(p, path, "not readable by you");
		return true;
	}
	if (fd < 0 && went_away(p, path))
		return true;
	if (fd < 0 || fstat(fd, &st))
		return err_errno(err, ERR_INTERNAL, "pack %.120s", path);
	if (!S_ISREG(st.st_mode)) {
		note(p, path, "not a file");
		return true;
	}
	if (exclude_is_npmrc(path) && !is_included(p, path) && npmrc_has_token(fd, &st)) {
		note(p, path, "registry credentials (--include ships it)");
		return true;
	}
	return count_file(p, path, err) &&
	       tarball_add_file(p->tar, path, fd, st.st_mode & 0111 ? 0755 : 0644, st.st_mtime,
		       st.st_size, err);
}

static bool pack_path(struct packing *p, const char *path, struct err *err)
{
	const char *why = exclude_reason(path);
	CLEANUP(fd) int fd = -1;
	struct stat st;

	if (!text_is_utf8(path, strlen(path))) {
		note(p, path, "its name is not UTF-8");
		return true;
	}
	fd = tree_open(p->top, path, O_PATH);
	if (fd < 0 || fstat(fd, &st))
		return went_away(p, path) || err_errno(err, ERR_INTERNAL, "pack %.120s", path);
	if (why && !is_included(p, path)) {
		note(p, path, pool_printf(p->pool, "%s (--include ships it)", why));
		return true;
	}
	if (S_ISLNK(st.st_mode))
		return pack_link(p, path, fd, err);
	if (S_ISREG(st.st_mode))
		return pack_file(p, path, err);
	if (S_ISDIR(st.st_mode)) {
		note(p, path, "a repository of its own (submodule)");
		return tarball_add_dir(p->tar, path, err);
	}
	note(p, path, "not a file");
	return true;
}

static bool walk(struct packing *p, const char *prefix, int depth, struct err *err);

static bool walk_entry(
	struct packing *p, const char *path, const char *name, int depth, struct err *err)
{
	struct stat st;

	const char *why = NULL;
	bool is_folder;

	if (fstatat(p->top, path, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT || err_errno(err, ERR_INTERNAL, "pack %.120s", path);
	is_folder = S_ISDIR(st.st_mode);
	if (!text_is_utf8(name, strlen(name)))
		why = "its name is not UTF-8";
	else if (p->opt->skip)
		why = p->opt->skip(p->opt->note_arg, path, is_folder);
	else if (is_folder && exclude_is_made(name) && !is_included(p, path))
		why = "made by a tool";
	if (why) {
		note(p, path, why);
		return true;
	}
	if (!is_folder)
		return pack_path(p, path, err);
	if (depth == WALK_DEPTH)
		return err_set(err, ERR_INVALID, "%.120s: folders are nested too deep", path);
	return tarball_add_dir(p->tar, path, err) && walk(p, path, depth + 1, err);
}

static int not_dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* A directory without a repository: everything, in the order of names, so that two packings of
 * one tree are equal. */
static bool walk(struct packing *p, const char *prefix, int depth, struct err *err)
{
	struct dirent **list = NULL;
	CLEANUP(fd) int dir = tree_open(p->top, *prefix ? prefix : ".", O_RDONLY | O_DIRECTORY);
	int n = dir < 0 ? -1 : scandirat(dir, ".", &list, not_dots, alphasort);
	bool ok = true;

	if (n < 0) {
		note(p, *prefix ? prefix : ".", "not readable by you");
		return true;
	}
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (ok)
			ok = walk_entry(p,
				*prefix ? pool_printf(p->pool, "%s/%s", prefix, name) : name, name,
				depth, err);
		free(list[i]);
	}
	free(list);
	return ok;
}

/* A person's --include also ships what git ignores. */
static bool pack_ignored(struct packing *p, const char *top, struct err *err)
{
	for (size_t i = 0; i < p->opt->ninclude; i++) {
		const char *args[] = {"ls-files", "-z", "--others", "--ignored",
			"--exclude-standard", "--", p->opt->include[i], NULL};
		char *list;
		size_t n;

		if (!git_run(p->pool, top, args, &list, &n, err))
			return false;
		if (n && strcmp(list, p->opt->include[i]) == 0 && !pack_path(p, list, err))
			return false;
	}
	return true;
}

static bool pack_listed(struct packing *p, const char *top, struct err *err)
{
	static const char *const args[] = {"ls-files", "-z", "--cached", "--others",
		"--exclude-standard", "--deduplicate", NULL};
	char *list;
	size_t n;

	if (!git_run(p->pool, top, args, &list, &n, err))
		return false;
	for (char *s = list, *next; s < list + n; s = next) {
		size_t len = strlen(s);

		next = s + len + 1;
		if (len && s[len - 1] == '/')
			s[len - 1] = '\0'; /* an untracked repository inside this one */
		if (!pack_path(p, s, err))
			return false;
	}
	return pack_ignored(p, top, err);
}

/* The folder's name in the box: the letters that a name may have. */
static const char *safe_name(struct pool *pool, const char *top)
{
	const char *base = strrchr(top, '/');
	char *name = pool_strdup(pool, base ? base + 1 : top);

	for (char *c = name; *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-",
			    *c))
			*c = '-';
	if (strlen(name) > 100)
		name[100] = '\0';
	while (*name == '.' || *name == '-')
		name++;
	return text_is_name(name) ? name : "tree";
}

static const char *find_top(struct pool *pool, const char *dir, bool *is_git, struct err *err)
{
	static const char *const args[] = {"rev-parse", "--show-toplevel", NULL};
	char real[PATH_MAX];
	char *out;
	size_t n;

	*is_git = false;
	if (!realpath(dir, real)) {
		(void)err_errno(err, ERR_INVALID, "%.120s", dir);
		return NULL;
	}
	if (!git_run(pool, real, args, &out, &n, err)) {
		/* "not a repository" is fine, "not yours" and a missing git are not */
		return err->code == ERR_NOT_FOUND ? pool_strdup(pool, real) : NULL;
	}
	out[strcspn(out, "\n")] = '\0';
	*is_git = true;
	return out;
}

static bool finish(const struct packing *p, const char *top, bool is_git, struct tree_packed *out,
	struct err *err)
{
	int64_t size_bytes;

	if (!tarball_finish(p->tar, &size_bytes, err))
		return false;
	*out = (struct tree_packed){.size_bytes = size_bytes,
		.files = p->files,
		.is_git = is_git,
		.name = safe_name(p->pool, top)};
	return true;
}

bool tree_pack_dir(struct pool *pool, const struct tree_options *opt, int top, int fd,
	struct tree_packed *out, struct err *err)
{
	CLEANUP(tarball) struct tarball *tar = tarball_new(fd, opt->max_bytes);
	struct packing p = {.pool = pool, .opt = opt, .tar = tar, .top = top};

	return walk(&p, "", 0, err) && finish(&p, opt->dir, false, out, err);
}

bool tree_pack(struct pool *pool, const struct tree_options *opt, int fd, struct tree_packed *out,
	struct err *err)
{
	CLEANUP(tarball) struct tarball *tar = NULL;
	CLEANUP(fd) int top_fd = -1;
	struct packing p = {.pool = pool, .opt = opt};
	const char *top;
	bool is_git, ok;

	top = find_top(pool, opt->dir, &is_git, err);
	if (!top)
		return err_wrap(err, "pack the tree");
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top_fd < 0)
		return err_errno(err, ERR_INVALID, "%.120s", top);
	tar = tarball_new(fd, opt->max_bytes);
	p.tar = tar;
	p.top = top_fd;
	ok = is_git ? pack_listed(&p, top, err) && git_pack(pool, top, tar, opt, err)
		    : walk(&p, "", 0, err);
	if (!ok && err->code == ERR_TOO_LARGE)
		return err_advise(err, NULL,
			"keep large files out by .gitignore, or delegate from a smaller directory");
	return ok && finish(&p, top, is_git, out, err);
}
