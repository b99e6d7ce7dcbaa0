/* page_alloc.c - the frame allocator's policy (see page_alloc.h). */
#include "mm/page_alloc.h"
#include "arch/layout.h"
#include "kernel/lib.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "kernel/trace.h"
#include "mm/buddy.h"
#include "mm/compact.h"
#include "mm/fail.h"
#include "mm/foreign.h"
#include "mm/lru.h"
#include "mm/node.h"
#include "mm/object.h"
#include "mm/oom.h"
#include "mm/reclaim.h"
#include "mm/tlb_batch.h"
#include "mm/tlbsan.h"
#include "mm/vmalloc.h"

struct page *mem_map;
u64 max_pfn, mem_total_pages, mem_boot_pages;
struct watermarks watermarks;

static const struct lock_class frames_class = {"frames", RANK_FRAMES, false};
static spinlock_t frames_lock = SPINLOCK_INIT(frames_class);
static struct buddy buddy[NR_NODES];

u64 nr_free_pages_node(unsigned node)
{
	return READ_ONCE(buddy[node].nr_free);
}

u64 nr_free_pages(void)
{
	u64 sum = 0;
	unsigned node;

	for (node = 0; node < nr_nodes; node++)
		sum += nr_free_pages_node(node);
	return sum;
}

static void poison(struct page *page, unsigned order)
{
	u64 *word = phys_to_virt(page_to_phys(page)), *end = word + ((PAGE_SIZE << order) / sizeof(u64));

#pragma GCC unroll 8 /* an emulator does "rep stosq" one word at a time */
	while (word < end)
		*word++ = PAGE_POISON;
}

static u64 differs_from_poison(const u64 word[8])
{
	u64 differs = 0;

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		differs |= word[i] ^ PAGE_POISON;
	return differs;
}

/* A frame that changed while it was free was written through a stale pointer or translation. */
static void check_poison(struct page *page, unsigned order)
{
	u64 *word = phys_to_virt(page_to_phys(page)), n = (PAGE_SIZE << order) / sizeof(u64);
	u64 i;

	for (i = 0; i < n && !differs_from_poison(&word[i]); i += 8)
		;
	for (; i < n; i++)
		if (word[i] != PAGE_POISON)
			panic("free frame %lx was written at offset %lx: %016lx instead of poison",
			      page_to_pfn(page) + i / 512, i % 512 * 8, word[i]);
}

/* Of the first node that has some: `nodes` of them are asked, counted round from `node`. */
static struct page *take_frames(unsigned order, u32 gfp, u64 reserve, unsigned node, unsigned nodes)
{
	struct page *page = NULL;

	spin_lock(&frames_lock);
	if (nr_free_pages() >= reserve + (1ul << order))
		for (; nodes && !page; nodes--, node++)
			page = buddy_alloc(&buddy[node % nr_nodes], order);
	spin_unlock(&frames_lock);
	if (nr_free_pages() < watermarks.low)
		wake_kswapd();
	if (!page)
		return NULL;
	check_poison(page, order);
	*page = (struct page){.refcount = 1};
	list_init(&page->lru);
	if (gfp & GFP_ZERO)
		memset(phys_to_virt(page_to_phys(page)), 0, PAGE_SIZE << order);
	return page;
}

u64 nr_free_blocks(unsigned order)
{
	unsigned node;
	u64 n = 0;

	for (node = 0; node < nr_nodes; node++)
		n += buddy_blocks(&buddy[node], order);
	return n;
}

static void make_single(struct page *page, struct list_head *to)
{
	check_poison(page, 0);
	*page = (struct page){.refcount = 1};
	list_init(&page->lru);
	list_add_tail(&page->lru, to);
}

u64 isolate_free_frames(u64 start, u64 end, unsigned whole, struct list_head *to)
{
	u64 pfn = start, taken = 0;

	spin_guard(&frames_lock);
	while (pfn < end) {
		struct page *page = pfn_to_page(pfn);
		u64 n = page_test(page, PG_buddy) ? 1ul << page->order : 1, i;

		if (page_test(page, PG_buddy) && page->order < whole) {
			buddy_take(&buddy[pfn_to_node(pfn)], page);
			for (i = 0; i < n; i++)
				make_single(page + i, to);
			taken += n;
		}
		pfn += n;
	}
	return taken;
}

static u64 reserve_for(u32 gfp)
{
	if (!scheduler_running || (current->flags & PF_MEMALLOC))
		return 0;
	return gfp & GFP_NOWAIT ? watermarks.min / 2 : watermarks.min;
}

/* Reclaim until frames come free. false: nothing left to reclaim and nobody left to end. */
static bool make_room(unsigned order)
{
	if (current->flags & PF_MEMALLOC)
		return false;
	thread_free_dead(); /* their stacks */
	return try_to_free_pages(order) || vmap_give_back() ||
	       wait_for_foreign_pages() || out_of_memory();
}

/* Enough frames, but not in one piece. */
static struct page *alloc_huge(unsigned order, u32 gfp)
{
	unsigned node = this_cpu_read(node);
	struct page *page = take_frames(order, gfp, watermarks.low, node, nr_nodes);

	if (!page && nr_free_pages() >= watermarks.low + (1ul << order)) {
		if (compact_memory(order))
			page = take_frames(order, gfp, watermarks.low, node, nr_nodes);
		tlb_ubc_release(current); /* a user's thread keeps no page for its next time */
	}
	if (!page)
		wake_kcompactd();
	return page;
}

struct page *alloc_pages(unsigned order, u32 gfp)
{
	struct page *page;

	if (unlikely(should_fail()))
		return NULL;
	page = gfp & GFP_HUGE ? alloc_huge(order, gfp) : NULL;
	while (!page && !(gfp & GFP_HUGE)) {
		page = take_frames(order, gfp, reserve_for(gfp), this_cpu_read(node), nr_nodes);
		if (page || (gfp & GFP_NOWAIT) || !may_sleep() || thread_killed(current) ||
		    !make_room(order))
			break;
	}
	if (!page && !(gfp & (GFP_NOWAIT | GFP_HUGE)) && scheduler_running)
		page = take_frames(order, gfp, watermarks.min / 4, 0, nr_nodes); /* its last steps */
	return page;
}

struct page *alloc_pages_node(unsigned node, unsigned order, u32 gfp)
{
	return take_frames(order, gfp, (watermarks.min + watermarks.low) / 2, node, 1);
}

void free_pages(struct page *page, unsigned order)
{
	unsigned i;

	ASSERT(!page_test(page, PG_reserved | PG_lru | PG_buddy | PG_locked),
	       "frame %lx freed with flags %x", page_to_pfn(page), page->flags);
	ASSERT(!page_test(page, PG_dirty) || page_test(page, PG_anon),
	       "frame %lx is freed with bytes that its pager does not have", page_to_pfn(page));
	ASSERT(page_mapcount(page) == 0, "frame %lx freed with %u mappings", page_to_pfn(page),
	       page_mapcount(page));
	for (i = 0; i < 1u << order; i++)
		tlbsan_check_free(page + i);
	TRACE(free, page_to_pfn(page), order);
	page->refcount = 0;
	page->flags = 0;
	poison(page, order);
	spin_guard(&frames_lock);
	buddy_free(&buddy[pfn_to_node(page_to_pfn(page))], page_to_pfn(page), order);
}

void put_page(struct page *page)
{
	struct vm_object *anon;

	ASSERT(page_refs(page) > 0, "frame %lx loses a reference it does not have",
	       page_to_pfn(page));
	if (!atomic_dec_and_test(&page->refcount))
		return;
	anon = page_test(page, PG_anon) ? page->object : NULL;
	lru_del_page(page);
	free_pages(page, 0);
	if (anon)
		object_put(anon);
}

void *kpage_alloc(unsigned order)
{
	struct page *page = alloc_pages(order, GFP_KERNEL | GFP_ZERO);

	return page ? phys_to_virt(page_to_phys(page)) : NULL;
}

void kpage_free(void *address, unsigned order)
{
	free_pages(pfn_to_page(virt_to_phys(address) >> PAGE_SHIFT), order);
}

void free_boot_range(u64 start_pfn, u64 end_pfn)
{
	unsigned node;
	u64 pfn;

	for (node = 0; node < NR_NODES && !buddy[node].free[0].next; node++)
		buddy_init(&buddy[node], node);
	for (pfn = start_pfn; pfn < end_pfn; pfn++) {
		if (!page_test_clear(pfn_to_page(pfn), PG_reserved))
			continue; /* the firmware's map named it twice */
		free_pages(pfn_to_page(pfn), 0);
		mem_total_pages++;
	}
}

/*
 * high - low leaves room for one full batch, so that the background reclaimer, which stops at batch
 * boundaries, flushes full batches only; below low there is room for one more while it works.
 */
void page_alloc_ready(void)
{
	u64 min = MAX(64ul, MIN(mem_total_pages / 64, 4096ul));

	watermarks.min = min;
	watermarks.low = min * 2 + MIN((u64)BATCH_TLBFLUSH_SIZE / 2, mem_total_pages / 32);
	watermarks.high = watermarks.low + MIN((u64)BATCH_TLBFLUSH_SIZE, mem_total_pages / 16);
}
