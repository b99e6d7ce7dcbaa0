/* test_memory.c - frames, kmalloc and vmalloc under load on all CPUs. */
#include "arch/layout.h"
#include "arch/paging.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"
#include "tests/kernel/ktest.h"

#define HELD 16

static u32 mixed_up;

static void frames_on_cpu(u64 cpu)
{
	struct page *held[HELD] = {0};
	u32 order[HELD];
	u64 seed = cpu + 1, i;

	for (i = 0; i < 400; i++) {
		u64 slot = ktest_random(&seed) % HELD;
		u64 *data;

		if (held[slot]) {
			data = phys_to_virt(page_to_phys(held[slot]));
			if (data[0] != cpu || data[(PAGE_SIZE << order[slot]) / 8 - 1] != slot)
				atomic_inc(&mixed_up);
			free_pages(held[slot], order[slot]);
			held[slot] = NULL;
			continue;
		}
		order[slot] = (u32)(ktest_random(&seed) % 3);
		held[slot] = alloc_pages(order[slot], GFP_KERNEL);
		if (!held[slot])
			continue;
		data = phys_to_virt(page_to_phys(held[slot]));
		data[0] = cpu;
		data[(PAGE_SIZE << order[slot]) / 8 - 1] = slot;
	}
	for (i = 0; i < HELD; i++)
		if (held[i])
			free_pages(held[i], order[i]);
}

KTEST(frames_belong_to_one_owner_and_come_back)
{
	u64 before;

	ktest_on_each_cpu(frames_on_cpu); /* thread stacks are cached from here on */
	thread_free_dead();
	before = nr_free_pages();
	mixed_up = 0;
	ktest_on_each_cpu(frames_on_cpu);
	thread_free_dead();
	KT_EXPECT(mixed_up == 0, "%u", mixed_up);
	KT_EXPECT(nr_free_pages() + 8 >= before, "%lu of %lu pages came back", nr_free_pages(),
		  before);
}

static void kmalloc_on_cpu(u64 cpu)
{
	u8 *held[HELD] = {0};
	size_t size[HELD];
	u64 seed = cpu + 77, i;

	for (i = 0; i < 800; i++) {
		u64 slot = ktest_random(&seed) % HELD;

		if (held[slot]) {
			if (held[slot][0] != (u8)slot || held[slot][size[slot] - 1] != (u8)cpu)
				atomic_inc(&mixed_up);
			kfree(held[slot]);
			held[slot] = NULL;
			continue;
		}
		size[slot] = 2 + ktest_random(&seed) % (KMALLOC_MAX - 2);
		held[slot] = kzalloc(size[slot]);
		if (held[slot][0] || held[slot][size[slot] - 1])
			atomic_inc(&mixed_up);
		held[slot][0] = (u8)slot;
		held[slot][size[slot] - 1] = (u8)cpu;
	}
	for (i = 0; i < HELD; i++)
		kfree(held[i]);
}

KTEST(kmalloc_objects_do_not_overlap)
{
	mixed_up = 0;
	ktest_on_each_cpu(kmalloc_on_cpu);
	KT_EXPECT(mixed_up == 0, "%u", mixed_up);
}

static void vmalloc_on_cpu(u64 cpu)
{
	u64 seed = cpu + 5, i;

	for (i = 0; i < 30; i++) {
		size_t size = PAGE_SIZE * (1 + ktest_random(&seed) % 6);
		u64 *area = vzalloc(size);

		if (!area || area[0] || area[size / 8 - 1]) {
			atomic_inc(&mixed_up);
			continue;
		}
		area[0] = area[size / 8 - 1] = cpu + 1;
		sched_yield();
		if (area[0] != cpu + 1 || area[size / 8 - 1] != cpu + 1)
			atomic_inc(&mixed_up);
		vfree(area);
	}
}

KTEST(vmalloc_areas_are_private_and_zeroed)
{
	mixed_up = 0;
	ktest_on_each_cpu(vmalloc_on_cpu);
	KT_EXPECT(mixed_up == 0, "%u", mixed_up);
}

KTEST(vmalloc_has_a_guard_page)
{
	u64 area = (u64)vmalloc(3 * PAGE_SIZE);
	pte_t *pte = pte_lookup(kernel_pml4, area + 3 * PAGE_SIZE);

	KT_EXPECT(!pte || !(pte_read(pte) & PTE_P));
	vfree((void *)area);
}

/*
 * The stale probe for kernel addresses: every CPU reads an area so that its TLB knows it, the area
 * goes and another comes to the same address; every CPU must then see the new contents.
 */
static u64 *probe_area;
static u64 probe_value;

static void probe_read(u64 cpu)
{
	(void)cpu;
	if (READ_ONCE(*probe_area) != probe_value)
		atomic_inc(&mixed_up);
}

KTEST(vfree_leaves_no_stale_translation)
{
	u64 *first, *second, *other;

	mixed_up = 0;
	first = probe_area = vmalloc(PAGE_SIZE);
	*first = probe_value = 0x1111;
	ktest_on_each_cpu(probe_read);
	vfree(first);
	vm_unmap_aliases();
	other = (u64 *)alloc_pages(0, GFP_KERNEL); /* so that another frame comes next */
	second = vmalloc(PAGE_SIZE);
	KT_EXPECT(second == first, "%p instead of %p: nothing was probed", (void *)second,
		  (void *)first);
	probe_area = second;
	*second = probe_value = 0x2222;
	ktest_on_each_cpu(probe_read);
	KT_EXPECT(mixed_up == 0, "%u CPUs read through an old entry", mixed_up);
	vfree(second);
	free_pages((struct page *)other, 0);
}

/* As with firmware that names the same memory twice, within a large page or around small ones. */
KTEST(kernel_ranges_that_overlap_are_mapped_once)
{
	u64 va = MMIO_BASE + 32 * GIB, bits = PTE_P | PTE_W | PTE_NX;
	pte_t *pte;

	map_kernel_range(va, 0, 2 * PMD_PAGE_SIZE, bits);
	map_kernel_range(va + PAGE_SIZE, PAGE_SIZE, 3 * PAGE_SIZE, bits);
	map_kernel_range(va + 2 * PMD_PAGE_SIZE + PAGE_SIZE, 2 * PMD_PAGE_SIZE + PAGE_SIZE, PAGE_SIZE,
			 bits);
	map_kernel_range(va + PMD_PAGE_SIZE, PMD_PAGE_SIZE, 2 * PMD_PAGE_SIZE, bits);
	KT_EXPECT(pte_is_huge(pte_read(pmd_lookup(kernel_pml4, va))));
	KT_EXPECT(pte_is_huge(pte_read(pmd_lookup(kernel_pml4, va + PMD_PAGE_SIZE))));
	for (u64 i = 0; i < 512; i++) {
		pte = pte_lookup(kernel_pml4, va + 2 * PMD_PAGE_SIZE + i * PAGE_SIZE);
		KT_EXPECT(pte && pte_pfn(pte_read(pte)) == 2 * 512 + i, "page %lu", i);
	}
}
