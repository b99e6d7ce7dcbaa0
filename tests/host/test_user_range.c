// sources:
/*
 * Arithmetic on numbers that user programs choose: nothing wraps, and the last good number is good.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/user_range.h"

static void ranges_end_in_user_space(void **state)
{
	u64 end;

	(void)state;
	assert_true(user_range(0, 0, &end) && end == 0);
	assert_true(user_range(USER_END, 0, &end) && end == USER_END);
	assert_true(user_range(USER_END - 1, 1, &end) && end == USER_END);
	assert_false(user_range(USER_END, 1, &end));
	assert_false(user_range(USER_BASE, UINT64_MAX, &end));
	assert_false(user_range(UINT64_MAX, 1, &end));
	assert_false(user_range(UINT64_MAX, 0, &end));
}

static void pages_are_rounded_up_once(void **state)
{
	u64 end, rounded;

	(void)state;
	assert_true(user_round_pages(0, &rounded) && rounded == 0);
	assert_true(user_round_pages(1, &rounded) && rounded == PAGE_SIZE);
	assert_true(user_round_pages(-PAGE_SIZE, &rounded) && rounded == -PAGE_SIZE);
	assert_false(user_round_pages(-PAGE_SIZE + 1, &rounded));
	assert_false(user_round_pages(UINT64_MAX, &rounded));
	assert_true(user_pages(USER_BASE, 1, &end) && end == USER_BASE + PAGE_SIZE);
	assert_true(user_pages(USER_BASE, USER_END - USER_BASE, &end) && end == USER_END);
	assert_false(user_pages(USER_BASE, USER_END - USER_BASE + 1, &end));
	assert_false(user_pages(USER_BASE, 0, &end));
	assert_false(user_pages(USER_BASE, UINT64_MAX, &end));
	assert_false(user_pages(USER_BASE + 1, 1, &end));
	assert_false(user_pages(USER_BASE - PAGE_SIZE, PAGE_SIZE, &end));
}

static void files_and_times_have_an_end(void **state)
{
	(void)state;
	assert_true(user_file_range(0, INT64_MAX));
	assert_false(user_file_range(1, INT64_MAX));
	assert_false(user_file_range(-PAGE_SIZE, PAGE_SIZE));
	assert_int_equal(add_saturated(1, 2), 3);
	assert_true(add_saturated(UINT64_MAX - 1, 2) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_end_in_user_space),
		cmocka_unit_test(pages_are_rounded_up_once),
		cmocka_unit_test(files_and_times_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
