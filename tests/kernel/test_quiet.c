/*
 * test_quiet.c - CPUs outside the kernel are not interrupted for kernel addresses and have caught
 * up when they are inside again (mm/tlb.h). The faults caught here are in tests/exhibits.
 */
#include "arch/trap.h"
#include "drivers/clock.h"
#include "drivers/lapic.h"
#include "kernel/cpu.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/vmap.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define VEC_TEST 0x51
#define ROUNDS   20

static struct vmap_area *area;
static struct page *pages[2]; /* each holds its own number */

static void begin(void)
{
	u64 i;

	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	area = alloc_vmap_area(2 * PAGE_SIZE, PAGE_SIZE);
	area->owns_frames = false;
	for (i = 0; i < 2; i++) {
		pages[i] = alloc_pages(0, GFP_KERNEL);
		*(u64 *)phys_to_virt(page_to_phys(pages[i])) = i;
	}
	ended = wrong = phase = 0;
}

static void end(void)
{
	free_vmap_area_lazy(area);
	free_pages(pages[0], 0);
	free_pages(pages[1], 0);
	sched_set_affinity(current, CPUMASK_ALL);
}

static u64 read_mapped(void)
{
	return READ_ONCE(*(u64 *)area->node.start);
}

static void read_beside(void *expected)
{
	if (read_mapped() != (u64)expected)
		atomic_inc(&wrong);
	end_beside();
}

/* On that CPU, which then has the translation and nothing else to do. */
static void read_on(unsigned cpu, u64 expected)
{
	WRITE_ONCE(ended, 0);
	start_on(cpu, read_beside, expected, NULL);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
}

/* Unmapped and flushed everywhere; true: that CPU was not disturbed for it. */
static bool unmap_beside(unsigned cpu)
{
	u64 start = area->node.start;

	vmap_unmap_range(start, area->node.end, false, false);
	flush_tlb_kernel_range(start, area->node.end);
	return READ_ONCE(cpus[cpu].tlb.kernel) == TLB_KERNEL_OWES;
}

KTEST(a_halted_cpu_catches_up_with_kernel_addresses)
{
	unsigned cpu = other_cpu(0), skipped = 0;
	u64 i;

	if (cpus_online() < 2)
		return;
	begin();
	for (i = 0; i < ROUNDS; i++) {
		KT_EXPECT(vmap_map_range(area->node.start, &pages[i % 2], 1));
		read_on(cpu, i % 2);
		KT_WAIT_FOR(READ_ONCE(cpus[cpu].tlb.kernel) != TLB_KERNEL_USED);
		skipped += unmap_beside(cpu);
	}
	KT_EXPECT(wrong == 0, "%u times another page was read than is mapped", wrong);
	KT_EXPECT(skipped, "it halted, and was interrupted %u times", ROUNDS);
	end();
}

static void read_in_interrupt(void)
{
	if (read_mapped() != READ_ONCE(phase))
		atomic_inc(&wrong);
	WRITE_ONCE(ended, 1);
}

/* The first thing inside is the handler, before any thread. */
KTEST(a_handler_uses_kernel_addresses_as_they_are_now)
{
	unsigned cpu = other_cpu(0), i;

	if (cpus_online() < 2)
		return;
	begin();
	irq_register(VEC_TEST, read_in_interrupt);
	for (i = 0; i < ROUNDS; i++) {
		KT_EXPECT(vmap_map_range(area->node.start, &pages[i % 2], 1));
		KT_WAIT_FOR(READ_ONCE(cpus[cpu].tlb.kernel) != TLB_KERNEL_USED);
		WRITE_ONCE(phase, i % 2);
		WRITE_ONCE(ended, 0);
		lapic_send_ipi(cpus[cpu].apic_id, VEC_TEST);
		KT_WAIT_FOR(READ_ONCE(ended) == 1);
		KT_WAIT_FOR(READ_ONCE(cpus[cpu].tlb.kernel) != TLB_KERNEL_USED);
		(void)unmap_beside(cpu);
	}
	KT_EXPECT(wrong == 0, "%u times another page was read than is mapped", wrong);
	end();
}

/* Inside, it takes interrupts like any other, and before that it does not go on. */
static void stay_inside(void *unused)
{
	(void)unused;
	if (read_mapped() != 0)
		atomic_inc(&wrong);
	WRITE_ONCE(ended, 1);
	wait_for_phase(1);
	if (read_mapped() != 1)
		atomic_inc(&wrong);
	end_beside();
}

KTEST(a_cpu_inside_the_kernel_is_interrupted)
{
	unsigned cpu = other_cpu(0);

	if (cpus_online() < 2)
		return;
	begin();
	KT_EXPECT(vmap_map_range(area->node.start, &pages[0], 1));
	start_on(cpu, stay_inside, 0, NULL);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	KT_EXPECT(!unmap_beside(cpu), "it runs kernel code and was not flushed");
	KT_EXPECT(vmap_map_range(area->node.start, &pages[1], 1));
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0, "it read another page than is mapped");
	end();
}
