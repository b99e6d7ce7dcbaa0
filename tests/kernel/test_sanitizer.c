/*
 * test_sanitizer.c - the TLB sanitizer itself: it forgets nothing, and accuses nobody who is right.
 * Without `tlbsan=on` these tests run and can show nothing.
 */
#include "arch/layout.h"
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"
#include "mm/tlbsan.h"
#include "mm/tlbsan_shadow.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#ifndef GATHER_RELEASE

static u64 nr_held;

static void count_held(struct stale_entry *e, u64 unused)
{
	(void)unused;
	nr_held += shadow_holders(e) != 0;
}

static u64 entries_held(u64 start, u64 pages)
{
	u64 flags = shadow_lock();

	nr_held = 0;
	shadow_each_in(space, start, start + pages * PAGE_SIZE, count_held, 0);
	shadow_unlock(flags);
	return nr_held;
}

/* More translations that nobody has flushed yet than it has room for at first. */
KTEST(the_shadow_grows_instead_of_forgetting)
{
	u64 at, pages = shadow_size + 2000, i;
	struct page *page = alloc_pages(0, GFP_KERNEL);
	u32 before = shadow_size;

	if (!tlbsan_on) {
		put_page(page);
		return;
	}
	begin_space();
	at = USER_BASE;
	for (i = 0; i < pages; i++)
		tlbsan_pte_gone(space, at + i * PAGE_SIZE, make_pte(page_to_pfn(page), PTE_P));
	KT_EXPECT(entries_held(at, pages) == pages, "%lu of %lu", nr_held, pages);
	KT_EXPECT(shadow_size > before, "%u entries", shadow_size);
	flush_tlb_mm_range(space, 0, USER_END, TLB_UNMAP);
	KT_EXPECT(entries_held(at, pages) == 0, "%lu are held after the flush", nr_held);
	put_page(page);
	end_space();
}

/* ---- A flush between a batch's generation and its entry -------------------------------------- */

static void unmap_beside(void *addr)
{
	struct page *page;
	bool dirty;

	page = unmap_and_owe_the_flush((u64)addr, &dirty);
	atomic_inc(&ended);
	wait_for_phase(2);
	try_to_unmap_flush();
	put_page(page);
	end_beside();
}

static void stay_in_space(void *addr)
{
	u32 value;

	KT_EXPECT(get_user(&value, (u64)addr) == 0);
	WRITE_ONCE(phase, 1);
	wait_for_phase(2);
	end_beside();
}

static u32 flush_now;

static void flush_beside(void *addr)
{
	atomic_inc(&flush_now);
	while (READ_ONCE(flush_now) == 1)
		cpu_relax();
	flush_tlb_mm_range(space, (u64)addr, (u64)addr + PAGE_SIZE, TLB_UNMAP);
	end_beside();
}

/*
 * A CPU flushes between the two, which it may; then it catches up with a later change by INVLPG, and
 * was said to have left the gathered page out.
 */
KTEST(a_flush_beside_a_gather_is_not_accused)
{
	u64 at, other;

	if (cpus_online() < 4)
		return;
	begin_space();
	at = map_one_page();
	other = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0 && put_user_u32(other, 1) == 0);
	start_on(other_cpu(0), stay_in_space, at, space);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	mm_switch_current(NULL); /* whoever is flushed meanwhile stands still until the release */
	WRITE_ONCE(flush_now, 0);
	start_on(other_cpu(2), flush_beside, other, NULL);
	KT_WAIT_FOR(READ_ONCE(flush_now) == 1);
	pause_at(SYNC_gen_bumped, other_cpu(1));
	start_on(other_cpu(1), unmap_beside, at, NULL);
	while (tlbsan_on && !paused_at(SYNC_gen_bumped))
		stay_awake();
	WRITE_ONCE(flush_now, 2);
	let_others_run(2000); /* it has flushed, or waits for the one who has the shadow's lock */
	release(SYNC_gen_bumped);
	while (READ_ONCE(ended) < 2)
		stay_awake();
	flush_tlb_mm_range(space, other, other + PAGE_SIZE, TLB_UNMAP);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 4);
	end_space();
}

/* ---- mprotect beside a move ------------------------------------------------------------------ */

static void protect_beside(void *addr)
{
	KT_EXPECT(mm_protect(space, (u64)addr, PAGE_SIZE, VMA_READ) == 0);
	end_beside();
}

/* The page is unmapped to be moved after mprotect has flushed: its old entry has the new rights. */
KTEST(mprotect_beside_a_move_is_not_accused)
{
	struct unmap_result unmapped;
	struct page *page;
	u64 at;

	if (cpus_online() < 3)
		return;
	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	start_on(other_cpu(0), stay_in_space, at, space);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	pause_at(SYNC_protect_flushed, other_cpu(1));
	start_on(other_cpu(1), protect_beside, at, NULL);
	KT_WAIT_FOR(paused_at(SYNC_protect_flushed));
	page = pfn_to_page(pte_pfn(pte_read(pte_lookup(space->pml4, at))));
	get_page(page);
	lock_page(page);
	try_to_migrate(page, &unmapped);
	tlb_ubc_gather(unmapped.cpus, unmapped.dirty, TLB_MIGRATE);
	release(SYNC_protect_flushed);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	try_to_unmap_flush();
	remove_migration_ptes(page, page);
	unlock_page(page);
	put_page(page);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	end_space();
}

#endif
