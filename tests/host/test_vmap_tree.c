// sources: mm/vmap_tree.c tests/host/shim.c
/* The tree of kernel ranges against an array that says which page is taken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/log.h"
#include "mm/vmap_tree.h"
#include "shim.h"

#define PAGES 4096
#define FIRST 16 /* the space starts at this page */
#define STEPS 40000

static struct vmap_tree tree;
static bool taken[FIRST + PAGES];
static struct vmap_node *held[PAGES];
static unsigned nr_held;

static int start(void **state)
{
	(void)state;
	tree = (struct vmap_tree){NULL, FIRST * PAGE_SIZE, (FIRST + PAGES) * PAGE_SIZE};
	memset(taken, 0, sizeof(taken));
	nr_held = 0;
	return 0;
}

static void mark(const struct vmap_node *node, bool value)
{
	for (u64 page = node->start / PAGE_SIZE; page < node->end / PAGE_SIZE; page++) {
		assert_int_equal(taken[page], !value);
		taken[page] = value;
	}
}

/* The lowest run of free pages that has room for `pages` at any place of an aligned start in it. */
static u64 model_hole(u64 pages, u64 align_pages)
{
	u64 run = 0, wanted = pages + align_pages - 1;

	for (u64 page = FIRST; page < FIRST + PAGES; page++) {
		run = taken[page] ? 0 : run + 1;
		if (run == wanted)
			return ALIGN_UP(page + 1 - run, align_pages) * PAGE_SIZE;
	}
	return 0;
}

static u64 log2_of(u64 n)
{
	return n < 2 ? 0 : 1 + log2_of(n / 2);
}

/* Heights, sums and order, all of them; how many nodes. */
static u64 check(const struct vmap_node *n)
{
	const struct vmap_node *l, *r;
	u64 gap = 0, count;

	if (!n)
		return 0;
	l = n->child[0];
	r = n->child[1];
	count = 1 + check(l) + check(r);
	if (l) {
		assert_true(l->high <= n->start);
		gap = MAX(l->max_gap, n->start - l->high);
	}
	if (r) {
		assert_true(r->low >= n->end);
		gap = MAX(gap, MAX(r->max_gap, r->low - n->end));
	}
	assert_int_equal(n->max_gap, gap);
	assert_int_equal(n->low, l ? l->low : n->start);
	assert_int_equal(n->high, r ? r->high : n->end);
	assert_int_equal(n->height, 1 + MAX(l ? l->height : 0, r ? r->height : 0));
	assert_true(abs((int)(l ? l->height : 0) - (int)(r ? r->height : 0)) <= 1);
	return count;
}

static void take(u64 pages, u64 align_pages)
{
	u64 at = vmap_tree_find_hole(&tree, pages * PAGE_SIZE, align_pages * PAGE_SIZE);
	struct vmap_node *node;

	assert_int_equal(at, model_hole(pages, align_pages));
	if (!at)
		return;
	node = calloc(1, sizeof(*node));
	node->start = at;
	node->end = at + pages * PAGE_SIZE;
	mark(node, true);
	vmap_tree_insert(&tree, node);
	held[nr_held++] = node;
}

static void give_back(unsigned i)
{
	vmap_tree_remove(&tree, held[i]);
	mark(held[i], false);
	free(held[i]);
	held[i] = held[--nr_held];
}

static void give_all(void)
{
	while (nr_held)
		give_back(nr_held - 1);
	assert_null(tree.root);
}

static void test_random_ranges(void **state)
{
	u64 seed = 4711;

	(void)state;
	for (unsigned step = 0; step < STEPS; step++) {
		u64 random = host_random(&seed);
		bool more = (random >> 8) % 8 < (step / 2000 % 2 ? 3 : 5); /* it fills and drains */

		if (nr_held && !more)
			give_back(random % nr_held);
		else
			take(1 + (random >> 16) % 12, 1ul << (random >> 32) % 5);
		if (step % 2 == 0) {
			assert_int_equal(check(tree.root), nr_held);
			assert_true(!tree.root || tree.root->height <= 2 + log2_of(nr_held) * 3 / 2);
		}
	}
	give_all();
}

static void test_find(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		take(1 + (u64)i % 3, 1);
	for (unsigned i = 0; i < 100; i += 2)
		give_back(i / 2);
	for (u64 page = FIRST; page < FIRST + 300; page++) {
		struct vmap_node *node = vmap_tree_find(&tree, page * PAGE_SIZE + 7);

		assert_int_equal(node != NULL, taken[page]);
		assert_ptr_equal(vmap_tree_find(&tree, page * PAGE_SIZE), node);
		assert_true(!node || (node->start <= page * PAGE_SIZE && node->end > page * PAGE_SIZE));
	}
	give_all();
}

static void test_full_to_the_last_page(void **state)
{
	(void)state;
	take(PAGES, 1);
	assert_int_equal(vmap_tree_find_hole(&tree, PAGE_SIZE, PAGE_SIZE), 0);
	give_all();
	for (int i = 0; i < PAGES; i++)
		take(1, 1);
	assert_int_equal(nr_held, PAGES);
	assert_int_equal(vmap_tree_find_hole(&tree, PAGE_SIZE, PAGE_SIZE), 0);
	give_back(1234);
	assert_int_equal(vmap_tree_find_hole(&tree, PAGE_SIZE, PAGE_SIZE),
			 (FIRST + 1234) * PAGE_SIZE);
	give_all();
}

static void test_no_size_overflows(void **state)
{
	(void)state;
	assert_int_equal(vmap_tree_find_hole(&tree, ~0ul & ~(PAGE_SIZE - 1), PAGE_SIZE), 0);
	assert_int_equal(vmap_tree_find_hole(&tree, ~0ul & ~(PAGE_SIZE - 1), 1ul << 40), 0);
	assert_int_equal(vmap_tree_find_hole(&tree, PAGE_SIZE, 1ul << 63), 0);
	assert_int_equal(vmap_tree_find_hole(&tree, -PAGE_SIZE, 2 * PAGE_SIZE), 0); /* 0 together */
}

static void test_what_must_not_be(void **state)
{
	struct vmap_node twice = {.start = (FIRST + 1) * PAGE_SIZE, .end = (FIRST + 3) * PAGE_SIZE};
	struct vmap_node outside = {.start = PAGE_SIZE, .end = 2 * PAGE_SIZE};

	(void)state;
	take(2, 1);
	expect_assert_failure(vmap_tree_insert(&tree, &twice));
	expect_assert_failure(vmap_tree_insert(&tree, &outside));
	expect_assert_failure(vmap_tree_remove(&tree, &outside));
	give_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_random_ranges, start),
		cmocka_unit_test_setup(test_find, start),
		cmocka_unit_test_setup(test_full_to_the_last_page, start),
		cmocka_unit_test_setup(test_no_size_overflows, start),
		cmocka_unit_test_setup(test_what_must_not_be, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
