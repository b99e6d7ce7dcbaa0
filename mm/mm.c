/* mm.c - an address space's life: create, fork, end (see mm.h). */
#include "mm/mm.h"
#include "arch/paging.h"
#include "kernel/errno.h"
#include "kernel/thread.h"
#include "mm/huge.h"
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
	mm->tlb_gen = mm->tlbsan_gathered = 1;
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

struct mm *mm_get(struct mm *mm)
{
	atomic_inc(&mm->users);
	return mm;
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

/*
 * Share one private page with the child: both read-only, so that the first write copies. true: the
 * parent's entry lost a right. Context: parent's ptl held.
 */
static bool share_pte(struct vm_area *child, struct mm *parent, u64 va, pte_t *from, pte_t *to)
{
	pte_t pte = pte_read(from);

	if (!page_test(pfn_to_page(pte_pfn(pte)), PG_anon))
		return false; /* the child faults it in */
	if (pte_is_migration(pte)) { /* so do both entries; the migrator finds the child after us */
		pte_set(from, pte & ~PTE_W);
		pte_set(to, pte & ~PTE_W);
		child->mm->rss_pages++;
		return pte & PTE_W; /* it may not be flushed yet: then we do */
	}
	/* Hardware may change it at any time: an AND keeps A and D. */
	pte = atomic_fetch_and(from, ~PTE_W);
	if (pte & PTE_W)
		tlbsan_pte_gone(parent, va, pte);
	pte_set(to, (pte & ~(PTE_W | PTE_A | PTE_D)) | PTE_A);
	page_add_rmap(pfn_to_page(pte_pfn(pte)));
	child->mm->rss_pages++;
	return pte & PTE_W;
}

/* Context: both mmap_locks are ours: the parent's held, the child unknown to anyone. */
static int fork_range(struct vm_area *child, struct mm *parent, bool *protected)
{
	pte_t *from, *to;
	u64 va;

	huge_split_range(parent, child->start, child->end);
	for (va = child->start; (from = pte_next(parent->pml4, &va, child->end)); va += PAGE_SIZE) {
		if (thread_killed(current))
			return -EINTR;
		to = pte_alloc(child->mm->pml4, va);
		if (!to)
			return -ENOMEM;
		spin_guard(&parent->ptl);
		*protected |= share_pte(child, parent, va, from, to);
	}
	return 0;
}

int mm_fork(struct mm *child, struct mm *parent)
{
	bool protected = false;
	struct vm_area *vma, *copy;
	int err = 0;

	mutex_guard(&parent->mmap_lock);
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
	tlbsan_check_fork(parent);
	return err;
}
