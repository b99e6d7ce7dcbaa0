/* buddy.c - the binary buddy system (see buddy.h). */
#include "mm/buddy.h"
#include "mm/node.h"

void buddy_init(struct buddy *buddy, unsigned node)
{
	unsigned order;

	buddy->node = node;
	buddy->nr_free = 0;
	for (order = 0; order <= MAX_ORDER; order++) {
		list_init(&buddy->free[order]);
		buddy->nr_blocks[order] = 0;
	}
}

static void link_block(struct buddy *buddy, u64 pfn, unsigned order)
{
	struct page *page = pfn_to_page(pfn);

	page->order = (u16)order;
	page_set(page, PG_buddy);
	list_add(&page->lru, &buddy->free[order]);
	buddy->nr_blocks[order]++;
}

static void unlink_block(struct buddy *buddy, struct page *page)
{
	page_clear(page, PG_buddy);
	list_del(&page->lru);
	buddy->nr_blocks[page->order]--;
}

static bool is_free_block(const struct buddy *buddy, u64 pfn, unsigned order)
{
	return pfn_valid(pfn) && page_test(pfn_to_page(pfn), PG_buddy) &&
	       pfn_to_page(pfn)->order == order && pfn_to_node(pfn) == buddy->node;
}

void buddy_free(struct buddy *buddy, u64 pfn, unsigned order)
{
	ASSERT((pfn & ((1ul << order) - 1)) == 0 && order <= MAX_ORDER,
	       "pfn %lx is not the start of a block of order %u", pfn, order);
	ASSERT(!page_test(pfn_to_page(pfn), PG_buddy), "pfn %lx is freed twice", pfn);
	ASSERT(pfn_to_node(pfn) == buddy->node, "pfn %lx of node %u is freed to node %u", pfn,
	       pfn_to_node(pfn), buddy->node);
	buddy->nr_free += 1ul << order;
	while (order < MAX_ORDER && is_free_block(buddy, pfn ^ (1ul << order), order)) {
		unlink_block(buddy, pfn_to_page(pfn ^ (1ul << order)));
		pfn &= ~(1ul << order);
		order++;
	}
	link_block(buddy, pfn, order);
}

u64 buddy_blocks(const struct buddy *buddy, unsigned order)
{
	u64 n = 0;

	for (; order <= MAX_ORDER; order++)
		n += READ_ONCE(buddy->nr_blocks[order]);
	return n;
}

void buddy_take(struct buddy *buddy, struct page *page)
{
	ASSERT(page_test(page, PG_buddy), "pfn %lx is not a free block", page_to_pfn(page));
	buddy->nr_free -= 1ul << page->order;
	unlink_block(buddy, page);
}

struct page *buddy_alloc(struct buddy *buddy, unsigned order)
{
	unsigned from = order;
	struct page *page;

	while (from <= MAX_ORDER && list_empty(&buddy->free[from]))
		from++;
	if (from > MAX_ORDER)
		return NULL;
	page = list_first(&buddy->free[from], struct page, lru);
	unlink_block(buddy, page);
	while (from > order) {
		from--;
		link_block(buddy, page_to_pfn(page) + (1ul << from), from);
	}
	buddy->nr_free -= 1ul << order;
	return page;
}
