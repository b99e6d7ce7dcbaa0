/*
 * test_vmalloc.c - kernel addresses: mapped, freed lazily, purged. Most run under each purge policy
 * that keeps its promises; `purge=NAME` on the command line chooses one, `refcount` too, which does
 * not (test_purge.c). The faults caught here are in tests/exhibits.
 */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "arch/trap.h"
#include "drivers/clock.h"
#include "drivers/lapic.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/page_alloc.h"
#include "mm/vmalloc.h"
#include "mm/vmap.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define VEC_TEST 0x50

/* ---- What is mapped -------------------------------------------------------------------------- */

KTEST(vmap_shows_the_callers_pages)
{
	struct page *pages[3];
	u64 *a, i;

	for (i = 0; i < 3; i++) {
		pages[i] = alloc_pages(0, GFP_KERNEL);
		*(u64 *)phys_to_virt(page_to_phys(pages[i])) = i;
	}
	a = vmap(pages, 3);
	for (i = 0; i < 3; i++)
		KT_EXPECT(a[i * 512] == i && vmalloc_to_page(&a[i * 512 + 7]) == pages[i]);
	KT_EXPECT(!vmalloc_to_page(&a[3 * 512]), "no guard page behind it");
	vunmap(a);
	KT_EXPECT(!vmalloc_to_page(a), "it is still mapped");
	vm_unmap_aliases();
	for (i = 0; i < 3; i++)
		free_pages(pages[i], 0);
}

KTEST(vmalloc_keeps_alignment)
{
	size_t align;
	void *a;

	for (align = 1; align <= 8 * MIB; align *= 2) {
		a = vmalloc_align(3 * PAGE_SIZE, align);
		KT_EXPECT(a && IS_ALIGNED((u64)a, align), "%p for %lx", a, align);
		vfree(a);
	}
}

/* ---- Failing --------------------------------------------------------------------------------- */

static void fail_once(void)
{
	KT_EXPECT(!vmalloc(2000 * PAGE_SIZE), "more than there is");
	vm_unmap_aliases();
}

KTEST(vmalloc_that_fails_leaves_nothing)
{
	struct list_head taken;
	u64 free, tables;

	take_frames(&taken, watermarks.min + 1000, 0);
	free = nr_free_pages();
	tables = nr_table_pages; /* those stay */
	fail_once();
	KT_EXPECT(nr_free_pages() + nr_table_pages - tables + 8 >= free, "%lu of %lu pages are free",
		  nr_free_pages(), free);
	tables = nr_table_pages;
	fail_once();
	KT_EXPECT(nr_table_pages == tables && vmap_lazy_nr == 0);
	give_frames(&taken);
}

KTEST(vmalloc_refuses_what_cannot_be)
{
	u64 huge = mem_total_pages * PAGE_SIZE / 8;
	char *a = vmalloc(huge);

	KT_EXPECT(a && vmalloc_to_page(a + huge - 1), "an eighth of the memory, in one area");
	vfree(a);
	KT_EXPECT(!vmalloc(0) && !vmalloc(~0ul) && !vmalloc(~0ul - PAGE_SIZE));
	KT_EXPECT(!vmalloc((mem_total_pages + 1) * PAGE_SIZE));
	KT_EXPECT(!vmalloc_align(PAGE_SIZE, 1ul << 62) && !vmap(NULL, 0));
	vm_unmap_aliases();
}

/* Freed areas hold frames until the flush: an allocation that finds none has it done. */
KTEST(frames_that_wait_for_a_flush_can_be_had)
{
	struct list_head taken;
	char *a = vmalloc(500 * PAGE_SIZE), *b;
	u64 max = lazy_max_pages;

	lazy_max_pages = 1000;
	take_frames(&taken, watermarks.min + 100, 0);
	vfree(a);
	KT_EXPECT(vmap_lazy_nr == 501, "%ld", vmap_lazy_nr);
	b = vmalloc(500 * PAGE_SIZE);
	KT_EXPECT(b || !vmap_frames_held);
	vfree(b);
	vm_unmap_aliases();
	lazy_max_pages = max;
	give_frames(&taken);
}

static void exhaust(void)
{
	struct vmap_area *most = take_nearly_all(1000 * PAGE_SIZE);
	void *a[64], *one;
	unsigned n = 0, i;

	KT_EXPECT(most);
	while (n < 64 && (a[n] = vmalloc(128 * PAGE_SIZE)))
		n++;
	KT_EXPECT(n > 1 && n < 64, "%u areas until the space ends", n);
	if (n)
		vfree(a[--n]);
	one = vmalloc(128 * PAGE_SIZE); /* there is room in the backlog */
	KT_EXPECT(!n || one, "purge=%s: lazy areas do not come back", purge_policy_name());
	vfree(one);
	for (i = 0; i < n; i++)
		vfree(a[i]);
	free_vmap_area_lazy(most);
}

KTEST(addresses_run_out_and_come_back)
{
	for_each_policy(exhaust);
}

/* ---- Freed lazily ---------------------------------------------------------------------------- */

static void free_two(void)
{
	void *a = vmalloc(PAGE_SIZE), *b = vmalloc(PAGE_SIZE), *c;

	vfree(a);
	vfree(b);
	KT_EXPECT(vmap_lazy_nr == 4 && vmap_lazy_listed() == 4, "%ld counted, %lu listed",
		  vmap_lazy_nr, vmap_lazy_listed());
	c = vmalloc(PAGE_SIZE);
	KT_EXPECT(c != a && c != b, "given out before the flush");
	vfree(c);
}

KTEST(freed_addresses_wait_for_a_flush)
{
	for_each_policy(free_two);
}

static void free_on_cpu(u64 cpu)
{
	u64 seed = cpu + 77, *kept[4] = {NULL}, size;
	unsigned i, slot;

	for (i = 0; i < 60; i++) {
		slot = ktest_random(&seed) % 4;
		if (kept[slot] && *kept[slot] != cpu + slot)
			atomic_inc(&wrong);
		vfree(kept[slot]);
		size = PAGE_SIZE * (1 + ktest_random(&seed) % 20);
		kept[slot] = ktest_random(&seed) % 8 ? vmalloc(size) : vmalloc_align(size, 16 * PAGE_SIZE);
		if (kept[slot])
			*kept[slot] = cpu + slot;
		if (i % 16 == 15)
			vm_unmap_aliases();
	}
	for (slot = 0; slot < 4; slot++)
		vfree(kept[slot]);
}

static void free_on_all(void)
{
	u64 max = lazy_max_pages;

	wrong = 0;
	lazy_max_pages = 100;
	ktest_on_each_cpu(free_on_cpu);
	lazy_max_pages = max;
	KT_EXPECT(wrong == 0, "purge=%s: %u areas overwritten", purge_policy_name(), wrong);
}

KTEST(all_cpus_allocate_free_and_purge)
{
	for_each_policy(free_on_all);
}

KTEST(frames_can_go_before_the_flush)
{
	bool held = vmap_frames_held;
	u64 free, i;

	vm_unmap_aliases();
	vmap_frames_held = false;
	free = nr_free_pages();
	for (i = 0; i < 20; i++)
		vfree(vmalloc(4 * PAGE_SIZE));
	/* Stacks of threads that ended just before may be among them. */
	KT_EXPECT(vmap_lazy_nr >= 100, "%ld", vmap_lazy_nr);
	KT_EXPECT(nr_free_pages() + 16 >= free, "%lu of %lu pages are free", nr_free_pages(), free);
	vmap_frames_held = held;
}

static void *to_free;

static void free_in_interrupt(void)
{
	vfree(to_free);
	WRITE_ONCE(to_free, NULL);
}

KTEST(vfree_in_an_interrupt)
{
	u64 flags;
	void *a = vmalloc(PAGE_SIZE);

	irq_register(VEC_TEST, free_in_interrupt);
	to_free = a;
	flags = local_irq_save();
	lapic_send_ipi(this_cpu()->apic_id, VEC_TEST);
	local_irq_restore(flags);
	KT_WAIT_FOR(!READ_ONCE(to_free) && !vmalloc_to_page(a));
	a = vmalloc(PAGE_SIZE);
	preempt_disable();
	vfree(a); /* here it would be refused: free_vmap_area_lazy asserts that it may sleep */
	preempt_enable();
	KT_WAIT_FOR(!vmalloc_to_page(a));
}

/* ---- A page table that two CPUs miss --------------------------------------------------------- */

static void map_beside(void *at)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);

	KT_EXPECT(vmap_map_range((u64)at, &page, 1));
	end_beside();
}

KTEST(two_cpus_enter_one_page_table)
{
	struct vmap_area *area;
	u64 at;

	if (cpus_online() < 3)
		return;
	area = alloc_vmap_area(PMD_PAGE_SIZE, GIB); /* no table is there yet */
	at = area->node.start;
	area->owns_frames = true;
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	ended = 0;
	pause_at(SYNC_table_missing, other_cpu(0));
	start_on(other_cpu(0), map_beside, at, NULL);
	KT_WAIT_FOR(paused_at(SYNC_table_missing));
	start_on(other_cpu(1), map_beside, at + PAGE_SIZE, NULL);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	release(SYNC_table_missing);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(vmalloc_to_page((void *)at) && vmalloc_to_page((void *)(at + PAGE_SIZE)),
		  "a table was lost, with what was mapped in it");
	free_vmap_area_lazy(area);
	sched_set_affinity(current, CPUMASK_ALL);
}

/* ---- Blocks of small mappings ---------------------------------------------------------------- */

#define MAPS 20 /* of 16 pages: more than a block */

static void fill_a_block(void)
{
	struct page *pages[16];
	u64 *maps[MAPS], i;

	for (i = 0; i < 16; i++)
		pages[i] = alloc_pages(0, GFP_KERNEL);
	for (i = 0; i < MAPS; i++) {
		maps[i] = vm_map_ram(pages, 16);
		KT_EXPECT(maps[i] && vmalloc_to_page(&maps[i][15 * 512]) == pages[15]);
		*maps[i] = i;
		KT_EXPECT(*maps[0] == i, "two mappings of one page differ");
	}
	for (i = 0; i < MAPS; i += 3) { /* the full block's and the other's */
		vm_unmap_ram(maps[i], 16);
		KT_EXPECT(!vmalloc_to_page(maps[i]));
	}
	vm_unmap_aliases(); /* the sanitizer looks whether all are flushed */
	for (i = 0; i < MAPS; i++)
		if (i % 3)
			vm_unmap_ram(maps[i], 16);
	vm_unmap_aliases();
	for (i = 0; i < 16; i++)
		free_pages(pages[i], 0);
}

KTEST(unmapping_in_a_full_block_is_flushed)
{
	for_each_policy_pinned(fill_a_block);
}

/* More than a block of them, and so all of at least one. */
static void unmap_blocks_beside(void *unused)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);
	static void *maps[2 * VMAP_BLOCK_PAGES];
	unsigned i;

	(void)unused;
	for (i = 0; i < ARRAY_SIZE(maps); i++)
		maps[i] = vm_map_ram(&page, 1);
	for (i = 0; i < ARRAY_SIZE(maps); i++)
		vm_unmap_ram(maps[i], 1);
	free_pages(page, 0);
	end_beside();
}

static void purge_while_a_block_goes(void)
{
	unsigned cpu = other_cpu(0);

	ended = 0;
	pause_at(SYNC_block_gone, cpu);
	start_on(cpu, unmap_blocks_beside, 0, NULL);
	KT_WAIT_FOR(paused_at(SYNC_block_gone));
	vm_unmap_aliases(); /* the sanitizer looks: all but the last was unmapped long ago */
	release(SYNC_block_gone);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
}

KTEST(a_block_that_goes_is_seen_by_purges)
{
	if (cpus_online() < 2)
		return;
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	for_each_policy(purge_while_a_block_goes);
	sched_set_affinity(current, CPUMASK_ALL);
}

static void map_on_cpu(u64 cpu)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);
	u64 *map, *kept[8] = {NULL}, i;

	for (i = 0; i < 300; i++) {
		map = vm_map_ram(&page, 1);
		*map = cpu * 1000 + i;
		if (*(u64 *)phys_to_virt(page_to_phys(page)) != cpu * 1000 + i)
			atomic_inc(&wrong);
		if (kept[i % 8])
			vm_unmap_ram(kept[i % 8], 1);
		kept[i % 8] = map;
		if (i % 64 == 0)
			vm_unmap_aliases();
	}
	for (i = 0; i < 8; i++)
		vm_unmap_ram(kept[i], 1);
	vm_unmap_aliases();
	free_pages(page, 0);
}

static void map_on_all(void)
{
	wrong = 0;
	ktest_on_each_cpu(map_on_cpu);
	KT_EXPECT(wrong == 0, "purge=%s: %u stores went elsewhere", purge_policy_name(), wrong);
}

KTEST(all_cpus_map_and_unmap_in_blocks)
{
	for_each_policy(map_on_all);
}
