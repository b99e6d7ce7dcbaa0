// sources: user/monitor/tour_report.c
/* The checks and ratios of the tour, on made-up figures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "user/monitor/tour.h"

static const struct policy page = { "page", 1, "" }, batch32 = { "batch32", 32, "" },
			   pfn = { "pfn", POLICY_BATCH_PAGE, "" };
static struct tour_setup setup;

static int start(void **state)
{
	(void)state;
	setup = (struct tour_setup){ .cpus = 8, .file_mib = 256, .mem_mib = 60,
				     .batch_capacity = 510 };
	return 0;
}

static struct tour_figures figures(const struct policy *policy, uint64_t pages, uint64_t targets)
{
	return (struct tour_figures){ .policy = policy, .pages = pages, .sharers = 7 * pages,
				      .bad_pages = 0,
				      .tlb = { .targets = targets, .taken = targets } };
}

static bool passes(const struct policy *policy, uint64_t pages, uint64_t targets)
{
	struct tour_figures f = figures(policy, pages, targets);

	return tour_check(&setup, &f);
}

static void computes_ratios(void **state)
{
	(void)state;
	assert_int_equal(tour_ratio(7, 510, 10000), 137);
	assert_int_equal(tour_ratio(1, 3, 100), 33);
	assert_int_equal(tour_ratio(2, 3, 100), 67);
	assert_int_equal(tour_ratio(5, 0, 100), 0);
	assert_int_equal(tour_capacity(&setup, &pfn), 510);
	assert_int_equal(tour_capacity(&setup, &batch32), 32);
}

static void holds_policies_to_their_bounds(void **state)
{
	(void)state;
	assert_true(passes(&page, 10000, 70000));
	assert_false(passes(&page, 10000, 59000));
	assert_true(passes(&batch32, 10000, 2300));
	assert_false(passes(&batch32, 10000, 2301));
	assert_true(passes(&pfn, 10000, 160));
	assert_false(passes(&pfn, 10000, 161));
}

static void adapts_bounds_to_the_cpus(void **state)
{
	(void)state;
	setup.cpus = 4;
	assert_true(passes(&page, 10000, 30000));
	assert_true(passes(&pfn, 10000, 5000));
	setup.cpus = 64;
	assert_true(passes(&pfn, 10000, 1440));
	assert_false(passes(&pfn, 10000, 1450));
}

static void finds_what_is_wrong(void **state)
{
	struct tour_figures f = figures(&page, 10000, 70000);

	(void)state;
	f.tlb.taken--;
	assert_false(tour_check(&setup, &f));
	f.tlb.coalesced++;
	assert_true(tour_check(&setup, &f));
	f.bad_pages = -1;
	assert_false(tour_check(&setup, &f));
	assert_false(passes(&page, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(computes_ratios, start),
		cmocka_unit_test_setup(holds_policies_to_their_bounds, start),
		cmocka_unit_test_setup(adapts_bounds_to_the_cpus, start),
		cmocka_unit_test_setup(finds_what_is_wrong, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
