/*
 * test_tables.c - page tables that munmap leaves empty: they come back, and no CPU walks them when
 * they do. The fault caught here is in tests/exhibits.
 */
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/sched.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/tables.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define RW      (VMA_READ | VMA_WRITE | VMA_MAYWRITE)
#define WINDOWS 200
#define FIRST   0x0000200000000000ull
#define STEP    (GIB + 2 * MIB) /* each needs a PT and a PD of its own */

static void touch_windows(void)
{
	u64 i;

	for (i = 0; i < WINDOWS; i++) {
		s64 at = mm_map(space, FIRST + i * STEP, PAGE_SIZE, RW, NULL, 0, NULL, true);

		KT_EXPECT(at > 0 && put_user_u32((u64)at, (u32)i) == 0);
	}
}

static struct wait_queue sleep_queue;

static void read_and_sleep(void *addr)
{
	u32 value;

	KT_EXPECT(get_user(&value, (u64)addr) == 0);
	atomic_inc(&ended);
	wait_event(&sleep_queue, READ_ONCE(phase) == 1);
	KT_EXPECT(get_user(&value, (u64)addr) == 0 && value == 5, "%u", value);
	end_beside();
}

static void read_until_phase(void *addr)
{
	u32 value;

	atomic_inc(&ended);
	do {
		KT_EXPECT(get_user(&value, (u64)addr) == 0 && value == 5);
		cpu_relax();
	} while (READ_ONCE(phase) == 0);
	end_beside();
}

static bool may_walk_lazily(unsigned cpu)
{
	return READ_ONCE(cpus[cpu].tlb.lazy) && READ_ONCE(cpus[cpu].tlb.loaded_mm) == space;
}

/* One mapping stays, and is read by a CPU meanwhile; another CPU is lazy in the address space. */
KTEST(munmap_frees_empty_tables_after_the_last_cpu_that_may_walk_them)
{
	u64 keep, i, before, free;
	u32 value;

	if (cpus_online() < 3)
		return;
	begin_space();
	wait_queue_init(&sleep_queue);
	keep = map_one_page();
	KT_EXPECT(put_user_u32(keep, 5) == 0);
	before = pml4_nr_tables(space->pml4);
	free = nr_free_pages();
	touch_windows();
	KT_EXPECT(pml4_nr_tables(space->pml4) >= before + 2 * WINDOWS);
	start_on(other_cpu(0), read_and_sleep, keep, space);
	start_on(other_cpu(1), read_until_phase, keep, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 2 && may_walk_lazily(other_cpu(0)));
	for (i = 0; i < WINDOWS / 2; i++)
		KT_EXPECT(mm_unmap(space, FIRST + i * STEP, PAGE_SIZE) == 0);
	KT_EXPECT(!may_walk_lazily(other_cpu(0)), "tables went under a lazy CPU");
	KT_EXPECT(get_user(&value, FIRST + i * STEP) == 0 && value == i, "the next window: %u", value);
	KT_EXPECT(mm_unmap(space, FIRST, WINDOWS * STEP) == 0);
	KT_EXPECT(pml4_nr_tables(space->pml4) <= before + TABLES_KEPT, "%lu are left, %lu were there",
		  pml4_nr_tables(space->pml4), before);
	KT_EXPECT(nr_free_pages() + TABLES_KEPT + 64 >= free, "%lu frames are free, %lu were",
		  nr_free_pages(), free);
	touch_windows();
	KT_EXPECT(mm_unmap(space, FIRST, WINDOWS * STEP) == 0);
	WRITE_ONCE(phase, 1);
	wake_up_all(&sleep_queue);
	KT_WAIT_FOR(READ_ONCE(ended) == 4);
	end_space();
}

/* A window that a neighbour shares keeps its table. */
KTEST(munmap_leaves_the_tables_of_its_neighbours)
{
	u64 base = FIRST, i;
	u32 value;

	begin_space();
	touch_windows();
	for (i = 1; i < 4; i++)
		KT_EXPECT(mm_map(space, base + i * PAGE_SIZE, PAGE_SIZE, RW, NULL, 0, NULL, true) > 0 &&
			  put_user_u32(base + i * PAGE_SIZE, 77) == 0);
	KT_EXPECT(mm_unmap(space, base + PAGE_SIZE, PAGE_SIZE) == 0);
	KT_EXPECT(get_user(&value, base) == 0 && value == 0, "%u", value);
	KT_EXPECT(get_user(&value, base + 2 * PAGE_SIZE) == 0 && value == 77, "%u", value);
	KT_EXPECT(get_user(&value, base + PAGE_SIZE) != 0, "it is unmapped");
	KT_EXPECT(mm_unmap(space, base + PAGE_SIZE, (WINDOWS - 2) * STEP) == 0);
	KT_EXPECT(get_user(&value, base) == 0 && value == 0, "%u", value);
	KT_EXPECT(get_user(&value, base + (WINDOWS - 1) * STEP) == 0 && value == WINDOWS - 1, "%u", value);
	end_space();
}
