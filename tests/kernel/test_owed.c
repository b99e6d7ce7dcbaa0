/*
 * test_owed.c - flushes that a batch owes: whoever changes the same addresses meanwhile must not
 * return before they are done. The faults caught here are in tests/exhibits.
 */
#include "arch/cpu.h"
#include "arch/layout.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/tlb_batch.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

static void unmap_beside(void *addr)
{
	if (mm_unmap(space, (u64)addr, PAGE_SIZE))
		atomic_inc(&wrong);
	end_beside();
}

KTEST(munmap_waits_for_a_flush_that_another_thread_owes)
{
	struct page *page;
	u32 value;
	bool dirty;
	u64 at;

	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	page = unmap_and_owe_the_flush(at, &dirty);
	start_on(other_cpu(0), unmap_beside, at, space);
	while (!READ_ONCE(ended))
		stay_awake();
	KT_EXPECT(get_user(&value, at) == -EFAULT, "the page is still readable after munmap");
	KT_EXPECT(wrong == 0);
	try_to_unmap_flush();
	put_page(page);
	end_space();
}

/* ---- A flush that becomes due while another waits -------------------------------------------- */

KTEST(a_flush_owed_during_another_is_not_forgotten)
{
	struct page *first, *second;
	u64 at, other;
	u32 value;
	bool dirty;

	if (cpus_online() < 3)
		return;
	begin_space();
	at = map_one_page();
	other = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0 && put_user_u32(other, 1) == 0);
	first = unmap_and_owe_the_flush(at, &dirty);
	start_on(other_cpu(1), take_no_interrupts, 0, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	start_on(other_cpu(0), discard_beside, at, space);
	KT_WAIT_FOR(waits_for(other_cpu(0), other_cpu(1)) || READ_ONCE(ended) > 1);
	second = unmap_and_owe_the_flush(other, &dirty);
	WRITE_ONCE(phase, 1);
	while (READ_ONCE(ended) < 3)
		stay_awake();
	KT_EXPECT(mm_discard(space, other, PAGE_SIZE) == 0);
	KT_EXPECT(get_user(&value, other) == 0 && value == 0, "the discarded page is still there");
	KT_EXPECT(wrong == 0);
	try_to_unmap_flush();
	put_page(first);
	put_page(second);
	end_space();
}

/* ---- A CPU that comes in before the PTE is cleared ------------------------------------------- */

static void unmap_flush_free(void *addr)
{
	struct page *page;
	bool dirty;

	page = unmap_and_owe_the_flush((u64)addr, &dirty);
	try_to_unmap_flush();
	put_page(page);
	end_beside();
}

static void look_twice(void *addr)
{
	u32 value;

	mm_switch_current(space);
	KT_EXPECT(get_user(&value, (u64)addr) == 0 && value == 1, "it was still mapped");
	WRITE_ONCE(phase, 1);
	wait_for_phase(2); /* awake: the CPU is a target */
	if (get_user(&value, (u64)addr) || value)
		atomic_inc(&wrong);
	end_beside();
}

/* The mask that matters is that of the moment after: the guest is in it, and has the entry. */
KTEST(a_cpu_that_comes_in_before_a_pte_is_cleared_is_flushed)
{
	unsigned unmapper = other_cpu(1);
	u64 at;

	if (cpus_online() < 3)
		return;
	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	pause_at(SYNC_pte_clear, unmapper);
	start_on(unmapper, unmap_flush_free, at, NULL);
	KT_WAIT_FOR(paused_at(SYNC_pte_clear));
	start_on(other_cpu(0), look_twice, at, NULL);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	release(SYNC_pte_clear);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0, "it read the page that was freed");
	end_space();
}

/* ---- A store beside an unmap ----------------------------------------------------------------- */

#define STORES 100

static void store_beside(void *addr)
{
	u32 i;

	for (i = 1; i <= STORES; i++) {
		wait_for_phase(i);
		if (put_user_u32((u64)addr, i))
			atomic_inc(&wrong);
		atomic_inc(&ended);
	}
	end_beside();
}

/* mmap_lock is held so that a store that comes too late waits in its fault. */
KTEST(a_store_beside_an_unmap_is_not_lost)
{
	u32 i, value, lost = 0;
	struct page *page;
	bool dirty;
	u64 at;

	if (cpus_online() < 2)
		return;
	begin_space();
	at = map_one_page();
	start_on(other_cpu(0), store_beside, at, space);
	for (i = 1; i <= STORES; i++) {
		KT_EXPECT(get_user(&value, at) == 0); /* present, writable, and clean */
		mutex_lock(&space->mmap_lock);
		WRITE_ONCE(phase, i);
		page = unmap_and_owe_the_flush(at, &dirty);
		try_to_unmap_flush();
		lost += *(u32 *)phys_to_virt(page_to_phys(page)) == i && !dirty;
		mutex_unlock(&space->mmap_lock);
		put_page(page);
		KT_WAIT_FOR(READ_ONCE(ended) >= i);
		KT_EXPECT(mm_discard(space, at, PAGE_SIZE) == 0);
	}
	KT_WAIT_FOR(READ_ONCE(ended) == STORES + 1);
	KT_EXPECT(lost == 0, "%u stores went into frames that were called clean", lost);
	KT_EXPECT(wrong == 0);
	end_space();
}

/* ---- An old change behind a new one ---------------------------------------------------------- */

static struct wait_queue sleep_queue;

static void read_sleep_read(void *addr)
{
	u32 value;

	KT_EXPECT(get_user(&value, (u64)addr) == 0 && value == 1, "it was to be in this TLB");
	WRITE_ONCE(ended, 1);
	wait_for_phase(1);
	wait_event(&sleep_queue, READ_ONCE(phase) == 2);
	if (get_user(&value, (u64)addr) || value)
		atomic_inc(&wrong);
	end_beside();
}

static bool is_lazy_here(unsigned cpu)
{
	return READ_ONCE(cpus[cpu].tlb.lazy) && READ_ONCE(cpus[cpu].tlb.loaded_mm) == space;
}

/* A batch owes a flush of `at`; a flush of another page comes first; then the CPU is lazy. */
KTEST(a_flush_of_one_page_does_not_hide_an_older_change)
{
	struct page *page;
	struct mm *child;
	u64 at, other;
	bool dirty;

	if (cpus_online() < 2)
		return;
	begin_space();
	at = map_one_page();
	other = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0 && put_user_u32(other, 1) == 0);
	child = mm_create(false);
	KT_EXPECT(mm_fork(child, space) == 0);
	wait_queue_init(&sleep_queue);
	start_on(other_cpu(0), read_sleep_read, at, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	page = unmap_and_owe_the_flush(at, &dirty);
	KT_EXPECT(put_user_u32(other, 2) == 0); /* breaks the sharing: a flush of that page */
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(is_lazy_here(other_cpu(0)));
	try_to_unmap_flush();
	put_page(page);
	WRITE_ONCE(phase, 2);
	wake_up_all(&sleep_queue);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0, "the older change was never flushed");
	end_space();
	mm_put(child);
}
