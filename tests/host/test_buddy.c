// sources: mm/buddy.c mm/node.c tests/host/shim.c
/* The buddy system against the simplest model there is: an array that says which frame is taken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/log.h"
#include "mm/buddy.h"
#include "shim.h"

#define MAX_HELD 2048
#define STEPS    20000

static struct buddy buddy;
static bool taken[HOST_FRAMES];
static struct {
	u64 pfn;
	unsigned order;
} held[MAX_HELD];
static unsigned nr_held;
static u64 nr_taken;

static int start(void **state)
{
	(void)state;
	host_reset();
	memset(taken, 0, sizeof(taken));
	nr_held = 0;
	nr_taken = 0;
	buddy_init(&buddy, 0);
	return 0;
}

static void give_all(u64 first, u64 last)
{
	for (u64 pfn = first; pfn < last; pfn++)
		buddy_free(&buddy, pfn, 0);
}

static void model_take(u64 pfn, unsigned order)
{
	for (u64 i = pfn; i < pfn + BIT(order); i++) {
		assert_false(taken[i]);
		taken[i] = true;
	}
	held[nr_held].pfn = pfn;
	held[nr_held++].order = order;
	nr_taken += BIT(order);
}

static void take(unsigned order)
{
	struct page *page = buddy_alloc(&buddy, order);
	u64 pfn;

	if (!page)
		return;
	pfn = page_to_pfn(page);
	assert_true((pfn & (BIT(order) - 1)) == 0);
	assert_true(pfn + BIT(order) <= HOST_FRAMES);
	model_take(pfn, order);
}

static void give(unsigned i)
{
	u64 pfn = held[i].pfn;

	for (u64 p = pfn; p < pfn + BIT(held[i].order); p++)
		taken[p] = false;
	nr_taken -= BIT(held[i].order);
	buddy_free(&buddy, pfn, held[i].order);
	held[i] = held[--nr_held];
}

/* Every block on a list is free in the model, no two overlap, and no two buddies are apart. */
static void check_lists(void)
{
	static bool seen[HOST_FRAMES];
	u64 total = 0;

	memset(seen, 0, sizeof(seen));
	for (unsigned order = 0; order <= MAX_ORDER; order++) {
		u64 blocks = 0;
		struct page *page;

		list_for_each(page, &buddy.free[order], lru) {
			u64 pfn = page_to_pfn(page), other = pfn ^ BIT(order);

			assert_int_equal(page->order, order);
			for (u64 p = pfn; p < pfn + BIT(order); p++) {
				assert_false(seen[p] || taken[p]);
				seen[p] = true;
			}
			assert_false(order < MAX_ORDER && other < HOST_FRAMES &&
				     page_test(&mem_map[other], PG_buddy) &&
				     mem_map[other].order == order);
			blocks++;
		}
		assert_int_equal(blocks, buddy.nr_blocks[order]);
		total += blocks << order;
	}
	assert_int_equal(total, buddy.nr_free);
}

static void random_operations(u64 seed)
{
	for (unsigned step = 0; step < STEPS; step++) {
		u64 r = host_random(&seed);

		if (nr_held < MAX_HELD && (nr_held == 0 || r % 100 < 52))
			take((unsigned)(r >> 32) % 10 < 7 ? 0 : (unsigned)(r >> 40) % (MAX_ORDER + 1));
		else
			give((unsigned)((r >> 32) % nr_held));
		assert_int_equal(buddy.nr_free + nr_taken, HOST_FRAMES);
		if (step % 500 == 0)
			check_lists();
	}
}

static void agrees_with_the_model(void **state)
{
	for (u64 seed = 1; seed <= 5; seed++) {
		print_message("# seed %lu\n", seed);
		start(state);
		give_all(0, HOST_FRAMES);
		random_operations(seed * 0x9e3779b97f4a7c15);
		while (nr_held)
			give(nr_held - 1);
		check_lists();
		assert_int_equal(buddy.nr_blocks[MAX_ORDER], HOST_FRAMES >> MAX_ORDER);
	}
}

static void merges_in_any_order(void **state)
{
	(void)state;
	for (u64 i = 0; i < 1024; i++)
		buddy_free(&buddy, 1024 + (i * 389) % 1024, 0);
	check_lists();
	assert_int_equal(buddy.nr_blocks[MAX_ORDER], 1);
}

static void does_not_merge_across_a_hole(void **state)
{
	(void)state;
	give_all(1, 1024);
	check_lists();
	assert_int_equal(buddy.nr_blocks[MAX_ORDER], 0);
	for (unsigned order = 0; order < MAX_ORDER; order++)
		assert_int_equal(buddy.nr_blocks[order], 1);
}

static void hands_out_every_frame(void **state)
{
	(void)state;
	give_all(3, 1000);
	while (buddy.nr_free)
		take(0);
	assert_int_equal(nr_taken, 997);
	assert_null(buddy_alloc(&buddy, 0));
}

static void has_no_block_larger_than_what_is_free(void **state)
{
	(void)state;
	give_all(0, 512);
	assert_null(buddy_alloc(&buddy, 10));
	assert_non_null(buddy_alloc(&buddy, 9));
	assert_null(buddy_alloc(&buddy, 0));
}

static void does_not_look_past_the_last_frame(void **state)
{
	(void)state;
	max_pfn = 512;
	give_all(0, 512);
	assert_int_equal(buddy.nr_blocks[9], 1);
	max_pfn = HOST_FRAMES;
}

static void a_double_free_is_caught(void **state)
{
	(void)state;
	buddy_free(&buddy, 7, 0);
	expect_assert_failure(buddy_free(&buddy, 7, 0));
}

static void an_unaligned_block_is_caught(void **state)
{
	(void)state;
	expect_assert_failure(buddy_free(&buddy, 6, 2));
	expect_assert_failure(buddy_free(&buddy, 0, MAX_ORDER + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(agrees_with_the_model, start),
		cmocka_unit_test_setup(merges_in_any_order, start),
		cmocka_unit_test_setup(does_not_merge_across_a_hole, start),
		cmocka_unit_test_setup(hands_out_every_frame, start),
		cmocka_unit_test_setup(has_no_block_larger_than_what_is_free, start),
		cmocka_unit_test_setup(does_not_look_past_the_last_frame, start),
		cmocka_unit_test_setup(a_double_free_is_caught, start),
		cmocka_unit_test_setup(an_unaligned_block_is_caught, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
