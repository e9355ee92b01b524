/*
 * What the CLI asks git, and the repository as a box gets it. The person's own tree is read here by
 * the person's own program; still, settings of the repository that start programs are switched off.
 * The config is written anew from a list of settings that are known to be harmless.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "pool.h"
#include "tarball.h"
#include "text.h"
#include "tree.h"

#define OUTPUT_MAX (64u << 20)
#define ARGS_MAX 32
#define SAID_MAX 65536u
#define GIT_TIMEOUT_MS 120000
#define FOLDER_DEPTH 32

static const char *const switched_off[] = {"/usr/bin/env", "git", "-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false", "--no-pager"};
#define NOFF (sizeof(switched_off) / sizeof(switched_off[0]))

static bool read_all(int fd, struct buf *b, struct err *err)
{
	for (;;) {
		char *room = buf_room(b, 65536);
		ssize_t n;

		if (!room)
			return err_set(err, ERR_TOO_LARGE, "git: more output than is sensible");
		n = read(fd, room, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, ERR_INTERNAL, "git: read");
		if (n == 0)
			return true;
		buf_grew(b, (size_t)n);
	}
}

/* git's complaint as an error. Always false. */
static bool git_failed(int status, int complaint, struct err *err)
{
	char text[512];
	ssize_t n = pread(complaint, text, sizeof(text) - 1, 0);
	const char *line = text;

	text[n > 0 ? n : 0] = '\0';
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, ERR_INVALID, "git is not installed");
	if (strstr(text, "not a git repository"))
		return err_set(err, ERR_NOT_FOUND, "not a git repository") ||
		       err_advise(err, NULL, "go to the working tree, or name it: --tree DIR");
	if (text_has_prefix(line, "fatal: "))
		line += strlen("fatal: ");
	return err_set(err, ERR_INVALID, "git: %.*s", (int)strcspn(line, "\n"), line);
}

/* The beginning of what git said on stderr. */
static const char *complaint_text(struct pool *pool, int complaint)
{
	char *text = pool_alloc(pool, SAID_MAX + 1);

	/* zeroed: what could not be read is an empty one */
	(void)!pread(complaint, text, SAID_MAX, 0);
	return text;
}

bool git_run_said(struct pool *pool, const char *dir, const char *const *args, char **out,
	size_t *n, const char **said, struct err *err)
{
	const char *argv[ARGS_MAX + NOFF + 1];
	const char *env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0", NULL, NULL};
	const char *sudo_uid = getenv("SUDO_UID"); /* git trusts the owner of the tree under sudo */
	CLEANUP(buf) struct buf b = BUF_INIT(OUTPUT_MAX);
	CLEANUP(fd) int complaint = memfd_create("git-stderr", MFD_CLOEXEC);
	struct child_fd fds[2];
	struct child c = {.argv = argv, .env = env, .cwd = dir, .fds = fds, .nfds = 2};
	int pipefd[2], status = 0;
	size_t nargs = 0;

	memcpy(argv, switched_off, sizeof(switched_off));
	while (nargs < ARGS_MAX && args[nargs]) {
		argv[NOFF + nargs] = args[nargs];
		nargs++;
	}
	argv[NOFF + nargs] = NULL;
	if (sudo_uid)
		env[6] = pool_printf(pool, "SUDO_UID=%s", sudo_uid);
	if (complaint < 0 || pipe2(pipefd, O_CLOEXEC))
		return err_errno(err, ERR_INTERNAL, "git: pipe");
	fds[0] = (struct child_fd){pipefd[1], 1};
	fds[1] = (struct child_fd){complaint, 2};
	bool started = child_start(&c, err);
	(void)close(pipefd[1]);
	CLEANUP(fd) int reader = pipefd[0];
	if (!started)
		return false;
	if (!read_all(reader, &b, err)) {
		child_kill(&c);
		return false;
	}
	if (!child_wait(&c, GIT_TIMEOUT_MS, &status, err))
		return err_wrap(err, "git");
	if (status)
		return git_failed(status, complaint, err);
	if (said)
		*said = complaint_text(pool, complaint);
	*out = pool_memdup(pool, b.data, b.len);
	*n = b.len;
	return true;
}

bool git_run(struct pool *pool, const char *dir, const char *const *args, char **out, size_t *n,
	struct err *err)
{
	return git_run_said(pool, dir, args, out, n, NULL, err);
}

const char *git_clean_url(struct pool *pool, const char *url)
{
	const char *host = strstr(url, "://");
	const char *end, *at = NULL, *user_end;
	bool keep_user;

	if (!host)
		return url;
	keep_user = text_has_prefix(url, "ssh:") || text_has_prefix(url, "git+ssh:");
	host += 3;
	end = host + strcspn(host, "/?#");
	for (const char *c = host; c < end; c++)
		if (*c == '@')
			at = c;
	user_end = host;
	if (at && keep_user)
		user_end = host + strcspn(host, ":@");
	return pool_printf(pool, "%.*s%s%.*s", (int)(user_end - url), url,
		at && keep_user ? "@" : "", (int)strcspn(at ? at + 1 : host, "?#"),
		at ? at + 1 : host);
}

/* Settings that a box gets as they are; a * stands for any subsection. */
static const char *const harmless[] = {
	"branch.*.merge",
	"branch.*.rebase",
	"branch.*.remote",
	"core.autocrlf",
	"core.eol",
	"core.filemode",
	"core.ignorecase",
	"core.precomposeunicode",
	"core.repositoryformatversion",
	"core.safecrlf",
	"core.symlinks",
	"extensions.objectformat",
	"init.defaultbranch",
	"remote.*.fetch",
	"remote.*.pushurl",
	"remote.*.url",
	"user.email",
	"user.name",
};

static bool is_harmless(const char *key)
{
	const char *first = strchr(key, '.'), *last = strrchr(key, '.');

	for (size_t i = 0; first && i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		const char *star = strchr(harmless[i], '*');

		if (!star ? strcmp(key, harmless[i]) == 0
			  : first != last && strncmp(key, harmless[i], star - harmless[i]) == 0 &&
					strcmp(last, star + 1) == 0)
			return true;
	}
	return false;
}

/* As git's config syntax quotes: in double quotes, backslash, quote and newline escaped. */
static void add_quoted(struct buf *b, const char *s)
{
	(void)buf_addc(b, '"');
	for (; *s; s++) {
		if (*s == '\n') {
			(void)buf_adds(b, "\\n");
			continue;
		}
		if (*s == '"' || *s == '\\')
			(void)buf_addc(b, '\\');
		(void)buf_addc(b, *s);
	}
	(void)buf_addc(b, '"');
}

static void add_setting(struct pool *pool, struct buf *b, const char *key, const char *value)
{
	const char *first = strchr(key, '.'), *last = strrchr(key, '.');

	if (strcmp(last, ".url") == 0 || strcmp(last, ".pushurl") == 0 ||
		strcmp(last, ".remote") == 0)
		value = git_clean_url(pool, value);
	(void)buf_addf(b, "[%.*s", (int)(first - key), key);
	if (first != last) {
		(void)buf_addc(b, ' ');
		add_quoted(b, git_clean_url(pool, pool_memdup(pool, first + 1, last - first - 1)));
	}
	(void)buf_addf(b, "]\n\t%s = ", last + 1);
	add_quoted(b, value);
	(void)buf_addc(b, '\n');
}

static bool pack_config(struct pool *pool, const char *common, struct tarball *t,
	const struct tree_options *opt, struct err *err)
{
	const char *args[] = {"config", "--file", pool_printf(pool, "%s/config", common),
		"--no-includes", "-z", "--list", NULL};
	CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);
	char *list;
	size_t n;
	int left_out = 0;

	if (!git_run(pool, common, args, &list, &n, err))
		return err_wrap(err, "read .git/config");
	(void)buf_adds(&b, "[core]\n\tbare = false\n");
	for (char *s = list, *next; s < list + n; s = next) {
		char *value = strchr(s, '\n');

		next = s + strlen(s) + 1;
		if (value)
			*value++ = '\0';
		if (strcmp(s, "core.bare") == 0)
			continue;
		/* an address like ext::command is a program to run */
		if (!is_harmless(s) || (value && strstr(value, "::")))
			left_out++;
		else
			add_setting(pool, &b, s, value ? value : "true");
	}
	if (left_out && opt->note)
		opt->note(opt->note_arg, ".git/config",
			pool_printf(pool, "%d settings that start programs or are not needed",
				left_out));
	return tarball_add_bytes(t, ".git/config", b.data, b.len, 0644, err);
}

static bool pack_one(struct tarball *t, int dir, const char *name, const char *as, struct err *err)
{
	CLEANUP(fd) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ||
		       err_errno(err, ERR_INTERNAL, "pack %s", as);
	if (fstat(fd, &st))
		return err_errno(err, ERR_INTERNAL, "pack %s", as);
	return !S_ISREG(st.st_mode) ||
	       tarball_add_file(t, as, fd, 0644, st.st_mtime, st.st_size, err);
}

static const char object_digits[] = "0123456789abcdef";

/* Does this name belong into a folder of objects at that depth? A borrowed folder may be any on
 * this machine, if the repository came from elsewhere. */
static bool is_object(const char *name, int depth)
{
	size_t n = strlen(name);

	if (depth == 0)
		return strcmp(name, "pack") == 0 || (n == 2 && strspn(name, object_digits) == n);
	return text_has_prefix(name, "pack-") || text_has_prefix(name, "multi-pack-index") ||
	       ((n == 38 || n == 62) && strspn(name, object_digits) == n);
}

/* Half-written files and what points at this machine. */
static bool is_transient(const char *name)
{
	size_t n = strlen(name);

	return text_has_prefix(name, "tmp_") || strcmp(name, "alternates") == 0 ||
	       strcmp(name, "http-alternates") == 0 ||
	       (n > 5 && strcmp(name + n - 5, ".lock") == 0);
}

static int not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Everything below a folder of the repository. What `beside` (a descriptor, or -1) has under the
 * same name is left out: a tar must not name a file twice. Of a
 * borrowed folder nothing but objects is taken. */
static bool pack_folder(struct tarball *t, int dir, int beside, bool borrowed, const char *as,
	int depth, struct err *err)
{
	struct dirent **list = NULL;
	int n = scandirat(dir, ".", &list, not_hidden, alphasort);
	bool ok = n >= 0 || err_errno(err, ERR_INTERNAL, "pack %s", as);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char path[PATH_MAX];
		struct stat st, other;
		bool known = beside >= 0 && fstatat(beside, name, &other, AT_SYMLINK_NOFOLLOW) == 0;

		(void)snprintf(path, sizeof(path), "%s/%s", as, name);
		if (!ok || is_transient(name) || (borrowed && !is_object(name, depth)) ||
			fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
			; /* nothing: failed already, or not to be shipped */
		} else if (S_ISDIR(st.st_mode) && depth < FOLDER_DEPTH) {
			CLEANUP(fd)
			int sub =
				openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			CLEANUP(fd)
			int sub_beside =
				known ? openat(beside, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				      : -1;

			ok = sub >= 0 || err_errno(err, ERR_INTERNAL, "pack %s", path);
			ok = ok && (known || tarball_add_dir(t, path, err)) &&
			     pack_folder(t, sub, sub_beside, borrowed, path, depth + 1, err);
		} else if (S_ISREG(st.st_mode) && !known) {
			ok = pack_one(t, dir, name, path, err);
		}
		free(list[i]);
	}
	free(list);
	return ok;
}

/* Objects that the repository borrows from another one on this machine (git clone --shared). */
static bool pack_alternates(struct tarball *t, int objects, struct err *err)
{
	CLEANUP(fd) int fd = openat(objects, "info/alternates", O_RDONLY | O_CLOEXEC);
	CLEANUP(buf) struct buf b = BUF_INIT(65536 * 2);

	if (fd < 0)
		return true;
	if (!read_all(fd, &b, err))
		return false;
	for (char *line = b.data; *line;) {
		size_t n = strcspn(line, "\n");
		char *next = line + n + (line[n] == '\n');

		line[n] = '\0';
		if (n && *line != '#') {
			CLEANUP(fd)
			int dir = openat(objects, line, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			if (dir < 0)
				return err_errno(
					err, ERR_INVALID, "borrowed objects in %.120s", line);
			if (!pack_folder(t, dir, objects, true, ".git/objects", 0, err))
				return false;
		}
		line = next;
	}
	return true;
}

static int is_shared_index(const struct dirent *d)
{
	return text_has_prefix(d->d_name, "sharedindex.");
}

/* What belongs to this working tree: HEAD and the index. */
static bool pack_own(struct tarball *t, int dir, struct err *err)
{
	struct dirent **list = NULL;
	bool ok = pack_one(t, dir, "HEAD", ".git/HEAD", err) &&
		  pack_one(t, dir, "index", ".git/index", err);
	int n = ok ? scandirat(dir, ".", &list, is_shared_index, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		char as[300];

		(void)snprintf(as, sizeof(as), ".git/%s", list[i]->d_name);
		ok = ok && pack_one(t, dir, list[i]->d_name, as, err);
		free(list[i]);
	}
	free(list);
	return ok;
}

bool git_pack(struct pool *pool, const char *top, struct tarball *t, const struct tree_options *opt,
	struct err *err)
{
	static const char *const args[] = {
		"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", NULL};
	static const char *const folders[] = {"refs", "objects"};
	char *own, *common;
	size_t n;

	if (!git_run(pool, top, args, &own, &n, err))
		return false;
	common = own + strcspn(own, "\n");
	if (*common)
		*common++ = '\0';
	common[strcspn(common, "\n")] = '\0';
	CLEANUP(fd) int own_fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd) int common_fd = open(common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own_fd < 0 || common_fd < 0)
		return err_errno(err, ERR_INVALID, "open the repository");
	if (!tarball_add_dir(t, ".git", err) || !pack_config(pool, common, t, opt, err) ||
		!pack_own(t, own_fd, err) ||
		!pack_one(t, common_fd, "packed-refs", ".git/packed-refs", err) ||
		!pack_one(t, common_fd, "shallow", ".git/shallow", err))
		return false;
	for (size_t i = 0; i < 2; i++) {
		const char *as = pool_printf(pool, ".git/%s", folders[i]);
		CLEANUP(fd)
		int dir = openat(
			common_fd, folders[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (dir < 0)
			return err_errno(err, ERR_INVALID, "open %s", as);
		if (!tarball_add_dir(t, as, err) || !pack_folder(t, dir, -1, false, as, 0, err))
			return false;
		if (i == 1 && !pack_alternates(t, dir, err))
			return false;
	}
	return true;
}
