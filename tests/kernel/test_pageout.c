/*
 * test_pageout.c - page-outs and moves beside threads that store: no flag decides before the
 * reference count does, and no page goes out while anybody owes a flush for it. And pagers that do
 * not answer, or refuse. The faults caught here are in tests/exhibits.
 */
#include "arch/cpu.h"
#include "arch/layout.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/ipc.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/foreign.h"
#include "mm/lru.h"
#include "mm/migrate.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/reclaim.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define RW (VMA_READ | VMA_WRITE | VMA_MAYWRITE)

static struct vm_object *object;

/* A file of one page, cached, clean and mapped nowhere; where it would be mapped writable. */
static u64 begin_one_page(bool trusted)
{
	struct page *page = alloc_pages(0, GFP_KERNEL | GFP_ZERO);
	struct endpoint *pager = silent_pager(trusted);

	begin_space();
	object = object_create(OBJECT_PAGED, pager, 42, PAGE_SIZE);
	endpoint_put(pager);
	page_set(page, PG_uptodate);
	KT_EXPECT(page_cache_add(object, 0, page) == 0);
	lru_add_page(page);
	put_page(page);
	return (u64)mm_map(space, 0, PAGE_SIZE, RW | VMA_SHARED, object, 0, NULL, false);
}

/* What waits for the pager is let go: it gets an error, and drops the page. */
static void end_one_page(u32 threads)
{
	silent_pager_ends();
	KT_WAIT_FOR(READ_ONCE(ended) == threads);
	end_space();
	object_put(object);
}

static void shrink_beside(void *unused)
{
	(void)unused;
	(void)shrink_all_memory(1);
	end_beside();
}

static void store_and_discard(u64 at, u32 value)
{
	KT_EXPECT(put_user_u32(at, value) == 0);
	KT_EXPECT(mm_discard(space, at, PAGE_SIZE) == 0);
}

static bool is_cached(void)
{
	struct page *page = page_cache_find(object, 0);

	if (page)
		put_page(page);
	return page;
}

static u32 value_sent(void)
{
	return page_sent_to_silent_pager() ? *(const u32 *)page_sent_to_silent_pager() : 0;
}

/* ---- The count first, then the flag ---------------------------------------------------------- */

/* The reclaimer has seen a clean page; then somebody faults it in, stores and unmaps it. */
KTEST(a_store_before_a_page_leaves_the_cache_is_kept)
{
	u64 at;

	if (cpus_online() < 2)
		return;
	at = begin_one_page(true);
	pause_at(SYNC_page_take, other_cpu(0));
	start_on(other_cpu(0), shrink_beside, 0, NULL);
	KT_WAIT_FOR(paused_at(SYNC_page_take));
	store_and_discard(at, 7);
	release(SYNC_page_take);
	KT_WAIT_FOR(page_sent_to_silent_pager() || READ_ONCE(ended));
	KT_EXPECT(is_cached(), "the page was dropped as clean, and the store with it");
	KT_EXPECT(value_sent() == 7, "the pager gets %u", value_sent());
	end_one_page(1);
}

static void move_beside(void *addr)
{
	struct migrate_result result = {0};

	KT_EXPECT(migrate_range(space, (u64)addr, (u64)addr + PAGE_SIZE, MOVE_ANY_NODE, &result) == 0);
	KT_EXPECT(result.moved == 1, "%lu moved", result.moved);
	end_beside();
}

/* The same while the page is about to get another frame: it is found dirty there. */
KTEST(a_store_before_a_page_gets_its_new_frame_is_kept)
{
	struct page *page;
	u64 at, other;
	u32 value;

	if (cpus_online() < 2)
		return;
	at = begin_one_page(true);
	other = (u64)mm_map(space, 0, PAGE_SIZE, RW | VMA_SHARED, object, 0, NULL, false);
	KT_EXPECT(get_user(&value, at) == 0);
	pause_at(SYNC_page_take, other_cpu(0));
	start_on(other_cpu(0), move_beside, at, NULL);
	KT_WAIT_FOR(paused_at(SYNC_page_take));
	store_and_discard(other, 7);
	release(SYNC_page_take);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	page = page_cache_find(object, 0);
	KT_EXPECT(page && page_test(page, PG_dirty), "the store will never be written out");
	KT_EXPECT(get_user(&value, at) == 0 && value == 7, "%u", value);
	put_page(page);
	end_one_page(1);
}

/* ---- A flush that another owes --------------------------------------------------------------- */

static u32 stored; /* the second store went through: the CPU still had its entry */

static void store_deaf_store(void *addr)
{
	u64 flags;

	KT_EXPECT(put_user_u32((u64)addr, 1) == 0);
	flags = local_irq_save();
	WRITE_ONCE(ended, 1);
	wait_for_phase(1);
	stored = put_user_u32((u64)addr, 2) == 0;
	local_irq_restore(flags);
	end_beside();
}

/*
 * CPU B has a dirty entry and takes no interrupts, CPU A has cleared the PTE and waits for B, the
 * reclaimer took the page as a candidate while it was mapped.
 */
KTEST(a_page_out_waits_for_the_flush_that_another_owes)
{
	unsigned reclaimer = other_cpu(0), a = other_cpu(1), b = other_cpu(2);
	u64 at;

	if (cpus_online() < 4)
		return;
	at = begin_one_page(true);
	start_on(b, store_deaf_store, at, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	pause_at(SYNC_page_candidate, reclaimer);
	start_on(reclaimer, shrink_beside, 0, NULL);
	KT_WAIT_FOR(paused_at(SYNC_page_candidate));
	start_on(a, discard_beside, at, space);
	KT_WAIT_FOR(waits_for(a, b));
	release(SYNC_page_candidate);
	KT_WAIT_FOR(READ_ONCE(ended) == 2 || page_sent_to_silent_pager());
	KT_EXPECT(!page_sent_to_silent_pager(), "it goes out while cpu%u may store", b);
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 4);
	start_on(reclaimer, shrink_beside, 0, NULL);
	KT_WAIT_FOR(page_sent_to_silent_pager() || READ_ONCE(ended) > 4);
	KT_EXPECT(value_sent() == 1 + stored, "the pager gets %u", value_sent());
	KT_EXPECT(wrong == 0);
	end_one_page(5);
}

/* ---- Pagers ---------------------------------------------------------------------------------- */

/* An ordinary program's object: no reclaimer that others rely on waits for it. */
KTEST(reclaim_does_not_wait_for_a_foreign_pager)
{
	u64 at = begin_one_page(false);

	store_and_discard(at, 7);
	KT_EXPECT(shrink_all_memory(1) == 0, "a dirty page that was not written out is gone");
	KT_EXPECT(is_cached());
	KT_WAIT_FOR(page_sent_to_silent_pager()); /* kpageout's doing */
	KT_EXPECT(value_sent() == 7, "the pager gets %u", value_sent());
	KT_EXPECT(shrink_all_memory(1) == 0);
	end_one_page(0);
}

KTEST(a_foreign_pager_that_does_not_answer_loses_its_objects)
{
	u64 at = begin_one_page(false), start = clock_ns(), patience = foreign_patience_ns;
	u32 value;

	foreign_patience_ns = 100 * NSEC_PER_MSEC;
	store_and_discard(at, 7);
	wake_kpageout();
	while (is_cached())
		sleep_until(clock_ns() + 10 * NSEC_PER_MSEC);
	KT_EXPECT(clock_ns() - start >= foreign_patience_ns, "after %lu us", (clock_ns() - start) / 1000);
	foreign_patience_ns = patience;
	KT_EXPECT(get_user(&value, at) != 0, "the page is back: %u", value);
	end_one_page(0);
}
