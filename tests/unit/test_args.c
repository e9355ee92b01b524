/*
 * Command lines: what the rows of a verb make of argv, what is said of a wrong one, and what a
 * shell is offered. The table of verbs itself: every row is whole, and no two flags are typed
 * alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "complete.h"
#include "pool.h"
#include "verbs.h"

struct options {
	const char *task_file;
	const char *colour;
	bool no_wait;
	struct flag_texts repo;
};

static const char *const colours[] = {"red", "green", NULL};
static const struct flag flags[] = {
	FLAG(TEXT, struct options, task_file, .letter = 't', .value = "FILE", .help = "a file"),
	FLAG(TEXT, struct options, colour, .value = "NAME", .words = colours, .help = "a colour"),
	FLAG(BOOL, struct options, no_wait, .letter = 'n', .help = "do not wait"),
	FLAG(TEXTS, struct options, repo, .value = "NAME", .help = "may be repeated"),
};
static const struct verb verb = {
	.name = "paint",
	.usage = "[WALL]",
	.summary = "paint",
	VERB_FLAGS(struct options, flags),
	.most = 2,
};

/* argv of a literal list, writable as main's is. */
static int argv_of(struct pool *pool, const char *const *list, char **argv)
{
	int n = 0;

	for (; list[n]; n++)
		argv[n] = pool_strdup(pool, list[n]);
	argv[n] = NULL;
	return n;
}

static void test_taken(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *const line[] = {"paint", "wall", "--no-wait", "--repo", "a", "--repo=b=c",
		"--task-file", "--x", "--json", "--colour", "green", "--", "--help", NULL};
	const struct options *o;
	struct args args;
	struct err err;
	char *argv[16];

	(void)state;
	assert_true(args_take(pool, &verb, argv_of(pool, line, argv), argv, &args, &err));
	o = args.options;
	assert_int_equal(args.nwords, 2);
	assert_string_equal(args.words[0], "wall");
	assert_string_equal(args.words[1], "--help");
	assert_null(args.words[2]);
	assert_true(args.json && !args.help && o->no_wait);
	assert_int_equal(o->repo.n, 2);
	assert_string_equal(o->repo.v[1], "b=c");
	assert_string_equal(o->task_file, "--x");
	assert_string_equal(o->colour, "green");
}

static void test_letters(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *const line[] = {"paint", "-n", "-tx", "-", NULL};
	const char *const help[] = {"paint", "-h", NULL};
	const struct options *o;
	struct args args;
	struct err err;
	char *argv[16];

	(void)state;
	assert_true(args_take(pool, &verb, argv_of(pool, line, argv), argv, &args, &err));
	o = args.options;
	assert_true(o->no_wait);
	assert_string_equal(o->task_file, "x");
	assert_string_equal(args.words[0], "-");
	assert_false(args.help);
	assert_true(args_take(pool, &verb, argv_of(pool, help, argv), argv, &args, &err));
	assert_true(args.help);
}

static void test_refused(void **state)
{
	static const struct {
		const char *line[8], *says;
		const char *fix; /* NULL: how the verb is used */
	} cases[] = {
		{{"paint", "--no-wiat"}, "paint: there is no --no-wiat; did you mean --no-wait"},
		{{"paint", "--jsn"}, "paint: there is no --jsn; did you mean --json"},
		{{"paint", "--elephant"}, "paint: there is no --elephant"},
		{{"paint", "-x"}, "paint: there is no -x"},
		{{"paint", "--task-file"}, "paint: --task-file wants a value"},
		{{"paint", "--no-wait=1"}, "paint: --no-wait takes no value"},
		{{"paint", "--colour", "gren"}, "paint: --colour has no gren; did you mean green",
			"one of red, green"},
		{{"paint", "--colour", "xxxxx"}, "paint: --colour has no xxxxx",
			"one of red, green"},
		{{"paint", "a", "b", "some", "words"}, "paint: \"some\" is a word too many; a text "
						       "of several words is put in quotes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct args args;
		struct err err = {0};
		char *argv[16];

		assert_false(args_take(
			pool, &verb, argv_of(pool, cases[i].line, argv), argv, &args, &err));
		assert_string_equal(err.msg, cases[i].says);
		if (cases[i].fix)
			assert_string_equal(err.fix, cases[i].fix);
		else
			assert_memory_equal(err.fix, "usage: ", 7);
		assert_int_equal(exit_status_of(&err), 2);
	}
}

static void test_too_often(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char name[] = "paint", flag[] = "--repo=x", *argv[FLAG_TEXTS_MAX + 3] = {name};
	struct args args;
	struct err err;

	(void)state;
	for (int i = 1; i <= FLAG_TEXTS_MAX + 1; i++)
		argv[i] = flag;
	assert_true(args_take(pool, &verb, FLAG_TEXTS_MAX + 1, argv, &args, &err));
	assert_false(args_take(pool, &verb, FLAG_TEXTS_MAX + 2, argv, &args, &err));
	assert_string_equal(err.msg, "paint: --repo was given too often");
}

static void test_nearest(void **state)
{
	static const char *const pairs[][2] = {{"wach", "watch"}, {"staus", "status"},
		{"dif", "diff"}, {"tear", "teardown"}, {"completoin", "completion"},
		{"statsu", "status"}, {"x", NULL}, {"elephant", NULL}, {"", NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct nearest near = {.typed = pairs[i][0]};

		for (const struct verb *const *v = verbs; *v; v++)
			nearest_offer(&near, (*v)->name);
		if (pairs[i][1])
			assert_string_equal(near.best, pairs[i][1]);
		else
			assert_null(near.best);
	}
}

static void test_statuses(void **state)
{
	struct err err;

	(void)state;
	(void)err_set(&err, ERR_BUSY, "later");
	assert_int_equal(exit_status_of(&err), 6);
	(void)err_advise(&err, REASON_UNREACHABLE, NULL);
	assert_int_equal(exit_status_of(&err), 8);
	(void)err_set(&err, ERR_TIMEOUT, "late");
	assert_int_equal(exit_status_of(&err), 9);
	/* every status that a code has is in the table */
	for (int c = ERR_INVALID; c < ERR_CODE__COUNT; c++) {
		const struct exit_status *s = exit_statuses;

		(void)err_set(&err, (enum err_code)c, "x");
		while (s->when && s->status != exit_status_of(&err))
			s++;
		assert_non_null(s->when);
		assert_non_null(strstr(s->when, err_info(err.code)->name));
	}
}

static void test_table(void **state)
{
	(void)state;
	for (const struct verb *const *at = verbs; *at; at++) {
		const struct verb *v = *at;
		char a[FLAG_TYPED_SIZE], b[FLAG_TYPED_SIZE];

		assert_ptr_equal(verb_find(v->name), v);
		assert_true(
			v->usage && v->run && strlen(v->summary) > 5 && strlen(v->summary) < 90);
		assert_true(v->least <= v->most && (!v->nsubs || v->word == WORD_SUB));
		for (size_t i = 0; i < v->nflags; i++) {
			flag_typed(&v->flags[i], a);
			assert_true(strcmp(a, "--json") && strcmp(a, "--help"));
			assert_true((v->flags[i].kind == FLAG_KIND_BOOL) == !v->flags[i].value);
			assert_true(v->flags[i].offset < v->options_size);
			for (size_t k = 0; k < i; k++) {
				flag_typed(&v->flags[k], b);
				assert_true(strcmp(a, b) != 0);
			}
		}
	}
}

static void test_completion(void **state)
{
	static const struct {
		const char *line[8], *offers;
	} cases[] = {
		{{"vers", NULL}, "version\twhich version this is\n"},
		{{"completion", "z", NULL}, "zsh\tsource <(asb completion zsh)\n"},
		{{"sandbox", "create", "--language", "py", NULL}, "python\tlanguage\n"},
		{{"sandbox", "--timeout", "3", "des", NULL}, "destroy\ttwice is fine\n"},
		{{"delegate", "--title", "", NULL}, ""},
		{{"files", "get", "x", "--out", NULL}, "--output\tget: where the tar goes\n"},
		{{"nothing", "", NULL}, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		CLEANUP(buf) struct buf out = BUF_INIT(65536);
		struct cli cli = {.pool = pool};
		char *words[16];
		int n = argv_of(pool, cases[i].line, words);

		complete_words(&cli, n, words, &out);
		assert_string_equal(out.data, cases[i].offers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_often),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
