/* mm.c - an address space's life: create, fork, end (see mm.h). */
#include "mm/mm.h"
#include "arch/paging.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/slab.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"
#include "mm/vma.h"

static const struct lock_class mmap_class = {"mmap lock", RANK_MMAP, false};
static const struct lock_class ptl_class = {"page tables", RANK_PTL, false};

struct mm init_mm;
static u64 next_mm_id = 1;

static void init_common(struct mm *mm)
{
	mm->users = 1;
	mm->tlb_gen = 1;
	mutex_init(&mm->mmap_lock, &mmap_class);
	spin_init(&mm->ptl, &ptl_class);
	list_init(&mm->vmas);
}

void init_mm_setup(void)
{
	init_common(&init_mm);
	init_mm.pml4 = kernel_pml4;
	init_mm.cr3 = kernel_cr3;
}

struct mm *mm_create(bool pinned)
{
	struct mm *mm = kzalloc(sizeof(*mm));

	if (!mm)
		return NULL;
	init_common(mm);
	mm->pinned = pinned;
	mm->pml4 = pml4_create();
	if (!mm->pml4) {
		kfree(mm);
		return NULL;
	}
	mm->cr3 = virt_to_phys(mm->pml4);
	mm->id = atomic_add_fetch(&next_mm_id, 1);
	return mm;
}

void mm_get(struct mm *mm)
{
	atomic_inc(&mm->users);
}

void mm_put(struct mm *mm)
{
	struct vm_area *vma, *next;

	if (!mm || !atomic_dec_and_test(&mm->users))
		return;
	ASSERT(current->mm != mm, "address space %lu ends under %s", mm->id, current->name);
	tlb_drop_mm(mm); /* nobody can hold a translation any more: the zaps below send nothing */
	list_for_each_safe(vma, next, &mm->vmas, node) {
		zap_range(mm, vma->start, vma->end);
		vma_free(vma);
	}
	ASSERT(mm->rss_pages == 0, "address space %lu ends with %lu pages mapped", mm->id,
	       mm->rss_pages);
	pml4_destroy(mm->pml4);
	kfree(mm);
}

void mm_switch_current(struct mm *next)
{
	u64 flags = local_irq_save();

	current->mm = next;
	if (next)
		switch_mm_irqoff(next);
	else { /* leave for good: a lazy stay would only be dropped by an IPI later */
		switch_mm_irqoff(&init_mm);
		switch_mm_irqoff(NULL);
	}
	local_irq_restore(flags);
}

/* Share one private page with the child: both read-only, so that the first write copies. */
static void share_pte(struct vm_area *vma, struct mm *parent, u64 va, pte_t *from, pte_t *to,
		      bool *protected)
{
	pte_t pte = pte_read(from);
	struct page *page = pfn_to_page(pte_pfn(pte));

	if (pte & PTE_W) {
		/* Only hardware may have changed it since: an AND keeps A and D. */
		pte = atomic_fetch_and(from, ~PTE_W);
		tlbsan_pte_gone(parent, va, pte);
		*protected = true;
	}
	pte_set(to, (pte_read(from) & ~(PTE_W | PTE_A | PTE_D)) | PTE_A);
	page_add_rmap(page);
	vma->mm->rss_pages++;
}

static bool is_private_page(pte_t pte)
{
	return (pte & PTE_P) && page_test(pfn_to_page(pte_pfn(pte)), PG_anon);
}

/* Context: both mmap_locks are ours: the parent's held, the child unknown to anyone. */
static int fork_range(struct vm_area *child, struct mm *parent, bool *protected)
{
	u64 va;

	for (va = child->start; va < child->end; va += PAGE_SIZE) {
		pte_t *from = pte_lookup(parent->pml4, va), *to;

		if (!from) {
			va = ALIGN_DOWN(va, PMD_PAGE_SIZE) + PMD_PAGE_SIZE - PAGE_SIZE;
			continue;
		}
		if (!is_private_page(pte_read(from)))
			continue;
		to = mm_pte_alloc(child->mm, va);
		if (!to)
			return -ENOMEM;
		spin_lock(&parent->ptl);
		if (is_private_page(pte_read(from)))
			share_pte(child, parent, va, from, to, protected);
		spin_unlock(&parent->ptl);
	}
	return 0;
}

int mm_fork(struct mm *child, struct mm *parent)
{
	bool protected = false;
	struct vm_area *vma, *copy;
	int err = 0;

	mutex_lock(&parent->mmap_lock);
	child->brk_start = parent->brk_start;
	child->brk = parent->brk;
	list_for_each(vma, &parent->vmas, node) {
		copy = vma_copy(vma, child);
		err = copy ? 0 : -ENOMEM;
		if (!err && !(vma->flags & VMA_SHARED))
			err = fork_range(copy, parent, &protected);
		if (err)
			break;
	}
	/* The parent's other threads may still write through old entries. */
	if (protected)
		flush_tlb_mm_range(parent, 0, USER_END, TLB_PROTECT);
	mutex_unlock(&parent->mmap_lock);
	return err;
}
