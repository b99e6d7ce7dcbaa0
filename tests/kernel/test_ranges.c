/*
 * test_ranges.c - calls on whole ranges and single pages of an address space: how long they take
 * when little is there, and what other threads of the space see meanwhile.
 */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/syscall.h"
#include "mm/migrate.h"
#include "mm/node.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define WIDE (64ull << 40)

/* What is not there costs nothing, however wide the area is. */
KTEST(a_wide_area_is_quickly_forked_protected_moved_and_unmapped)
{
	struct migrate_result result = {0};
	struct mm *child = mm_create(false);
	u64 at, start;

	begin_space();
	at = (u64)mm_map(space, 0, WIDE, VMA_READ | VMA_WRITE | VMA_MAYWRITE, NULL, 0, NULL, MAP_NEAR);
	KT_EXPECT(put_user_u32(at, 1) == 0 && put_user_u32(at + WIDE - PAGE_SIZE, 2) == 0);
	start = clock_ns();
	KT_EXPECT(mm_fork(child, space) == 0);
	KT_EXPECT(mm_protect(space, at, WIDE, VMA_READ) == 0);
	KT_EXPECT(migrate_range(space, at, at + WIDE, MOVE_ANY_NODE, &result) == 0);
	KT_EXPECT(result.moved == 2, "%lu", result.moved);
	KT_EXPECT(mm_unmap(space, at, WIDE) == 0);
	mm_put(child);
	KT_EXPECT(clock_ns() - start < NSEC_PER_SEC / 2, "it took %lu ms",
		  (clock_ns() - start) / NSEC_PER_MSEC);
	end_space();
}

KTEST(locking_all_passes_by_what_nobody_may_touch)
{
	u64 at;

	begin_space();
	at = (u64)mm_map(space, 0, 4 * PAGE_SIZE, 0, NULL, 0, NULL, MAP_NEAR);
	KT_EXPECT(mm_map(space, at + 8 * PAGE_SIZE, PAGE_SIZE, VMA_READ, NULL, 0, NULL, MAP_REPLACE) > 0);
	KT_EXPECT(mm_lock_all(space, true, false) == 0);
	KT_EXPECT(space->rss_pages == 1, "%lu", space->rss_pages);
	end_space();
}

/* ---- The prober ------------------------------------------------------------------------------ */

static void write_beside(void *addr)
{
	for (; READ_ONCE(phase) == 0; cpu_relax()) {
		local_flush_tlb_page((u64)addr);
		if (put_user_u32((u64)addr, 1))
			atomic_inc(&wrong);
	}
	end_beside();
}

/* It borrows a page's place while another thread uses the page. */
KTEST(probes_of_a_page_in_use_disturb_nobody)
{
	u64 at, i;

	if (cpus_online() < 2)
		return;
	begin_space();
	at = map_one_page();
	start_on(other_cpu(0), write_beside, at, space);
	for (i = 0; i < 2000; i++)
		KT_EXPECT(sys_tlbprobe(1, at) >= 0);
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	KT_EXPECT(wrong == 0, "%u stores failed", wrong);
	end_space();
}
