/* rmap.c - walking from a page to its PTEs (see rmap.h). */
#include "mm/rmap.h"
#include "arch/paging.h"
#include "kernel/perturb.h"
#include "kernel/trace.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"

void page_add_rmap(struct page *page)
{
	get_page(page);
	atomic_inc(&page->mapcount);
}

void page_remove_rmap(struct page *page)
{
	ASSERT(page_mapcount(page) > 0, "frame %lx is not mapped", page_to_pfn(page));
	atomic_dec(&page->mapcount);
}

typedef bool rmap_fn(struct page *page, struct vm_area *vma, u64 va, pte_t *pte, void *arg);

#define PTE_KIND (PTE_ADDR | PTE_P | PTE_MIGRATION)

/*
 * Call fn for every PTE of this kind where the page belongs, under that address space's ptl, until
 * it says stop. The list has parents before the children they share pages with: an entry that fork
 * copies while we are on our way is found in the child.
 */
static void rmap_walk(struct page *page, pte_t kind, rmap_fn *fn, void *arg)
{
	struct vm_object *object = page->object;
	bool anon, go_on = true;
	struct vm_area *vma;
	struct list_head *node;

	if (!object)
		return;
	anon = object->kind == OBJECT_ANON;
	spin_lock(&object->lock);
	for (node = object->mappings.next; go_on && node != &object->mappings; node = node->next) {
		pte_t *pte;
		u64 va;

		vma = anon ? list_entry(node, struct vm_area, anon_node) :
			     list_entry(node, struct vm_area, object_node);
		spin_lock(&vma->mm->ptl);
		va = vma_address(vma, anon ? vma->anon_pgoff : vma->pgoff, page->index);
		pte = va ? pte_lookup(vma->mm->pml4, va) : NULL;
		if (pte && (pte_read(pte) & PTE_KIND) == kind)
			go_on = fn(page, vma, va, pte, arg);
		spin_unlock(&vma->mm->ptl);
	}
	spin_unlock(&object->lock);
}

static pte_t present(const struct page *page)
{
	return make_pte(page_to_pfn(page), PTE_P);
}

static bool unmap_one(struct page *page, struct vm_area *vma, u64 va, pte_t *pte, void *arg)
{
	struct unmap_result *result = arg;
	struct mm *mm = vma->mm;
	pte_t old, entry = 0;

	if ((vma->flags & VMA_LOCKED) && !result->force) {
		result->pinned = true;
		return false;
	}
	if (result->migrate) /* W is ours under the ptl, hardware sets only A and D */
		entry = make_pte(page_to_pfn(page), PTE_MIGRATION | (pte_read(pte) & PTE_W));
	SYNC_POINT(pte_clear);
	old = pte_xchg(pte, entry);
	if (old & PTE_D) {
		result->dirty = true;
		page_set(page, PG_dirty);
	}
	/*
	 * After the exchange: a CPU that starts to use mm from here on cannot load the old entry.
	 */
	tlb_gen_inc_batched(mm, va, old);
	tlbsan_check_dirty(page, old);
	result->cpus |= load_acquire(&mm->cpumask);
	result->ptes++;
	if (!result->migrate) /* not even -= 0: fork may be counting a child's, unlocked */
		mm->rss_pages--;
	page_remove_rmap(page);
	TRACE(unmap, va, pte_pfn(old));
	put_page(page); /* the mapping's; the caller's own keeps the page */
	return true;
}

void try_to_unmap(struct page *page, bool force, struct unmap_result *result)
{
	ASSERT(page_test(page, PG_locked), "frame %lx is unmapped unlocked", page_to_pfn(page));
	*result = (struct unmap_result){.force = force};
	rmap_walk(page, present(page), unmap_one, result);
}

void try_to_migrate(struct page *page, struct unmap_result *result)
{
	ASSERT(page_test(page, PG_locked), "frame %lx is moved unlocked", page_to_pfn(page));
	*result = (struct unmap_result){.force = true, .migrate = true};
	rmap_walk(page, present(page), unmap_one, result);
}

static bool remap_one(struct page *now, struct vm_area *vma, u64 va, pte_t *pte, void *arg)
{
	pte_t bits = vma_pte_bits(vma, pte_read(pte) & PTE_W);

	(void)arg;
	if (bits & PTE_W)
		tlbsan_check_map(vma->mm, va, now);
	page_add_rmap(now);
	pte_set(pte, make_pte(page_to_pfn(now), bits));
	return true;
}

void remove_migration_ptes(struct page *old, struct page *now)
{
	ASSERT(page_test(now, PG_locked), "frame %lx is mapped unlocked", page_to_pfn(now));
	rmap_walk(now, make_pte(page_to_pfn(old), PTE_MIGRATION), remap_one, NULL);
}

struct reference_count {
	unsigned referenced;
	bool pinned;
};

static bool reference_one(struct page *page, struct vm_area *vma, u64 va, pte_t *pte, void *arg)
{
	struct reference_count *count = arg;

	(void)page;
	(void)va;
	if (vma->flags & VMA_LOCKED)
		count->pinned = true;
	if (pte_read(pte) & PTE_A) {
		count->referenced++;
		(void)atomic_fetch_and(pte, ~PTE_A);
	}
	return true;
}

unsigned page_referenced(struct page *page, bool *pinned)
{
	struct reference_count count = {0};

	rmap_walk(page, present(page), reference_one, &count);
	*pinned = count.pinned;
	return count.referenced;
}
