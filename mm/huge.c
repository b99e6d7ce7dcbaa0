/* huge.c - mapping, splitting and unmapping 2 MiB at once (see huge.h). */
#include "arch/paging.h"
#include "mm/compact.h"
#include "mm/huge.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"

#define BLOCK_PAGES (1u << COMPACT_ORDER)

bool huge_mapped(struct mm *mm, u64 addr)
{
	pte_t *pmd = pmd_lookup(mm->pml4, addr);

	return pmd && pte_is_huge(pte_read(pmd));
}

/* ---- Mapping --------------------------------------------------------------------------------- */

/* 512 pages of the area's anonymous object; each has the reference that its mapping will have. */
static void make_pages(struct vm_area *vma, struct page *head, u64 base)
{
	u64 index = vma->anon_pgoff + ((base - vma->start) >> PAGE_SHIFT), i;

	for (i = 0; i < BLOCK_PAGES; i++) {
		struct page *page = head + i;

		*page = (struct page){.refcount = 1, .mapcount = 1, .index = index + i,
				      .flags = PG_anon | PG_uptodate,
				      .object = object_get(vma->anon)};
		list_init(&page->lru);
	}
}

static void map_block(struct vm_area *vma, pte_t *pmd, struct page *head, u64 base, void *table)
{
	pte_t bits = vma_pte_bits(vma, true);
	u64 i;

	make_pages(vma, head, base);
	head->hash_next = table; /* for the split */
	spin_guard(&vma->mm->ptl);
	for (i = 0; i < BLOCK_PAGES && (bits & PTE_W); i++)
		tlbsan_check_map(vma->mm, base + i * PAGE_SIZE, head + i);
	vma->mm->rss_pages += BLOCK_PAGES;
	pte_set(pmd, make_pte(page_to_pfn(head), bits | PTE_PS));
	count_vm_event(thp_fault_alloc);
}

bool huge_fault(struct vm_area *vma, u64 addr)
{
	u64 base = ALIGN_DOWN(addr, PMD_PAGE_SIZE);
	struct page *head;
	pte_t *pmd;
	void *table;

	if (!(vma->flags & VMA_HUGE) || vma->object || !vma->anon || base < vma->start ||
	    base + PMD_PAGE_SIZE > vma->end || (vma->flags & VMA_LOCKED))
		return false;
	pmd = pmd_alloc(vma->mm->pml4, base);
	if (!pmd || pte_read(pmd))
		return false; /* some of it is mapped by small pages */
	table = kpage_alloc(0);
	head = table ? alloc_pages(COMPACT_ORDER, GFP_HUGE | GFP_ZERO) : NULL;
	if (!head) {
		if (table)
			kpage_free(table, 0);
		count_vm_event(thp_fault_fallback);
		return false;
	}
	map_block(vma, pmd, head, base, table);
	return true;
}

/* ---- Splitting and unmapping ----------------------------------------------------------------- */

/* Clear the entry, and flush all that it translated. Returns what it was. */
static pte_t clear_block(struct mm *mm, pte_t *pmd, u64 base)
{
	pte_t old;
	u64 i;

	spin_lock(&mm->ptl);
	old = pte_get_and_clear(pmd);
	for (i = 0; i < BLOCK_PAGES; i++)
		tlbsan_pte_gone(mm, base + i * PAGE_SIZE,
				make_pte(pte_pfn(old) + i, old & (PTE_P | PTE_W | PTE_D)));
	spin_unlock(&mm->ptl);
	if (READ_ONCE(mm->cpumask))
		flush_tlb_mm_range(mm, base, base + PMD_PAGE_SIZE, TLB_UNMAP);
	return old;
}

static void split_block(struct mm *mm, pte_t *pmd, u64 base)
{
	pte_t old = clear_block(mm, pmd, base), *table;
	struct page *head = pfn_to_page(pte_pfn(old));
	u64 i;

	table = (pte_t *)head->hash_next;
	head->hash_next = NULL;
	for (i = 0; i < BLOCK_PAGES; i++)
		table[i] = make_pte(page_to_pfn(head) + i, old & ~(PTE_ADDR | PTE_PS));
	spin_lock(&mm->ptl);
	pmd_set_table(mm->pml4, pmd, table);
	spin_unlock(&mm->ptl);
	for (i = 0; i < BLOCK_PAGES; i++)
		lru_add_page(head + i);
	count_vm_event(thp_split);
}

static void zap_block(struct mm *mm, pte_t *pmd, u64 base)
{
	struct page *head = pfn_to_page(pte_pfn(clear_block(mm, pmd, base)));
	u64 i;

	kpage_free(head->hash_next, 0);
	head->hash_next = NULL;
	spin_lock(&mm->ptl);
	mm->rss_pages -= BLOCK_PAGES;
	spin_unlock(&mm->ptl);
	for (i = 0; i < BLOCK_PAGES; i++) {
		page_remove_rmap(head + i);
		put_page(head + i);
	}
}

static void for_each_block(struct mm *mm, u64 start, u64 end, bool zap)
{
	u64 base = ALIGN_DOWN(start, PMD_PAGE_SIZE);
	pte_t *pmd;

	for (; (pmd = pmd_next(mm->pml4, &base, end)); base += PMD_PAGE_SIZE) {
		if (!pte_is_huge(pte_read(pmd)))
			continue;
		if (zap && base >= start && base + PMD_PAGE_SIZE <= end)
			zap_block(mm, pmd, base);
		else
			split_block(mm, pmd, base);
	}
}

void huge_zap_range(struct mm *mm, u64 start, u64 end)
{
	for_each_block(mm, start, end, true);
}

void huge_split_range(struct mm *mm, u64 start, u64 end)
{
	for_each_block(mm, start, end, false);
}
