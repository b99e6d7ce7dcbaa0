// sources: user/monitor/tour_report.c
/* The checks of the tour's migration part, on made-up figures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "user/monitor/program.h"
#include "user/monitor/tour_migrate.h"

/* Measuring is the machine's business; only the checks are tested. */
#define NOT_HERE(declaration)                                                                      \
	declaration                                                                                \
	{                                                                                          \
		fail();                                                                            \
		return 0;                                                                          \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
NOT_HERE(bool program_run(char *argv[]))
NOT_HERE(bool system_cpus(struct cpu_sample *sample))
NOT_HERE(bool system_vmstat(struct info_vmstat *vmstat))
NOT_HERE(bool system_set_policy(enum control_op op, const char *name))
NOT_HERE(int64_t tour_read_count(const char *path))

struct tlb_counters tour_difference(const struct cpu_sample *a, const struct cpu_sample *b,
				    enum tlb_reason reason)
{
	fail();
	return (struct tlb_counters){ 0 };
}

#include "user/monitor/tour_migrate.c"

static const struct tour_setup eight = { .cpus = 8, .batch_capacity = 510 };

static struct migrate_figures figures(const char *policy, uint64_t pages, uint64_t targets)
{
	return (struct migrate_figures){ .policy = policy, .pages = pages,
					 .tlb = { .targets = targets, .taken = targets } };
}

static bool passes(const char *policy, uint64_t pages, uint64_t targets)
{
	struct migrate_figures f = figures(policy, pages, targets);

	return tour_migrate_check(&eight, &f);
}

static void the_bounds_are_those_of_eight_cpus(void **state)
{
	(void)state;
	assert_true(passes("page", 1000, 7000));
	assert_true(passes("page", 1000, 3000));
	assert_false(passes("page", 1000, 2999));
	assert_true(passes("batch", 2560, 70));
	assert_false(passes("batch", 2560, 71));
}

static void idle_cpus_count_as_told(void **state)
{
	struct migrate_figures f = figures("page", 1000, 10);

	(void)state;
	f.tlb.lazy = 6990;
	assert_true(tour_migrate_check(&eight, &f));
}

static void a_lost_store_fails(void **state)
{
	struct migrate_figures f = figures("batch", 5100, 70);

	(void)state;
	f.lost_stores = 1;
	assert_false(tour_migrate_check(&eight, &f));
	f.lost_stores = -1; /* the workload did not end */
	assert_false(tour_migrate_check(&eight, &f));
}

static void nothing_moved_fails(void **state)
{
	(void)state;
	assert_false(passes("batch", 0, 0));
}

static void every_target_has_its_interrupt(void **state)
{
	struct migrate_figures f = figures("batch", 5100, 70);

	(void)state;
	f.tlb.taken = 69;
	assert_false(tour_migrate_check(&eight, &f));
	f.tlb.coalesced = 1;
	assert_true(tour_migrate_check(&eight, &f));
}

static void with_fewer_cpus_only_the_contents_count(void **state)
{
	const struct tour_setup two = { .cpus = 2, .batch_capacity = 510 };
	struct migrate_figures f = figures("page", 1000, 10);

	(void)state;
	assert_true(tour_migrate_check(&two, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bounds_are_those_of_eight_cpus),
		cmocka_unit_test(idle_cpus_count_as_told),
		cmocka_unit_test(a_lost_store_fails),
		cmocka_unit_test(nothing_moved_fails),
		cmocka_unit_test(every_target_has_its_interrupt),
		cmocka_unit_test(with_fewer_cpus_only_the_contents_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
