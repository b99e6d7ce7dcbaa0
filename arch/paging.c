/* paging.c - page-table walks and the kernel's own mappings (see paging.h). */
#include "arch/paging.h"
#include "boot/bootinfo.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "mm/page_alloc.h"

#define PTE_TABLE (PTE_P | PTE_W | PTE_U) /* rights are decided by the last level */

#define KERNEL_RW (PTE_P | PTE_W | PTE_A | PTE_D | PTE_G | PTE_NX)
#define KERNEL_RO (PTE_P | PTE_A | PTE_G | PTE_NX)
#define KERNEL_RX (PTE_P | PTE_A | PTE_G)
#define DEVICE_RW (KERNEL_RW | PTE_PCD | PTE_PWT)

u64 kernel_cr3;
u64 *kernel_pml4;
u64 nr_table_pages;

static u64 mmio_next = MMIO_BASE;

static u64 alloc_frame(void)
{
	void *table = kpage_alloc(0);

	return table ? virt_to_phys(table) : 0;
}

static u64 (*alloc_table)(void) = alloc_frame;

static u64 *table_of(u64 entry)
{
	return phys_to_virt(entry & PTE_ADDR);
}

/*
 * How many tables hang below a user's PML4: its descriptor counts them. The kernel's own, which is
 * older than the descriptors, is never asked.
 */
static u64 *table_count(u64 *pml4)
{
	return &pfn_to_page(virt_to_phys(pml4) >> PAGE_SHIFT)->index;
}

u64 pml4_nr_tables(u64 *pml4)
{
	return READ_ONCE(*table_count(pml4));
}

static void count_table(u64 *pml4)
{
	atomic_inc(&nr_table_pages);
	if (pml4 != kernel_pml4)
		atomic_inc(table_count(pml4));
}

/* Kernel addresses: another CPU may have entered a table meanwhile, and mapped pages in it. */
static void enter_table(u64 *pml4, u64 *entry, u64 phys)
{
	if (cmpxchg_bool(entry, 0ul, phys | PTE_TABLE))
		count_table(pml4);
	else
		kpage_free(phys_to_virt(phys), 0);
}

/* The table of `level` that covers va, or NULL: missing, or no memory to allocate it. */
static u64 *walk_to_level(u64 *pml4, u64 va, unsigned level, bool alloc)
{
	u64 *table = pml4;
	unsigned l;

	for (l = NR_LEVELS - 1; l > level; l--) {
		u64 *entry = &table[table_index(va, l)];

		if (!(READ_ONCE(*entry) & PTE_P)) {
			u64 phys = alloc ? alloc_table() : 0;

			if (!phys)
				return NULL;
			SYNC_POINT(table_missing);
			enter_table(pml4, entry, phys);
		}
		if (pte_is_huge(READ_ONCE(*entry))) {
			ASSERT(!alloc, "%lx lies in a large page", va);
			return NULL;
		}
		table = table_of(*entry);
	}
	return table;
}

static pte_t *entry_of(u64 *pml4, u64 va, unsigned level, bool alloc)
{
	u64 *table = walk_to_level(pml4, va, level, alloc);

	return table ? &table[table_index(va, level)] : NULL;
}

pte_t *pte_lookup(u64 *pml4, u64 va)
{
	return entry_of(pml4, va, 0, false);
}

pte_t *pte_alloc(u64 *pml4, u64 va)
{
	return entry_of(pml4, va, 0, true);
}

pte_t *pmd_lookup(u64 *pml4, u64 va)
{
	return entry_of(pml4, va, 1, false);
}

pte_t *pmd_alloc(u64 *pml4, u64 va)
{
	return entry_of(pml4, va, 1, true);
}

void pmd_set_table(u64 *pml4, pte_t *pmd, void *table)
{
	pte_set(pmd, virt_to_phys(table) | PTE_TABLE);
	count_table(pml4);
}

/* What a missing table would cover is passed over in one step. */
static pte_t *next_entry(u64 *pml4, u64 *va, u64 end, unsigned lowest)
{
	while (*va < end) {
		unsigned level = lowest;
		u64 *table, span;

		while (!(table = walk_to_level(pml4, *va, level, false)))
			level++;
		if (level == lowest && pte_read(&table[table_index(*va, level)]))
			return &table[table_index(*va, level)];
		span = PAGE_SIZE << (9 * level);
		*va = ALIGN_DOWN(*va, span) + span;
	}
	*va = end;
	return NULL;
}

pte_t *pte_next(u64 *pml4, u64 *va, u64 end)
{
	return next_entry(pml4, va, end, 0);
}

pte_t *pmd_next(u64 *pml4, u64 *va, u64 end)
{
	return next_entry(pml4, va, end, 1);
}

bool table_next(u64 *pml4, u64 *va, u64 end, unsigned level)
{
	return next_entry(pml4, va, end, level + 1);
}

u64 *pml4_create(void)
{
	u64 *pml4 = kpage_alloc(0);

	if (!pml4)
		return NULL;
	memcpy(pml4 + PTRS_PER_TABLE / 2, kernel_pml4 + PTRS_PER_TABLE / 2, PAGE_SIZE / 2);
	atomic_inc(&nr_table_pages);
	return pml4;
}

static void free_tables(u64 *table, unsigned level, unsigned entries)
{
	unsigned i;

	for (i = 0; level > 0 && i < entries; i++)
		if (table[i] & PTE_P)
			free_tables(table_of(table[i]), level - 1, PTRS_PER_TABLE);
	kpage_free(table, 0);
	atomic_dec(&nr_table_pages);
}

void pml4_destroy(u64 *pml4)
{
	free_tables(pml4, NR_LEVELS - 1, PTRS_PER_TABLE / 2);
}

static bool table_is_empty(const u64 *table)
{
	unsigned i;

	for (i = 0; i < PTRS_PER_TABLE; i++)
		if (READ_ONCE(table[i]))
			return false;
	return true;
}

void *table_take_empty(u64 *pml4, u64 va, unsigned level)
{
	u64 *above = walk_to_level(pml4, va, level + 1, false), *entry, *table;

	entry = above ? &above[table_index(va, level + 1)] : NULL;
	if (!entry || !(*entry & PTE_P) || pte_is_huge(*entry) || !table_is_empty(table_of(*entry)))
		return NULL;
	table = table_of(xchg(entry, 0ul));
	atomic_dec(&nr_table_pages);
	atomic_dec(table_count(pml4));
	return table;
}

/*
 * One step: the entry of the largest page that fits. What lies in a large page already is passed
 * over, and where there is a table of small ones it is used: firmware may name memory twice.
 */
static u64 map_next(u64 va, u64 phys, u64 left, u64 bits)
{
	u64 *pmd = walk_to_level(kernel_pml4, va, 1, true), *table;

	if (!pmd)
		panic("no memory for the kernel's page tables");
	pmd += table_index(va, 1);
	if (pte_is_huge(*pmd))
		return PMD_PAGE_SIZE - va % PMD_PAGE_SIZE;
	if (!*pmd && IS_ALIGNED(va | phys, PMD_PAGE_SIZE) && left >= PMD_PAGE_SIZE) {
		*pmd = phys | bits | PTE_PS;
		return PMD_PAGE_SIZE;
	}
	table = walk_to_level(kernel_pml4, va, 0, true);
	if (!table)
		panic("no memory for the kernel's page tables");
	table[table_index(va, 0)] = phys | bits;
	return PAGE_SIZE;
}

void map_kernel_range(u64 va, u64 phys, u64 len, u64 bits)
{
	u64 done, step;

	for (done = 0; done < len; done += step)
		step = map_next(va + done, phys + done, len - done, bits);
}

/* The direct map of [start, end), read-only where the kernel's text and constants lie. */
static void map_direct(u64 start, u64 end)
{
	u64 ro_start = kernel_to_phys(__text_start), ro_end = kernel_to_phys(__rodata_end);
	u64 cuts[4] = {start, MIN(MAX(ro_start, start), end), MIN(MAX(ro_end, start), end), end};
	int i;

	for (i = 0; i < 3; i++)
		if (cuts[i] < cuts[i + 1])
			map_kernel_range(DIRECT_MAP_BASE + cuts[i], cuts[i], cuts[i + 1] - cuts[i],
					 i == 1 ? KERNEL_RO : KERNEL_RW);
}

static void map_segment(char *start, char *end, u64 bits)
{
	map_kernel_range((u64)start, kernel_to_phys(start),
			 ALIGN_UP((u64)end, PAGE_SIZE) - (u64)start, bits);
}

static bool is_ram(u32 type)
{
	return type == BOOT_MEM_AVAILABLE || type == BOOT_MEM_ACPI || type == BOOT_MEM_NVS;
}

void paging_init(u64 (*alloc)(void))
{
	static const u64 areas[] = {DIRECT_MAP_BASE, VMALLOC_BASE, MMIO_BASE, KERNEL_BASE};
	u32 i;

	alloc_table = alloc;
	kernel_cr3 = alloc();
	kernel_pml4 = phys_to_virt(kernel_cr3);
	for (i = 0; i < ARRAY_SIZE(areas); i++)
		if (!kernel_pml4[table_index(areas[i], 3)])
			kernel_pml4[table_index(areas[i], 3)] = alloc() | PTE_TABLE;
	for (i = 0; i < boot_info.nr_mem; i++) {
		struct boot_mem *m = &boot_info.mem[i];

		if (is_ram(m->type) && m->base < DIRECT_MAP_PHYS)
			map_direct(ALIGN_DOWN(m->base, PAGE_SIZE),
				   MIN(ALIGN_UP(m->base + m->len, PAGE_SIZE), (u64)DIRECT_MAP_PHYS));
	}
	map_segment(__text_start, __text_end, KERNEL_RX);
	map_segment(__rodata_start, __rodata_end, KERNEL_RO);
	map_segment(__data_start, __kernel_end, KERNEL_RW);
	write_cr3(kernel_cr3);
	local_flush_tlb_all();
	alloc_table = alloc_frame;
}

void *ioremap(u64 phys, size_t len)
{
	u64 start = ALIGN_DOWN(phys, PAGE_SIZE), end = ALIGN_UP(phys + len, PAGE_SIZE);
	u64 va = mmio_next;

	map_kernel_range(va, start, end - start, DEVICE_RW);
	mmio_next += end - start + PAGE_SIZE; /* a hole after each */
	return (void *)(va + (phys - start));
}
