/*
 * test_huge.c - 2 MiB mappings and compaction: what a split, an unmap and a fork leave, on every
 * CPU, and that packing pages away makes blocks. The faults caught here are in tests/exhibits.
 */
#include "arch/cpu.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/compact.h"
#include "mm/huge.h"
#include "mm/lru.h"
#include "mm/page_alloc.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define BLOCK_PAGES (PMD_PAGE_SIZE / PAGE_SIZE)

/* 2 MiB of `space`, mapped as one page, page i beginning with i + 1. */
static u64 begin_with_block(void)
{
	u64 area, at, i;

	begin_space();
	area = (u64)mm_map(space, 0, 2 * PMD_PAGE_SIZE, VMA_READ | VMA_WRITE | VMA_MAYWRITE, NULL, 0,
			   NULL, MAP_NEAR);
	at = ALIGN_UP(area, PMD_PAGE_SIZE);
	KT_EXPECT(mm_advise_huge(space, at, PMD_PAGE_SIZE, true) == 0);
	for (i = 0; i < BLOCK_PAGES; i++)
		KT_EXPECT(put_user_u32(at + i * PAGE_SIZE, (u32)i + 1) == 0);
	KT_EXPECT(huge_mapped(space, at), "512 small pages");
	return at;
}

/* Pages [from, to) of the block are as they were written. */
static unsigned count_wrong(u64 at, u64 from, u64 to)
{
	unsigned n = 0;
	u32 value;

	for (; from < to; from++)
		n += get_user(&value, at + from * PAGE_SIZE) || value != from + 1;
	return n;
}

KTEST(a_block_is_one_mapping_and_goes_in_one_piece)
{
	u64 before = nr_free_pages(), at = begin_with_block();
	u32 value;

	KT_EXPECT(count_wrong(at, 0, BLOCK_PAGES) == 0);
	KT_EXPECT(space->rss_pages >= BLOCK_PAGES, "%lu", space->rss_pages);
	KT_EXPECT(mm_unmap(space, at, PMD_PAGE_SIZE) == 0);
	KT_EXPECT(get_user(&value, at) == -EFAULT);
	end_space();
	KT_EXPECT(nr_free_pages() + 8 >= before, "%lu of %lu frames came back", nr_free_pages(), before);
}

KTEST(unmapping_one_page_of_a_block_leaves_the_others)
{
	u64 at = begin_with_block(), hole = 100;
	u32 value;

	KT_EXPECT(mm_unmap(space, at + hole * PAGE_SIZE, PAGE_SIZE) == 0);
	KT_EXPECT(!huge_mapped(space, at), "it is still one mapping");
	KT_EXPECT(get_user(&value, at + hole * PAGE_SIZE) == -EFAULT);
	KT_EXPECT(count_wrong(at, 0, hole) + count_wrong(at, hole + 1, BLOCK_PAGES) == 0);
	end_space();
}

KTEST(protecting_half_a_block_leaves_the_other_half)
{
	u64 at = begin_with_block();

	KT_EXPECT(mm_protect(space, at, PMD_PAGE_SIZE / 2, VMA_READ) == 0);
	KT_EXPECT(put_user_u32(at, 7) == -EFAULT);
	KT_EXPECT(put_user_u32(at + PMD_PAGE_SIZE / 2, BLOCK_PAGES / 2 + 1) == 0);
	KT_EXPECT(count_wrong(at, 0, BLOCK_PAGES) == 0);
	end_space();
}

KTEST(a_forked_block_is_a_copy)
{
	u64 at = begin_with_block();
	struct mm *child = mm_create(false);

	KT_EXPECT(mm_fork(child, space) == 0);
	KT_EXPECT(put_user_u32(at, 1000) == 0);
	mm_switch_current(child);
	KT_EXPECT(count_wrong(at, 0, BLOCK_PAGES) == 0, "the child's pages");
	KT_EXPECT(put_user_u32(at + PAGE_SIZE, 2000) == 0);
	mm_switch_current(space);
	KT_EXPECT(count_wrong(at, 1, BLOCK_PAGES) == 0, "the parent's pages");
	mm_put(child);
	end_space();
}

/* ---- On every CPU ---------------------------------------------------------------------------- */

/* Reads all of it, waits, and reads all of it again: nothing may be there then. */
static void read_all_twice(void *addr)
{
	u64 i;
	u32 value;

	if (count_wrong((u64)addr, 0, BLOCK_PAGES))
		atomic_inc(&wrong);
	WRITE_ONCE(phase, 1);
	wait_for_phase(2);
	for (i = 0; i < BLOCK_PAGES; i++)
		if (get_user(&value, (u64)addr + i * PAGE_SIZE) == 0)
			atomic_inc(&wrong);
	end_beside();
}

KTEST(an_unmapped_block_is_gone_from_every_tlb)
{
	u64 at;

	if (cpus_online() < 2)
		return;
	at = begin_with_block();
	start_on(other_cpu(0), read_all_twice, at, space);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	KT_EXPECT(mm_unmap(space, at, PMD_PAGE_SIZE) == 0);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	KT_EXPECT(wrong == 0, "%u of its pages were read after munmap", wrong);
	end_space();
}

/* ---- Compaction ------------------------------------------------------------------------------ */

/*
 * Page by page, each with its number; then every second of the first `holes` pages is given back.
 */
static u64 fragment_memory(u64 pages, u64 holes)
{
	u64 at, i;

	at = (u64)mm_map(space, 0, pages * PAGE_SIZE, VMA_READ | VMA_WRITE | VMA_MAYWRITE, NULL, 0, NULL,
			 MAP_NEAR);
	for (i = 0; i < pages; i += BLOCK_PAGES) /* the page tables first: they will not move */
		KT_EXPECT(put_user_u32(at + i * PAGE_SIZE, (u32)i) == 0);
	for (i = 0; i < pages; i++)
		KT_EXPECT(put_user_u32(at + i * PAGE_SIZE, (u32)i) == 0);
	for (i = 1; i < holes; i += 2)
		KT_EXPECT(mm_discard(space, at + i * PAGE_SIZE, PAGE_SIZE) == 0);
	return at;
}

static struct page *blocks[16];

/* Blocks that can be had, up to as many as there is room for. */
static u64 take_blocks(bool compact)
{
	u64 n = 0;

	do
		while (n < ARRAY_SIZE(blocks) && (blocks[n] = alloc_pages(COMPACT_ORDER, GFP_NOWAIT)))
			n++;
	while (compact && n < ARRAY_SIZE(blocks) && compact_memory(COMPACT_ORDER));
	return n;
}

static void give_blocks_back(u64 n)
{
	while (n--)
		free_pages(blocks[n], COMPACT_ORDER);
}

KTEST(compaction_makes_blocks_and_loses_nothing)
{
	struct list_head taken;
	u64 pages, at, i, bad = 0, without, with;
	u32 value;

	begin_space();
	take_frames(&taken, watermarks.high + 6 * BLOCK_PAGES, COMPACT_ORDER); /* less to fragment */
	pages = nr_free_pages() - watermarks.high;
	at = fragment_memory(pages, pages);
	without = take_blocks(false);
	give_blocks_back(without);
	with = take_blocks(true);
	give_blocks_back(with);
	KT_EXPECT(with > without, "%lu blocks, %lu without", with, without);
	for (i = 0; i < pages; i += 2)
		bad += get_user(&value, at + i * PAGE_SIZE) || value != (u32)i;
	KT_EXPECT(bad == 0, "%lu of %lu pages are wrong", bad, pages / 2);
	give_frames(&taken);
	end_space();
}

static void compact_beside(void *unused)
{
	(void)unused;
	(void)compact_memory(COMPACT_ORDER);
	end_beside();
}

/*
 * With less than a block above the reserve the scanners take no frames: somebody may need them
 * meanwhile, and the batch they would be held for takes long.
 */
KTEST(compaction_leaves_the_reserve_alone)
{
	struct list_head taken;
	u64 before, least;

	begin_space();
	take_frames(&taken, watermarks.min + 6 * BLOCK_PAGES, COMPACT_ORDER);
	(void)fragment_memory(nr_free_pages() - watermarks.min - 32, BLOCK_PAGES);
	before = least = nr_free_pages();
	KT_EXPECT(before < watermarks.min + BLOCK_PAGES, "%lu pages are free", before);
	start_on(other_cpu(0), compact_beside, 0, NULL);
	for (; READ_ONCE(ended) == 0; stay_awake())
		least = MIN(least, nr_free_pages());
	KT_EXPECT(least + 32 > before, "%lu pages were free for a while, %lu before", least, before);
	give_frames(&taken);
	end_space();
}

/*
 * Frames change hands while a scanner looks at them: it must take no reference on what is no LRU
 * page.
 */
static void isolate_beside(void *page)
{
	for (; READ_ONCE(phase) == 0; cpu_relax())
		if (lru_isolate_page(page))
			atomic_inc(&wrong);
	end_beside();
}

KTEST(a_scanner_leaves_the_kernels_frames_alone)
{
	void *frame = kpage_alloc(0);
	u32 i;

	if (cpus_online() < 2)
		return;
	begin_space();
	start_on(other_cpu(0), isolate_beside, (u64)pfn_to_page(virt_to_phys(frame) >> PAGE_SHIFT), NULL);
	for (i = 0; i < 5000; i++) {
		kpage_free(frame, 0);
		frame = kpage_alloc(0);
	}
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	KT_EXPECT(wrong == 0);
	kpage_free(frame, 0);
	end_space();
}
