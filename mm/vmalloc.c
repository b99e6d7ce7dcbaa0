/* vmalloc.c - kernel areas and stacks (see vmalloc.h). */
#include "mm/vmalloc.h"
#include "arch/paging.h"
#include "kernel/mutex.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"

struct vmap_area {
	struct list_head node; /* by address, under areas_lock */
	u64 start, end;        /* end includes the guard page */
};

static const struct lock_class areas_class = {"vmalloc areas", RANK_VMALLOC, false};
static struct mutex areas_lock;
static struct list_head areas;

static const struct lock_class stacks_class = {"stack cache", RANK_SLAB, false};
static spinlock_t stacks_lock = SPINLOCK_INIT(stacks_class);
static u64 free_stacks; /* chained through their first words */

void vmalloc_init(void)
{
	mutex_init(&areas_lock, &areas_class);
	list_init(&areas);
}

/* First hole of `bytes` bytes. */
static bool insert_area(struct vmap_area *area, u64 bytes)
{
	struct vmap_area *next;
	u64 at = VMALLOC_BASE + PAGE_SIZE;

	mutex_guard(&areas_lock);
	list_for_each(next, &areas, node) {
		if (next->start - at >= bytes)
			break;
		at = next->end;
	}
	if (at + bytes > VMALLOC_END)
		return false;
	area->start = at;
	area->end = at + bytes;
	list_add_tail(&area->node, &next->node);
	return true;
}

static void remove_area(struct vmap_area *area)
{
	mutex_lock(&areas_lock);
	list_del(&area->node);
	mutex_unlock(&areas_lock);
	kfree(area);
}

static struct vmap_area *find_area(u64 start)
{
	struct vmap_area *area;

	mutex_guard(&areas_lock);
	list_for_each(area, &areas, node)
		if (area->start == start)
			return area;
	return NULL;
}

/* Clear the PTEs of [start, end), filled from the start on; flush; free the frames one by one. */
static void unmap_and_free(u64 start, u64 end)
{
	u64 va, mapped_end = start;
	pte_t *pte;

	for (va = start; (pte = pte_next(kernel_pml4, &va, end)); va += PAGE_SIZE) {
		/* The frame's number stays until the flush. */
		tlbsan_pte_gone(NULL, va, atomic_fetch_and(pte, ~PTE_P));
		mapped_end = va + PAGE_SIZE;
	}
	if (mapped_end == start)
		return;
	flush_tlb_kernel_range(start, mapped_end);
	for (va = start; va < mapped_end; va += PAGE_SIZE) {
		pte = pte_lookup(kernel_pml4, va);
		free_pages(pfn_to_page(pte_pfn(pte_get_and_clear(pte))), 0);
	}
}

static bool map_pages(u64 start, u64 end)
{
	u64 va;

	for (va = start; va < end; va += PAGE_SIZE) {
		struct page *page = alloc_pages(0, GFP_KERNEL | GFP_ZERO);
		pte_t *pte = page ? pte_alloc(kernel_pml4, va) : NULL;

		if (!pte) {
			if (page)
				free_pages(page, 0);
			return false;
		}
		pte_set(pte, make_pte(page_to_pfn(page),
				      PTE_P | PTE_W | PTE_A | PTE_D | PTE_G | PTE_NX));
	}
	return true;
}

void *vmalloc(size_t size)
{
	u64 bytes = ALIGN_UP(size, PAGE_SIZE);
	struct vmap_area *area = size ? kzalloc(sizeof(*area)) : NULL;

	if (!area || !insert_area(area, bytes + PAGE_SIZE)) {
		kfree(area);
		return NULL;
	}
	if (map_pages(area->start, area->start + bytes))
		return (void *)area->start;
	unmap_and_free(area->start, area->start + bytes);
	remove_area(area);
	return NULL;
}

void vfree(void *addr)
{
	struct vmap_area *area;

	if (!addr)
		return;
	area = find_area((u64)addr);
	ASSERT(area, "vfree of %p, which vmalloc did not return", addr);
	unmap_and_free(area->start, area->end - PAGE_SIZE);
	remove_area(area);
}

u64 kernel_stack_alloc(void)
{
	u64 base;

	spin_lock(&stacks_lock);
	base = free_stacks;
	if (base)
		free_stacks = *(u64 *)base;
	spin_unlock(&stacks_lock);
	return base ? base : (u64)vmalloc(KERNEL_STACK_SIZE);
}

void kernel_stack_free(u64 base)
{
	spin_guard(&stacks_lock);
	*(u64 *)base = free_stacks;
	free_stacks = base;
}

bool in_stack_guard(u64 addr)
{
	return addr >= VMALLOC_BASE && addr < VMALLOC_END;
}
