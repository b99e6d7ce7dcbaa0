/*
 * test_nodes.c - frames of several nodes come from and go to the right allocator (nodes=2, or an
 * SRAT).
 */
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/buddy.h"
#include "mm/node.h"
#include "mm/page_alloc.h"
#include "tests/kernel/ktest.h"

static u32 misplaced;

/* All frames of a block, not only its first. */
static bool is_on_node(const struct page *page, unsigned order, unsigned node)
{
	u64 i;

	for (i = 0; i < 1ul << order; i++)
		if (pfn_to_node(page_to_pfn(page) + i) != node)
			return false;
	return true;
}

/* No other thread allocates meanwhile; the last test's have been freed. */
KTEST(frames_come_from_the_node_asked_and_return_to_it)
{
	unsigned node, order;
	struct page *page;
	u64 before, taken, after;

	thread_free_dead();
	for (node = 0; node < nr_nodes; node++)
		for (order = 0; order <= MAX_ORDER; order += 3) {
			before = nr_free_pages_node(node);
			page = alloc_pages_node(node, order, GFP_KERNEL);
			taken = nr_free_pages_node(node);
			KT_EXPECT(page, "node %u, order %u", node, order);
			if (!page)
				continue;
			KT_EXPECT(is_on_node(page, order, node), "node %u, frame %lx", node,
				  page_to_pfn(page));
			free_pages(page, order);
			after = nr_free_pages_node(node);
			KT_EXPECT(before - taken == 1ul << order && after == before,
				  "node %u: %lu, %lu, %lu", node, before, taken, after);
		}
}

static void allocate_on_cpu(u64 cpu)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);

	if (pfn_to_node(page_to_pfn(page)) != cpus[cpu].node)
		atomic_inc(&misplaced);
	free_pages(page, 0);
}

KTEST(a_cpu_gets_frames_of_its_own_node)
{
	misplaced = 0;
	ktest_on_each_cpu(allocate_on_cpu);
	KT_EXPECT(misplaced == 0, "%u of %u CPUs", misplaced, cpus_online());
}

/* Everything the node has, largest blocks first, so that each comes whole; how many frames. */
static u64 take_all(unsigned node, struct list_head *taken)
{
	struct page *page;
	int order;
	u64 n = 0;

	for (order = MAX_ORDER; order >= 0; order--)
		while ((page = alloc_pages_node(node, (unsigned)order, GFP_KERNEL))) {
			KT_EXPECT(is_on_node(page, (unsigned)order, node),
				  "frame %lx, order %d, was node %u's", page_to_pfn(page), order,
				  node);
			page->index = (u64)order;
			list_add_tail(&page->lru, taken);
			n += 1ul << order;
		}
	return n;
}

static void give_back(struct list_head *taken)
{
	struct page *page;

	while ((page = list_pop(taken, struct page, lru)))
		free_pages(page, (unsigned)page->index);
}

/*
 * Every node in turn gives all it has: no block reaches into another node, which is what the frames
 * at the boundary would tend to; alloc_pages then goes on with the others.
 */
KTEST(an_empty_node_has_given_its_own_frames_and_the_others_help)
{
	struct list_head taken = LIST_HEAD_INIT(taken);
	struct page *page;
	unsigned node;
	u64 before, n;

	for (node = 0; nr_nodes > 1 && node < nr_nodes; node++) {
		thread_free_dead();
		before = nr_free_pages_node(node);
		n = take_all(node, &taken);
		KT_EXPECT(n == before && nr_free_pages_node(node) == 0, "node %u: %lu of %lu taken",
			  node, n, before);
		page = alloc_pages(0, GFP_NOWAIT);
		KT_EXPECT(page && pfn_to_node(page_to_pfn(page)) != node, "node %u", node);
		if (page)
			free_pages(page, 0);
		give_back(&taken);
		KT_EXPECT(nr_free_pages_node(node) == before, "node %u: %lu of %lu came back", node,
			  nr_free_pages_node(node), before);
	}
}

/* alloc_pages_node stops where others can still allocate, so that a move ends no process. */
KTEST(a_move_leaves_frames_for_others)
{
	struct list_head taken = LIST_HEAD_INIT(taken);
	struct page *page;
	unsigned node;

	for (node = 0; node < nr_nodes; node++)
		(void)take_all(node, &taken);
	KT_EXPECT(nr_free_pages() > watermarks.min && nr_free_pages() < watermarks.low,
		  "%lu pages are free", nr_free_pages());
	page = alloc_pages(0, GFP_KERNEL);
	KT_EXPECT(page);
	if (page)
		free_pages(page, 0);
	give_back(&taken);
}
