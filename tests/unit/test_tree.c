/*
 * Packing a working tree: what is in the tar, what is not and why, for a repository, a linked
 * worktree, a clone that borrows objects and a plain directory.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "exclude.h"
#include "pool.h"
#include "tree.h"

struct fixture {
	struct pool *pool;
	char dir[64];
	struct buf notes;
	struct buf listing; /* "path=contents\n" or "path->target\n" */
	struct tree_packed packed;
	struct err err;
};

static void run(const char *dir, const char *const *argv)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@t", NULL};
	struct child c = {.argv = argv, .env = env, .cwd = dir};
	struct err err;
	int status;

	assert_true(child_start(&c, &err));
	assert_true(child_wait(&c, 30000, &status, &err));
	assert_int_equal(status, 0);
}
#define RUN(dir, ...) run(dir, (const char *const[]){"/usr/bin/env", __VA_ARGS__, NULL})
#define GIT(dir, ...) RUN(dir, "git", "-c", "protocol.file.allow=always", __VA_ARGS__)

static void put(struct fixture *f, const char *name, const char *text)
{
	const char *path = pool_printf(f->pool, "%s/%s", f->dir, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static void on_note(void *arg, const char *path, const char *why)
{
	struct fixture *f = arg;

	(void)buf_addf(&f->notes, "%s: %s\n", path, why);
}

static void read_back(struct fixture *f, int fd)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(archive_read_support_format_tar(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_fd(a, fd, 10240), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		char text[8192];
		la_ssize_t n;

		assert_int_equal(archive_entry_uid(e), 0);
		if (archive_entry_filetype(e) == S_IFLNK) {
			(void)buf_addf(&f->listing, "%s->%s\n", archive_entry_pathname(e),
				archive_entry_symlink(e));
			continue;
		}
		(void)buf_addf(&f->listing, "%s=", archive_entry_pathname(e));
		n = archive_read_data(a, text, sizeof(text));
		assert_true(n >= 0);
		if (!memchr(text, 0, (size_t)n)) /* not the index and objects */
			(void)buf_add(&f->listing, text, (size_t)n);
		(void)buf_addc(&f->listing, '\n');
	}
	(void)archive_read_free(a);
}

static bool pack(struct fixture *f, const char *dir, const char *include, int64_t max)
{
	CLEANUP(fd) int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct tree_options opt = {.dir = pool_printf(f->pool, "%s/%s", f->dir, dir),
		.include = &include,
		.ninclude = include != NULL,
		.max_bytes = max,
		.note = on_note,
		.note_arg = f};
	bool ok;

	buf_reset(&f->notes);
	buf_reset(&f->listing);
	ok = tree_pack(f->pool, &opt, fd, &f->packed, &f->err);
	if (ok)
		read_back(f, fd);
	return ok;
}

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));

	*f = (struct fixture){.pool = pool_new(), .dir = "/tmp/asb-tree.XXXXXX"};
	buf_init(&f->notes, 1u << 20);
	buf_init(&f->listing, 4u << 20);
	assert_non_null(mkdtemp(f->dir));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	RUN("/", "rm", "-rf", f->dir);
	buf_done(&f->notes);
	buf_done(&f->listing);
	pool_free(f->pool);
	free(f);
	return 0;
}

static void make_repo(struct fixture *f)
{
	GIT(f->dir, "init", "-q", "-b", "main", "repo");
	put(f, "repo/tracked", "one");
	put(f, "repo/.gitignore", "ignored\n");
	GIT(f->dir, "-C", "repo", "add", ".");
	GIT(f->dir, "-C", "repo", "commit", "-q", "-m", "first");
	put(f, "repo/tracked", "two");
	put(f, "repo/untracked", "three");
	put(f, "repo/ignored", "four");
}

#define HAS(s) assert_non_null(strstr(f->listing.data, s))
#define HASNT(s) assert_null(strstr(f->listing.data, s))
#define NOTED(s) assert_non_null(strstr(f->notes.data, s))

static void test_repository(void **state)
{
	struct fixture *f = *state;

	make_repo(f);
	put(f, "repo/.env", "SECRET=planted-env");
	put(f, "repo/.npmrc", "//registry/:_authToken=planted-npm");
	put(f, "repo/\xc3\xa4 b", "umlaut");
	assert_int_equal(symlink("tracked", pool_printf(f->pool, "%s/repo/link", f->dir)), 0);
	assert_int_equal(
		symlink("../../etc/passwd", pool_printf(f->pool, "%s/repo/out", f->dir)), 0);
	assert_true(pack(f, "repo", NULL, TREE_MAX_BYTES));
	assert_true(f->packed.is_git);
	assert_string_equal(f->packed.name, "repo");
	HAS("tracked=two\n");
	HAS("untracked=three\n");
	HAS("\xc3\xa4 b=umlaut\n");
	HAS("link->tracked\n");
	HAS(".git/HEAD=ref: refs/heads/main");
	HAS(".git/refs/heads/main=");
	HASNT("ignored=four");
	HASNT("planted");
	HASNT("passwd");
	HASNT(".git/hooks");
	HASNT(".git/logs");
	NOTED(".env: environment secrets");
	NOTED(".npmrc: registry credentials");
	NOTED("out: a link that points outside");
	/* a person may insist, by path, also on what git ignores */
	assert_true(pack(f, "repo", ".env", TREE_MAX_BYTES));
	HAS("planted-env");
	HASNT("planted-npm");
	assert_true(pack(f, "repo", "ignored", TREE_MAX_BYTES));
	HAS("ignored=four");
}

static void test_config(void **state)
{
	struct fixture *f = *state;

	make_repo(f);
	put(f, "repo/.git/config",
		"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch planted\n\tsshCommand "
		"= planted\n"
		"\thooksPath = planted\n"
		"[remote \"origin\"]\n\turl = "
		"https://user:planted-token@example.org/a/b.git?t=planted\n"
		"\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
		"[remote \"evil\"]\n\turl = ext::sh -c planted\n"
		"[url \"https://planted@x/\"]\n\tinsteadOf = y\n[include]\n\tpath = planted\n"
		"[http]\n\textraheader = planted\n[credential]\n\thelper = planted\n"
		"[filter \"x\"]\n\tclean = planted\n[user]\n\tname = A \\\"B\\\"\n");
	put(f, "repo/.git/hooks/post-checkout", "planted");
	put(f, "repo/.git/credentials", "planted");
	assert_true(pack(f, "repo", NULL, TREE_MAX_BYTES));
	HASNT("planted");
	HAS("url = \"https://example.org/a/b.git\"");
	HAS("name = \"A \\\"B\\\"\"");
	NOTED(".git/config: 9 settings");
	assert_int_equal(access(pool_printf(f->pool, "%s/repo/planted", f->dir), F_OK), -1);
}

static void test_worktree_and_borrowed(void **state)
{
	struct fixture *f = *state;

	make_repo(f);
	GIT(f->dir, "-C", "repo", "worktree", "add", "-q", "-b", "side", "../linked");
	assert_true(pack(f, "linked", NULL, TREE_MAX_BYTES));
	HAS(".git/HEAD=ref: refs/heads/side");
	HAS(".git/refs/heads/main=");
	HAS(".git/objects/");
	HAS("tracked=one\n");
	HASNT("gitdir:");
	GIT(f->dir, "clone", "-q", "--shared", "repo", "borrower");
	assert_true(pack(f, "borrower", NULL, TREE_MAX_BYTES));
	HASNT("alternates");
	/* three objects at least: the commit, its tree, the file */
	size_t n = 0;
	for (const char *s = f->listing.data; (s = strstr(s, "\n.git/objects/")); s++)
		n += s[strlen("\n.git/objects/") + 2] == '/';
	assert_true(n >= 3);
}

/* A tree that came from elsewhere, with its .git, may be laid out to reach for the person's files:
 * by an index entry below a link, and by folders of the repository that are links or borrowed. */
static void test_hostile_layout(void **state)
{
	struct fixture *f = *state;
	const char *home = pool_printf(f->pool, "%s/home", f->dir);

	RUN(f->dir, "mkdir", "-p", "home/sub", "home/pack");
	put(f, "home/hosts.yml", "planted");
	put(f, "home/sub/deep", "planted");
	put(f, "home/pack/key", "planted");
	make_repo(f);
	RUN(f->dir, "mkdir", "repo/real");
	put(f, "repo/real/hosts.yml", "harmless");
	GIT(f->dir, "-C", "repo", "add", ".");
	assert_true(pack(f, "repo", NULL, TREE_MAX_BYTES));
	HAS("real/hosts.yml=harmless");
	RUN(f->dir, "rm", "-r", "repo/real");
	assert_int_equal(symlink(home, pool_printf(f->pool, "%s/repo/real", f->dir)), 0);
	put(f, "repo/.git/objects/info/alternates", pool_printf(f->pool, "%s\n", home));
	assert_true(pack(f, "repo", NULL, TREE_MAX_BYTES));
	HASNT("hosts.yml");
	HASNT("planted");
	/* the folder itself */
	RUN(f->dir, "mkdir", "home/heads", "home/tags");
	RUN(f->dir, "rm", "-r", "repo/.git/refs");
	assert_int_equal(symlink(home, pool_printf(f->pool, "%s/repo/.git/refs", f->dir)), 0);
	assert_false(pack(f, "repo", NULL, TREE_MAX_BYTES));
	HASNT("planted");
}

static void test_directory(void **state)
{
	struct fixture *f = *state;

	RUN(f->dir, "mkdir", "-p", "plain/sub/node_modules/x", "plain/.ssh");
	put(f, "plain/sub/file", "deep");
	put(f, "plain/sub/node_modules/x/y", "no");
	put(f, "plain/.ssh/config", "no");
	assert_true(pack(f, "plain", NULL, TREE_MAX_BYTES));
	assert_false(f->packed.is_git);
	HAS("sub/file=deep\n");
	HASNT("node_modules");
	HASNT(".ssh/config");
	NOTED("sub/node_modules: made by a tool");
	NOTED(".ssh/config: private keys");
}

static void test_limit(void **state)
{
	struct fixture *f = *state;

	RUN(f->dir, "mkdir", "plain");
	put(f, "plain/a", "small");
	RUN(f->dir, "truncate", "-s", "2M", "plain/big");
	assert_true(pack(f, "plain", NULL, 3 << 20));
	assert_false(pack(f, "plain", NULL, 1 << 20));
	assert_int_equal(f->err.code, ERR_TOO_LARGE);
	assert_non_null(strstr(f->err.msg, "big"));
	assert_false(pack(f, "absent", NULL, 1 << 20));
	assert_int_equal(f->err.code, ERR_INVALID);
}

static const struct {
	const char *path;
	bool excluded;
} names[] = {
	{"a/.env", true},
	{".env.local", true},
	{".env.example", false},
	{"environment", false},
	{"id_rsa", true},
	{"id_rsa.pub", false},
	{"x/id_ed25519", true},
	{"server.PEM", true},
	{".aws/config", true},
	{"src/.aws", false},
	{"a/.ssh/known_hosts", true},
	{"credentials.json", true},
	{"credentials.c", false},
	{".netrc", true},
	{".git-credentials", true},
	{"docs/pem.md", false},
	{".npmrc", false},
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((exclude_reason(names[i].path) != NULL) != names[i].excluded)
			fail_msg("%s", names[i].path);
}

static const struct {
	const char *url, *clean;
} urls[] = {
	{"https://example.org/a.git", "https://example.org/a.git"},
	{"https://u:p@example.org:8443/a@b.git", "https://example.org:8443/a@b.git"},
	{"https://u:p@x@example.org/a?private_token=t#f", "https://example.org/a"},
	{"ssh://git:p@example.org/a", "ssh://git@example.org/a"},
	{"git@example.org:a/b", "git@example.org:a/b"},
	{"../other", "../other"},
};

static void test_urls(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		assert_string_equal(git_clean_url(pool, urls[i].url), urls[i].clean);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_repository, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config, setup, teardown),
		cmocka_unit_test_setup_teardown(test_worktree_and_borrowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_layout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_urls),
	};

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
