// sources: mm/tlb_batch.c mm/fail.c kernel/cmdline.c kernel/lib.c kernel/printf.c tests/host/shim.c tests/host/shim_cpu.c
/* The flush batch: when it flushes, what is free by then, and what happens without a batch page. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/cmdline.h"
#include "kernel/errno.h"
#include "kernel/thread.h"
#include "mm/fail.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"
#include "shim.h"
#include "shim_cpu.h"

#define BATCH_PFN 1 /* the frame alloc_pages hands out */
#define FIRST     16

static struct thread thread;
static bool no_memory;
static unsigned flushes, frames_freed, batch_pages;
static cpumask_t flushed_cpus;

/* ---- The parts below the batch --------------------------------------------------------------- */

struct page *alloc_pages(unsigned order, u32 gfp)
{
	assert_int_equal(order, 0);
	assert_int_equal(gfp, GFP_NOWAIT | GFP_ZERO); /* never sleeps, never reclaims */
	if (no_memory)
		return NULL;
	batch_pages++;
	mem_map[BATCH_PFN].refcount = 1;
	memset(phys_to_virt(BATCH_PFN << PAGE_SHIFT), 0, PAGE_SIZE);
	return &mem_map[BATCH_PFN];
}

void kpage_free(void *address, unsigned order)
{
	assert_ptr_equal(address, phys_to_virt(BATCH_PFN << PAGE_SHIFT));
	assert_int_equal(order, 0);
	batch_pages--;
}

/* A flush turns limbo into "may be freed"; the test marks that in `inuse`. */
void flush_tlb_cpus(cpumask_t cpus_in_mask, enum tlb_reason reason)
{
	assert_int_equal(reason, TLB_RECLAIM);
	flushes++;
	flushed_cpus = cpus_in_mask;
	for (u64 pfn = 0; pfn < HOST_FRAMES; pfn++)
		if (page_test(&mem_map[pfn], PG_limbo))
			mem_map[pfn].inuse = 1;
}

static bool needs_flush;
bool scheduler_running;

void free_pages(struct page *page, unsigned order)
{
	assert_int_equal(order, 0);
	assert_false(page_test(page, PG_limbo));
	if (needs_flush)
		assert_int_equal(page->inuse, 1); /* never before its flush */
	assert_false(page_test(page, PG_buddy));
	page_set(page, PG_buddy); /* never twice */
	frames_freed++;
}

static void begin(const char *cmdline)
{
	host_reset();
	memset(&thread, 0, sizeof(thread));
	host_reset_cpus(&thread);
	flushes = frames_freed = batch_pages = 0;
	flushed_cpus = 0;
	no_memory = false;
	needs_flush = true;
	cmdline_set(cmdline);
	tlb_batch_init();
	fail_init();
}

static int start(void **state)
{
	(void)state;
	begin("tlb=pfn fail=none");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	try_to_unmap_flush();
	tlb_ubc_release(&thread);
	assert_int_equal(limbo_pages(), 0);
	assert_int_equal(batch_pages, 0);
	return 0;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void unmap_clean(u64 first, u64 n)
{
	for (u64 pfn = first; pfn < first + n; pfn++) {
		tlb_ubc_gather(0xfe, false, TLB_RECLAIM);
		tlb_ubc_add_frame(&mem_map[pfn]);
	}
}

static void capacity_by_policy(void **state)
{
	static const struct {
		const char *cmdline;
		unsigned flushes; /* for 1020 frames in rounds of 32 */
	} cases[] = {{"tlb=page fail=none", 1020}, {"tlb=batch32 fail=none", 31},
		     {"tlb=pfn fail=none", 2}, {"tlb=full fail=none", 31}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(cases[i].cmdline);
		for (u64 n = 0; n < 1020; n++) {
			unmap_clean(FIRST + n, 1);
			if (n % 32 == 31)
				tlb_ubc_end_of_round();
		}
		assert_int_equal(flushes, cases[i].flushes);
		try_to_unmap_flush();
		assert_int_equal(frames_freed, 1020);
		stop(state);
	}
}

static void a_batch_holds_510_frames(void **state)
{
	(void)state;
	assert_int_equal(BATCH_TLBFLUSH_SIZE, 510);
	unmap_clean(FIRST, 509);
	assert_int_equal(flushes, 0);
	assert_int_equal(frames_freed, 0);
	assert_int_equal(limbo_pages(), 509);
	unmap_clean(FIRST + 509, 1);
	assert_int_equal(flushes, 1);
	assert_int_equal(frames_freed, 510);
	assert_int_equal(limbo_pages(), 0);
}

/* Only `full` flushes there: with `pfn`, frames stay in limbo across rounds. */
static void end_of_round(void **state)
{
	(void)state;
	unmap_clean(FIRST, 5);
	assert_int_equal(tlb_ubc_end_of_round(), 0);
	assert_int_equal(flushes, 0);
	assert_int_equal(tlb_policy_set("full"), 0);
	assert_int_equal(tlb_ubc_end_of_round(), 5);
	assert_int_equal(flushes, 1);
	assert_int_equal(tlb_ubc_end_of_round(), 0);
	assert_int_equal(flushes, 1);
}

static void masks_are_gathered_and_then_forgotten(void **state)
{
	(void)state;
	tlb_ubc_gather(0x02, false, TLB_RECLAIM);
	tlb_ubc_gather(0x30, false, TLB_RECLAIM);
	try_to_unmap_flush();
	assert_int_equal(flushed_cpus, 0x32);
	tlb_ubc_gather(0x04, false, TLB_RECLAIM);
	try_to_unmap_flush();
	assert_int_equal(flushed_cpus, 0x04);
}

static void dirty_forces_a_flush_before_io(void **state)
{
	(void)state;
	unmap_clean(FIRST, 3);
	assert_int_equal(try_to_unmap_flush_dirty(), 0);
	assert_int_equal(flushes, 0);
	tlb_ubc_gather(0x80, true, TLB_RECLAIM);
	assert_int_equal(try_to_unmap_flush_dirty(), 3);
	assert_int_equal(flushes, 1);
	unmap_clean(FIRST + 3, 1);
	assert_int_equal(try_to_unmap_flush_dirty(), 0);
	assert_int_equal(flushes, 1);
}

static void nothing_gathered_nothing_flushed(void **state)
{
	(void)state;
	assert_int_equal(try_to_unmap_flush(), 0);
	assert_int_equal(try_to_unmap_flush_dirty(), 0);
	unmap_clean(FIRST, 1);
	try_to_unmap_flush();
	assert_int_equal(try_to_unmap_flush(), 0);
	assert_int_equal(flushes, 1);
}

/* An unmapped file page that was never mapped: no translation of it can exist. */
static void a_frame_nobody_mapped_is_freed_at_once(void **state)
{
	(void)state;
	needs_flush = false;
	assert_int_equal(tlb_ubc_add_frame(&mem_map[FIRST]), 1);
	assert_int_equal(flushes, 0);
	assert_int_equal(frames_freed, 1);
}

static void check_without_batch(void)
{
	needs_flush = false;
	for (u64 pfn = FIRST; pfn < FIRST + 10; pfn++) {
		tlb_ubc_gather(0xf0, pfn & 1, TLB_RECLAIM);
		assert_int_equal(flushes, pfn - FIRST + 1); /* at once */
		assert_int_equal(flushed_cpus, 0xf0);
		assert_int_equal(tlb_ubc_add_frame(&mem_map[pfn]), 1);
	}
	assert_int_equal(frames_freed, 10);
	assert_int_equal(limbo_pages(), 0);
	assert_true(tlb_ubc_empty(&thread));
	assert_int_equal(cpus[0].vm_events[VM_batch_alloc_failed], 10);
}

static void without_a_batch_page_each_unmap_flushes(void **state)
{
	(void)state;
	no_memory = true;
	check_without_batch();
}

static void the_allocation_can_be_made_to_fail(void **state)
{
	(void)state;
	begin("fail=tlb_ubc");
	check_without_batch();
}

static void it_belongs_to_its_thread(void **state)
{
	(void)state;
	assert_true(tlb_ubc_empty(&thread));
	tlb_ubc_gather(0x02, false, TLB_RECLAIM);
	assert_false(tlb_ubc_empty(&thread));
	try_to_unmap_flush();
	assert_true(tlb_ubc_empty(&thread));
	unmap_clean(FIRST, 1);
	expect_assert_failure(tlb_ubc_release(&thread));
}

static void a_frame_in_use_is_refused(void **state)
{
	(void)state;
	tlb_ubc_gather(0x02, false, TLB_RECLAIM);
	mem_map[FIRST].refcount = 1;
	expect_assert_failure(tlb_ubc_add_frame(&mem_map[FIRST]));
	mem_map[FIRST].refcount = 0;
	mem_map[FIRST].mapcount = 1;
	expect_assert_failure(tlb_ubc_add_frame(&mem_map[FIRST]));
}

/*
 * From a large batch to a small one in the middle of gathering: nothing overflows, nothing stays.
 */
static void the_policy_may_change_at_any_time(void **state)
{
	static const char *const names[] = {"page", "batch32", "pfn", "full"};
	u64 seed = 7, added = 0;

	(void)state;
	while (added < HOST_FRAMES - FIRST) {
		u64 r = host_random(&seed);

		if (r % 16 == 0)
			tlb_policy_set(names[(r >> 32) % 4]);
		if (r % 16 == 1)
			tlb_ubc_end_of_round();
		if (r % 64 == 2)
			try_to_unmap_flush_dirty();
		tlb_ubc_gather(1 << (r >> 40) % 8, r % 8 == 3, TLB_RECLAIM);
		tlb_ubc_add_frame(&mem_map[FIRST + added++]);
		assert_int_equal(frames_freed + limbo_pages(), added);
	}
	try_to_unmap_flush();
	assert_int_equal(frames_freed, added);
	assert_int_equal(cpus[0].stat.tlb[TLB_RECLAIM].freed, added);
	assert_int_equal(cpus[0].vm_events[VM_batch_flushes], flushes);
}

static void unknown_policies_are_refused(void **state)
{
	(void)state;
	assert_int_equal(tlb_policy_set("fast"), -EINVAL);
	assert_string_equal(tlb_policy->name, "pfn");
	begin("tlb=fast fail=none");
	assert_string_equal(tlb_policy->name, "pfn");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity_by_policy),
		cmocka_unit_test_setup_teardown(a_batch_holds_510_frames, start, stop),
		cmocka_unit_test_setup_teardown(end_of_round, start, stop),
		cmocka_unit_test_setup_teardown(masks_are_gathered_and_then_forgotten, start, stop),
		cmocka_unit_test_setup_teardown(dirty_forces_a_flush_before_io, start, stop),
		cmocka_unit_test_setup_teardown(nothing_gathered_nothing_flushed, start, stop),
		cmocka_unit_test_setup_teardown(a_frame_nobody_mapped_is_freed_at_once, start, stop),
		cmocka_unit_test_setup_teardown(without_a_batch_page_each_unmap_flushes, start, stop),
		cmocka_unit_test_setup_teardown(the_allocation_can_be_made_to_fail, start, stop),
		cmocka_unit_test_setup_teardown(it_belongs_to_its_thread, start, stop),
		cmocka_unit_test_setup_teardown(a_frame_in_use_is_refused, start, stop),
		cmocka_unit_test_setup_teardown(the_policy_may_change_at_any_time, start, stop),
		cmocka_unit_test_setup_teardown(unknown_policies_are_refused, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
