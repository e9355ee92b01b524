/*
 * The tables of the worker: kinds, agents and sweeps are whole, and each row is found by its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent_list.h"
#include "agents.h"
#include "config.h"
#include "kinds.h"
#include "sweeps.h"

static void kinds_are_found(void **state)
{
	const char *const *names;
	size_t n = kind_names(&names);

	(void)state;
	assert_true(n >= 4);
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
	for (int i = 0; i < AGENT__COUNT; i++) {
		const struct agent *a = agent_find(agent_names[i]);
		enum agent_id id;

		assert_true(agent_id_find(agent_names[i], &id));
		assert_int_equal(id, i);
		assert_non_null(agent_list[i].title);
		assert_non_null(a);
		assert_non_null(a->prepare);
		assert_non_null(a->argv);
		assert_non_null(a->output);
		assert_true(!strcmp(a->ask, "block") || !strcmp(a->ask, "return"));
		/* who is talked to says how far it is */
		assert_int_equal(a->open != NULL, !strcmp(a->ask, "return"));
		if (a->open)
			assert_true(a->close && a->replay && a->facts && a->before && a->after);
	}
	assert_null(agent_find("nonsense"));
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

static int64_t level(const char *runtime, int64_t setting, int64_t slots, int64_t gib)
{
	const struct config cfg = {.box_runtime = runtime, .box_pool = setting, .box_slots = slots};

	return box_pool_level(&cfg, gib << 30);
}

static void every_host_has_a_pool(void **state)
{
	(void)state;
	assert_int_equal(level("qemu", -1, 16, 2), 1);
	assert_int_equal(level("qemu", -1, 16, 7), 1);
	assert_int_equal(level("qemu", -1, 16, 23), 2);
	assert_int_equal(level("qemu", -1, 16, 256), 4);
	assert_int_equal(level("qemu", -1, 4, 256), 2); /* half of the slots */
	assert_int_equal(level("qemu", 7, 16, 2), 7);
	assert_int_equal(level("qemu", 0, 16, 256), 0);
	assert_int_equal(level("podman", -1, 16, 256), 0); /* its boxes cannot be paused */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_found),
		cmocka_unit_test(agents_are_found),
		cmocka_unit_test(sweeps_are_whole),
		cmocka_unit_test(every_host_has_a_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
