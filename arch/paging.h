/*
 * paging.h - page-table entries, walks, and the kernel's own page tables.
 *
 * Four levels of 512 entries: PML4, PDPT, PD, PT (Intel SDM vol. 3, 4.5). The upper half of every
 * PML4 is shared: all its top-level entries exist from boot on, so no address space ever has to be
 * told of a new one. Page-table pages below user addresses are freed with their address space, or
 * when munmap has left them empty (mm/tables.h).
 */
#pragma once

#include "arch/atomic.h"
#include "arch/cpu.h"
#include "arch/layout.h"
#include "kernel/types.h"

typedef u64 pte_t;

#define PTE_P    (1ull << 0)
#define PTE_W    (1ull << 1)
#define PTE_U    (1ull << 2)
#define PTE_PWT  (1ull << 3)
#define PTE_PCD  (1ull << 4)
#define PTE_A    (1ull << 5)
#define PTE_D    (1ull << 6)
#define PTE_PS   (1ull << 7) /* in a PD entry: a 2 MiB page */
#define PTE_G    (1ull << 8)
#define PTE_NX   (1ull << 63)
#define PTE_ADDR 0x000ffffffffff000ull

/*
 * A migration entry: not present, so that every access faults and the faulting thread waits; it
 * names the frame that is being moved and keeps W. Hardware ignores all bits of an entry whose P is
 * 0.
 */
#define PTE_MIGRATION (1ull << 9)

#define PTRS_PER_TABLE 512
#define NR_LEVELS      4

static inline u64 pte_pfn(pte_t pte)
{
	return (pte & PTE_ADDR) >> PAGE_SHIFT;
}

static inline pte_t make_pte(u64 pfn, u64 bits)
{
	return (pfn << PAGE_SHIFT) | bits;
}

/* Index into the table of that level: 3 = PML4 .. 0 = PT. */
static inline unsigned table_index(u64 va, unsigned level)
{
	return (va >> (PAGE_SHIFT + 9 * level)) & (PTRS_PER_TABLE - 1);
}

/* Replace an entry and return what it was, in one step: no D bit can be set in between and lost. */
static inline pte_t pte_xchg(pte_t *pte, pte_t value)
{
	return xchg(pte, value);
}

static inline pte_t pte_get_and_clear(pte_t *pte)
{
	return pte_xchg(pte, 0);
}

static inline pte_t pte_read(const pte_t *pte)
{
	return READ_ONCE(*pte);
}

static inline bool pte_is_migration(pte_t pte)
{
	return (pte & (PTE_P | PTE_MIGRATION)) == PTE_MIGRATION;
}

static inline bool pte_is_huge(pte_t pmd)
{
	return (pmd & (PTE_P | PTE_PS)) == (PTE_P | PTE_PS);
}

static inline void pte_set(pte_t *pte, pte_t value)
{
	store_release(pte, value);
}

/*
 * The PT entry for va, or NULL when a table on the way is missing or a 2 MiB page is there. User
 * addresses: tables do not go away under a caller that holds mmap_lock or the ptl. The caller's lock
 * protects the entry itself.
 */
pte_t *pte_lookup(u64 *pml4, u64 va);
/* The same with missing tables allocated; NULL when memory is short. May sleep. */
pte_t *pte_alloc(u64 *pml4, u64 va);
/* The first used entry of [*va, end), *va moved to its address; NULL, *va at end: none. */
pte_t *pte_next(u64 *pml4, u64 *va, u64 end);

/* The PD entry for va: a table, a 2 MiB page, or empty; NULL as for PTEs. */
pte_t *pmd_lookup(u64 *pml4, u64 va);
pte_t *pmd_alloc(u64 *pml4, u64 va);
/* As pte_next: the first PD entry in use, a table or a 2 MiB page. */
pte_t *pmd_next(u64 *pml4, u64 *va, u64 end);
/* A PD entry of user addresses in pml4 becomes this table (as from kpage_alloc). */
void pmd_set_table(u64 *pml4, pte_t *pmd, void *table);
/* Is there a table (or page) of `level` in [*va, end)? *va is moved to it. As pmd_next for level 0. */
bool table_next(u64 *pml4, u64 *va, u64 end, unsigned level);
/*
 * The table of `level` (0 = PT .. 2 = PDPT) that covers a user's va, taken out of the one above if it
 * is there and empty; NULL otherwise. The caller frees it, as from kpage_alloc, after every CPU that
 * may walk it, lazily too, has flushed (SDM vol. 3, 4.10.3: CPUs cache entries of all levels).
 */
void *table_take_empty(u64 *pml4, u64 va, unsigned level);
/* Tables below a user's PML4. */
u64 pml4_nr_tables(u64 *pml4);

/* A new PML4 sharing the kernel's half; NULL when memory is short. */
u64 *pml4_create(void);
/* Free the user half's tables (not the pages they map) and the PML4. */
void pml4_destroy(u64 *pml4);

extern u64 nr_table_pages; /* all page tables' pages */

extern u64 kernel_cr3;   /* physical address of the kernel's own PML4 */
extern u64 *kernel_pml4;

/*
 * Build the kernel's page tables with W^X segments and load them. alloc: the boot allocator, for
 * the physical address of a zeroed page. Boot only.
 */
void paging_init(u64 (*alloc)(void));
/* Map [va, va+len) to phys with 4 KiB or, where everything is aligned, 2 MiB pages. Boot only. */
void map_kernel_range(u64 va, u64 phys, u64 len, u64 bits);

/* Device registers, uncached; never unmapped. Boot only. */
void *ioremap(u64 phys, size_t len);

/* Drop this CPU's non-global entries: reload CR3. */
static inline void local_flush_tlb_user(void)
{
	write_cr3(read_cr3());
}

/* Drop this CPU's entries for one linear address, global ones too (SDM vol. 3, 4.10.4.1). */
static inline void local_flush_tlb_page(u64 va)
{
	invlpg(va);
}

/* Drop everything, global entries too: toggle CR4.PGE. Context: interrupts off. */
static inline void local_flush_tlb_all(void)
{
	u64 cr4 = read_cr4();

	write_cr4(cr4 & ~CR4_PGE);
	write_cr4(cr4);
}
