/*
 * init.c - from the firmware's memory map to a working allocator.
 *
 * A bump allocator takes what start-up itself needs (page tables, the array of page descriptors)
 * from the largest free range below 4 GiB, which the boot page tables map. Everything that is left
 * then goes to the buddy allocator. Ranges of the map may overlap or be unsorted: a frame is only
 * used if it lies in an available range and in no other and in nothing that start-up reserved.
 */
#include "arch/paging.h"
#include "boot/bootinfo.h"
#include "drivers/acpi.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/lib.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/node.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/tlbsan.h"
#include "mm/vmalloc.h"

#define LOW_MEMORY_END MIB /* firmware's and the AP trampoline's */
#define MAX_PHYS       (64 * GIB)

static u64 bump_start, bump_next, bump_end; /* physical */

/* If [start, end) meets [taken, taken_end), go on behind that at the earliest. */
static void skip_over(u64 start, u64 end, u64 taken, u64 taken_end, u64 *resume)
{
	if (start < taken_end && taken < end)
		*resume = MAX(*resume, taken_end);
}

/* Where to go on if something of start-up's own lies in [start, end); 0: nothing does. */
static u64 taken_until(u64 start, u64 end)
{
	u64 resume = 0;
	u32 i;

	skip_over(start, end, 0, LOW_MEMORY_END, &resume);
	skip_over(start, end, KERNEL_PHYS, kernel_to_phys(__kernel_end), &resume);
	skip_over(start, end, bump_start, bump_next, &resume);
	for (i = 0; i < boot_info.nr_mods; i++)
		skip_over(start, end, boot_info.mod[i].start, boot_info.mod[i].end, &resume);
	for (i = 0; i < boot_info.nr_mem; i++) {
		struct boot_mem *m = &boot_info.mem[i];

		if (m->type != BOOT_MEM_AVAILABLE)
			skip_over(start, end, m->base, m->base + m->len, &resume);
	}
	return ALIGN_UP(resume, PAGE_SIZE);
}

/* Call fn on every maximal run of free pages in an available range. */
static void for_each_free_run(void (*fn)(u64 start, u64 end))
{
	u32 i;

	for (i = 0; i < boot_info.nr_mem; i++) {
		struct boot_mem *m = &boot_info.mem[i];
		u64 at = ALIGN_UP(m->base, PAGE_SIZE), run = at, resume;
		u64 end = MIN(ALIGN_DOWN(m->base + m->len, PAGE_SIZE), MAX_PHYS);

		if (m->type != BOOT_MEM_AVAILABLE)
			continue;
		while (at < end) {
			resume = taken_until(at, at + PAGE_SIZE);
			if (resume && run < at)
				fn(run, at);
			at = MAX(resume, at + PAGE_SIZE);
			if (resume)
				run = at;
		}
		if (run < MIN(at, end))
			fn(run, MIN(at, end));
	}
}

static void keep_largest_low_run(u64 start, u64 end)
{
	end = MIN(end, (u64)BOOT_MAP_SIZE);
	if (start < end && end - start > bump_end - bump_start) {
		bump_start = bump_next = start;
		bump_end = end;
	}
}

static u64 bump_alloc(u64 bytes)
{
	u64 at = bump_next;

	bytes = ALIGN_UP(bytes, PAGE_SIZE);
	if (bump_end - bump_next < bytes)
		panic("not enough memory to start: %lu KiB wanted, %lu KiB left; give the machine more",
		      bytes / KIB, (bump_end - bump_next) / KIB);
	bump_next += bytes;
	memset(phys_to_virt(at), 0, bytes);
	return at;
}

static u64 bump_table(void)
{
	return bump_alloc(PAGE_SIZE);
}

static void release_run(u64 start, u64 end)
{
	free_boot_range(start >> PAGE_SHIFT, end >> PAGE_SHIFT);
}

static void count_memory(void)
{
	u32 i;

	for (i = 0; i < boot_info.nr_mem; i++) {
		struct boot_mem *m = &boot_info.mem[i];

		if (m->type != BOOT_MEM_AVAILABLE || m->base >= MAX_PHYS)
			continue;
		mem_boot_pages += m->len >> PAGE_SHIFT;
		max_pfn = MAX(max_pfn, MIN(m->base + m->len, MAX_PHYS) >> PAGE_SHIFT);
	}
}

static void make_mem_map(void)
{
	u64 pfn;

	mem_map = phys_to_virt(bump_alloc(max_pfn * sizeof(struct page)));
	for (pfn = 0; pfn < max_pfn; pfn++) {
		mem_map[pfn].flags = PG_reserved;
		mem_map[pfn].refcount = 1;
		list_init(&mem_map[pfn].lru);
	}
}

/* nodes= before the SRAT; the CPUs likewise. */
static void nodes_init(void)
{
	const char *wrong = NULL;
	u64 nodes = 0;
	int err = cmdline_get_u64("nodes", &nodes);
	u32 i;

	if (err == -ENOENT)
		wrong = nodes_from_srat(&acpi_info.srat);
	else if (err || !nodes || nodes > NR_NODES)
		pr_warn("mm: nodes= takes a number from 1 to %u: one node\n", NR_NODES);
	else
		nodes_split((unsigned)nodes);
	if (wrong)
		pr_warn("acpi: the SRAT %s: one node\n", wrong);
	for (i = 0; i < nr_cpus_present; i++)
		cpus[i].node = nodes ? i * nr_nodes / nr_cpus_present :
				       srat_cpu_node(&acpi_info.srat, cpus[i].apic_id);
}

static void print_nodes(void)
{
	unsigned node;
	u64 mask;
	u32 i;

	for (node = 0; nr_nodes > 1 && node < nr_nodes; node++) {
		for (mask = 0, i = 0; i < nr_cpus_present; i++)
			mask |= (u64)(cpus[i].node == node) << i;
		pr_info("mm: node %u: %lu pages free, CPUs %lx\n", node, nr_free_pages_node(node),
			mask);
	}
}

void mm_init(void)
{
	count_memory();
	nodes_init();
	for_each_free_run(keep_largest_low_run);
	if (!bump_end)
		panic("the boot loader's memory map has no usable range below 4 GiB");
	paging_init(bump_table);
	make_mem_map();
	page_cache_init(bump_alloc);
	lru_init();
	slab_init();
	for_each_free_run(release_run);
	page_alloc_ready();
	init_mm_setup();
	tlbsan_init();
	vmalloc_init();
	pr_info("mm: %lu MiB of %lu MiB managed, watermarks min %lu low %lu high %lu pages\n",
		mem_total_pages * PAGE_SIZE / MIB, mem_boot_pages * PAGE_SIZE / MIB, watermarks.min,
		watermarks.low, watermarks.high);
	print_nodes();
}
