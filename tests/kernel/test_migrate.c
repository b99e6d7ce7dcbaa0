/*
 * test_migrate.c - pages on the move: what threads store, read, fork, protect and unmap meanwhile.
 * A mover on another CPU is held between the copy and the remap, or between the remap and the
 * release (kernel/perturb.h). The faults caught here are in tests/exhibits; `migrate=late unsafe=1`
 * and `migrate=clean-late unsafe=1` on the command line make two of these tests fail.
 */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/errno.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/lru.h"
#include "mm/migrate.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define MANY 40 /* pages */

static struct migrate_result result;
static struct thread *beside; /* the one that stores or reads */

static void move(u64 at, u64 pages)
{
	result = (struct migrate_result){0};
	KT_EXPECT(migrate_range(space, at, at + pages * PAGE_SIZE, MOVE_ANY_NODE, &result) == 0);
}

static void move_one_beside(void *addr)
{
	mm_switch_current(NULL);
	move((u64)addr, 1);
	end_beside();
}

static u64 frame_of(u64 at)
{
	return pte_pfn(pte_read(pte_lookup(space->pml4, at)));
}

static u32 read_u32(u64 at)
{
	u32 value = ~0u;

	KT_EXPECT(get_user(&value, at) == 0);
	return value;
}

/* A mover on another CPU has got to the point with the page; then it is let go. */
static void hold_mover(u64 at, enum sync_point point)
{
	pause_at(point, other_cpu(0));
	start_on(other_cpu(0), move_one_beside, at, NULL);
	KT_WAIT_FOR(paused_at(point));
}

static void let_mover_go(enum sync_point point, u32 threads)
{
	release(point);
	KT_WAIT_FOR(READ_ONCE(ended) == threads);
	KT_EXPECT(result.moved == 1 && result.failed == 0, "%lu moved, %lu not", result.moved,
		  result.failed);
}

static bool waits_in_fault(const struct thread *t)
{
	return READ_ONCE(t->state) == THREAD_SLEEPING && !READ_ONCE(t->on_rq);
}

static u64 begin_with_page(void)
{
	u64 at;

	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	return at;
}

/* Page i holds i. */
static u64 begin_with_many(void)
{
	u64 at;
	u32 i;

	begin_space();
	at = (u64)mm_map(space, 0, MANY * PAGE_SIZE, VMA_READ | VMA_WRITE | VMA_MAYWRITE, NULL, 0,
			 NULL, MAP_NEAR);
	for (i = 0; i < MANY; i++)
		KT_EXPECT(put_user_u32(at + i * PAGE_SIZE, i) == 0);
	return at;
}

static void expect_many(u64 at)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		KT_EXPECT(read_u32(at + i * PAGE_SIZE) == i);
}

/* ---- Contents and mappings ------------------------------------------------------------------- */

KTEST(moved_pages_keep_their_contents_and_their_mappings)
{
	u64 at = begin_with_many(), frame = frame_of(at);
	struct mm *child = mm_create(false);
	u32 i;

	KT_EXPECT(mm_fork(child, space) == 0);
	move(at, MANY);
	KT_EXPECT(result.moved == MANY && result.failed == 0, "%lu, %lu", result.moved, result.failed);
	KT_EXPECT(frame_of(at) != frame, "it is where it was");
	expect_many(at);
	KT_EXPECT(put_user_u32(at, 1000) == 0);
	mm_switch_current(child);
	for (i = 0; i < MANY; i++)
		KT_EXPECT(read_u32(at + i * PAGE_SIZE) == i, "the child's page %u", i);
	mm_switch_current(space);
	mm_put(child);
	end_space();
}

KTEST(moving_pages_leaves_no_frame_behind)
{
	u64 at = begin_with_page(), before;
	u32 i;

	move(at, 1);
	before = nr_free_pages();
	for (i = 0; i < 50; i++)
		move(at, 1);
	KT_EXPECT(nr_free_pages() + 4 >= before, "%lu of %lu frames are free", nr_free_pages(),
		  before);
	end_space();
}

KTEST(a_page_that_somebody_holds_stays_and_is_reported)
{
	u64 at = begin_with_page(), frame = frame_of(at);

	get_page(pfn_to_page(frame));
	move(at, 1);
	KT_EXPECT(result.moved == 0 && result.failed == 1 && result.passes == MIGRATE_PASSES,
		  "%lu moved, %lu not, %lu passes", result.moved, result.failed, result.passes);
	KT_EXPECT(frame_of(at) == frame && read_u32(at) == 1);
	put_page(pfn_to_page(frame));
	move(at, 1);
	KT_EXPECT(result.moved == 1 && read_u32(at) == 1);
	end_space();
}

/* Its pager must still be told of the store. */
KTEST(a_written_page_of_a_file_is_dirty_after_a_move)
{
	struct vm_object *object = object_create(OBJECT_PAGED, NULL, 0, PAGE_SIZE);
	struct page *page = alloc_pages(0, GFP_KERNEL | GFP_ZERO), *now;
	u64 at;

	begin_space();
	page_set(page, PG_uptodate);
	KT_EXPECT(page_cache_add(object, 0, page) == 0);
	at = (u64)mm_map(space, 0, PAGE_SIZE, VMA_READ | VMA_WRITE | VMA_MAYWRITE | VMA_SHARED, object,
			 0, NULL, MAP_NEAR);
	KT_EXPECT(put_user_u32(at, 7) == 0);
	page_set(page, PG_unevictable); /* reclaim leaves it alone */
	lru_add_page(page);
	put_page(page);
	move(at, 1);
	KT_EXPECT(result.moved == 1 && read_u32(at) == 7);
	now = page_cache_find(object, 0);
	KT_EXPECT(now && page_test(now, PG_dirty), "the store will never be written out");
	put_page(now);
	end_space();
	object_put(object);
}

/* ---- Stores and reads ------------------------------------------------------------------------ */

static void store_two(void *addr)
{
	beside = current;
	KT_EXPECT(put_user_u32((u64)addr, 1) == 0); /* a dirty entry in this TLB */
	WRITE_ONCE(phase, 1);
	wait_for_phase(2);
	if (put_user_u32((u64)addr, 2))
		atomic_inc(&wrong);
	end_beside();
}

/* The store comes when the copy has been taken: it must wait for the new frame. */
KTEST(a_store_during_a_move_is_not_lost)
{
	u64 at;

	if (cpus_online() < 3)
		return;
	at = begin_with_page();
	start_on(other_cpu(1), store_two, at, space);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	hold_mover(at, SYNC_migrate_copied);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 1 || waits_in_fault(beside));
	let_mover_go(SYNC_migrate_copied, 2);
	KT_EXPECT(read_u32(at) == 2, "it went into the frame that the page has left");
	KT_EXPECT(wrong == 0);
	end_space();
}

static void read_one_then_two(void *addr)
{
	if (read_u32((u64)addr) != 1)
		atomic_inc(&wrong);
	WRITE_ONCE(phase, 1);
	wait_for_phase(2);
	if (read_u32((u64)addr) != 2)
		atomic_inc(&wrong);
	end_beside();
}

/*
 * The reader has the page in its TLB, clean. The test's store comes after the remap and is done
 * before the reader looks again: it must see it, whatever it has in its TLB.
 */
KTEST(nobody_reads_the_old_frame_after_a_store_to_the_new_one)
{
	u64 at;

	if (cpus_online() < 3)
		return;
	at = begin_with_page();
	move(at, 1); /* a fresh PTE: neither CPU's entry will be dirty */
	start_on(other_cpu(1), read_one_then_two, at, space);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	KT_EXPECT(read_u32(at) == 1);
	hold_mover(at, SYNC_migrate_remapped);
	KT_EXPECT(put_user_u32(at, 2) == 0);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	let_mover_go(SYNC_migrate_remapped, 2);
	KT_EXPECT(wrong == 0, "it read the old frame");
	end_space();
}

/* ---- Changes of the address space ------------------------------------------------------------ */

KTEST(a_fork_during_a_move_has_the_page)
{
	struct mm *child;
	u64 at;

	if (cpus_online() < 2)
		return;
	at = begin_with_page();
	child = mm_create(false);
	hold_mover(at, SYNC_migrate_copied);
	KT_EXPECT(mm_fork(child, space) == 0);
	let_mover_go(SYNC_migrate_copied, 1);
	KT_EXPECT(put_user_u32(at, 2) == 0);
	mm_switch_current(child);
	KT_EXPECT(read_u32(at) == 1, "the child has %u", read_u32(at));
	KT_EXPECT(put_user_u32(at, 3) == 0);
	mm_switch_current(space);
	KT_EXPECT(read_u32(at) == 2, "the parent has %u", read_u32(at));
	mm_put(child);
	end_space();
}

KTEST(a_page_protected_during_a_move_is_read_only)
{
	u64 at;

	if (cpus_online() < 2)
		return;
	at = begin_with_page();
	hold_mover(at, SYNC_migrate_copied);
	KT_EXPECT(mm_protect(space, at, PAGE_SIZE, VMA_READ) == 0);
	let_mover_go(SYNC_migrate_copied, 1);
	KT_EXPECT(put_user_u32(at, 2) == -EFAULT, "it came back with the right to write");
	KT_EXPECT(read_u32(at) == 1);
	end_space();
}

KTEST(a_page_unmapped_during_a_move_is_gone)
{
	u64 at, before;

	if (cpus_online() < 2)
		return;
	at = begin_with_page();
	hold_mover(at, SYNC_migrate_copied);
	before = nr_free_pages(); /* without the old frame and the new one */
	KT_EXPECT(mm_unmap(space, at, PAGE_SIZE) == 0);
	KT_EXPECT(space->rss_pages == 0, "%lu pages", space->rss_pages);
	let_mover_go(SYNC_migrate_copied, 1);
	KT_EXPECT(put_user_u32(at, 2) == -EFAULT);
	KT_EXPECT(nr_free_pages() >= before + 2, "the frames are not free: %lu, %lu before", nr_free_pages(),
		  before);
	end_space();
}

static void move_often(void *addr)
{
	struct migrate_result mine = {0};
	u32 i;

	for (i = 0; i < 20; i++)
		if (migrate_range(space, (u64)addr, (u64)addr + MANY * PAGE_SIZE, MOVE_ANY_NODE, &mine))
			atomic_inc(&wrong);
	end_beside();
}

/*
 * Between unmap and flush the store of a CPU with an old entry reaches the frame without a fault.
 * When fork has returned it must not be the child's any more.
 */
KTEST(a_store_after_a_fork_during_a_move_is_not_the_childs)
{
	struct mm *child;
	u64 at;

	if (cpus_online() < 3)
		return;
	at = begin_with_page();
	child = mm_create(false);
	start_on(other_cpu(1), store_two, at, space);
	KT_WAIT_FOR(READ_ONCE(phase) == 1);
	hold_mover(at, SYNC_migrate_unmapped);
	KT_EXPECT(mm_fork(child, space) == 0);
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(READ_ONCE(ended) == 1 || waits_in_fault(beside));
	let_mover_go(SYNC_migrate_unmapped, 2);
	mm_switch_current(child);
	KT_EXPECT(read_u32(at) == 1, "the child has %u", read_u32(at));
	mm_switch_current(space);
	KT_EXPECT(read_u32(at) == 2 && wrong == 0, "the parent has %u", read_u32(at));
	mm_put(child);
	end_space();
}

/*
 * Its children come and go while pages they share are moved: every count must be right at their
 * end.
 */
KTEST(forks_beside_a_mover_keep_count)
{
	struct mm *child;
	u64 at;

	if (cpus_online() < 2)
		return;
	at = begin_with_many();
	start_on(other_cpu(0), move_often, at, space);
	while (READ_ONCE(ended) < 1) {
		child = mm_create(false);
		KT_EXPECT(mm_fork(child, space) == 0);
		mm_put(child);
		stay_awake();
	}
	expect_many(at);
	KT_EXPECT(wrong == 0);
	end_space();
}

/* ---- Two movers ------------------------------------------------------------------------------ */

KTEST(two_movers_of_one_range_get_through)
{
	u64 at;
	u32 i;

	if (cpus_online() < 3)
		return;
	at = begin_with_many();
	start_on(other_cpu(0), move_often, at, space);
	start_on(other_cpu(1), move_often, at, space);
	for (i = 0; READ_ONCE(ended) < 2; i = (i + 1) % MANY) {
		KT_EXPECT(read_u32(at + i * PAGE_SIZE) == i);
		stay_awake();
	}
	expect_many(at);
	KT_EXPECT(wrong == 0);
	end_space();
}
