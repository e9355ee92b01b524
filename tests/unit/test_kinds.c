/*
 * The tables of the worker: kinds, agents and sweeps are whole, and each row is found by its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agents.h"
#include "kinds.h"
#include "sweeps.h"

static void kinds_are_found(void **state)
{
	const char *const *names;
	size_t n = kind_names(&names);

	(void)state;
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		const struct kind *k = kind_find(names[i]);

		assert_ptr_equal(k, kinds[i]);
		assert_non_null(k->run);
		assert_non_null(k->lane);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i], names[j]);
	}
	assert_null(kind_find("nonsense"));
	assert_null(kind_find(""));
}

static void agents_are_found(void **state)
{
	(void)state;
	assert_non_null(agent_find("script"));
	assert_null(agent_find("nonsense"));
	for (size_t i = 0; agents[i]; i++) {
		assert_ptr_equal(agent_find(agents[i]->name), agents[i]);
		assert_non_null(agents[i]->argv[0]);
		assert_non_null(agents[i]->prepare);
		assert_non_null(agents[i]->output);
	}
}

static void sweeps_are_whole(void **state)
{
	size_t n = 0;

	(void)state;
	for (; sweeps[n].name; n++) {
		assert_non_null(sweeps[n].run);
		/* 0 is the setting; anything else at least a second apart */
		assert_true(sweeps[n].period_ms == 0 || sweeps[n].period_ms >= 1000);
	}
	assert_true(n >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_found),
		cmocka_unit_test(agents_are_found),
		cmocka_unit_test(sweeps_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
