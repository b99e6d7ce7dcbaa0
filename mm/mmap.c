/* mmap.c - changing what addresses mean: map, unmap, protect, discard, break (see mm.h). */
#include "arch/paging.h"
#include "kernel/file.h"
#include "kernel/perturb.h"
#include "kernel/trace.h"
#include "kernel/user_range.h"
#include "mm/huge.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tables.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"
#include "mm/vma.h"

#define GATHER_PAGES 64

/* munmap's own gather: pages whose PTEs are cleared, to be dropped after the flush. */
struct mmu_gather {
	struct page *pages[GATHER_PAGES];
	unsigned nr;
	u64 start, end; /* addresses cleared */
};

/* ---- Zapping --------------------------------------------------------------------------------- */

/* Clear PTEs from *va on until the gather is full or end is reached. Context: ptl held. */
static void gather_ptes(struct mm *mm, u64 *va, u64 end, struct mmu_gather *gather)
{
	struct page *page;
	pte_t *pte, old;

	while (gather->nr < GATHER_PAGES && (pte = pte_next(mm->pml4, va, end))) {
		old = pte_get_and_clear(pte);
		mm->rss_pages--;
		if (pte_is_migration(old)) { /* the migrator will not find it: the page goes */
			*va += PAGE_SIZE;
			continue;
		}
		TRACE(unmap, *va, pte_pfn(old));
		page = pfn_to_page(pte_pfn(old));
		if ((old & PTE_D) && !page_test(page, PG_anon))
			page_set(page, PG_dirty);
		tlbsan_pte_gone(mm, *va, old);
		tlbsan_check_dirty(page, old);
		if (!gather->nr)
			gather->start = *va;
		gather->end = *va + PAGE_SIZE;
		gather->pages[gather->nr++] = page;
		page_remove_rmap(page);
		*va += PAGE_SIZE;
	}
}

void zap_range(struct mm *mm, u64 start, u64 end)
{
	struct mmu_gather gather;
	unsigned i;
	u64 va = start;

	huge_zap_range(mm, start, end);
	while (pmd_next(mm->pml4, &va, end)) {
		gather.nr = 0;
		gather.start = gather.end = va;
		spin_lock(&mm->ptl);
		gather_ptes(mm, &va, MIN(end, va + PMD_PAGE_SIZE * 16), &gather);
		spin_unlock(&mm->ptl);
		if (!gather.nr)
			continue;
		if (load_acquire(&mm->cpumask))
			flush_tlb_mm_range(mm, gather.start, gather.end, TLB_UNMAP);
		for (i = 0; i < gather.nr; i++)
			put_page(gather.pages[i]);
		this_cpu_add64(stat.tlb[TLB_UNMAP].freed, gather.nr);
	}
	flush_tlb_batched_pending(mm);
}

/* ---- Map and unmap --------------------------------------------------------------------------- */

static int unmap_locked(struct mm *mm, u64 start, u64 end)
{
	struct vm_area *vma, *next;

	mutex_assert_held(&mm->mmap_lock);
	if (vma_split_around(mm, start, end))
		return -ENOMEM;
	list_for_each_safe(vma, next, &mm->vmas, node)
		if (vma->start >= start && vma->end <= end) {
			zap_range(mm, vma->start, vma->end);
			vma_free(vma);
		}
	tlbsan_check_range(mm, start, end, tlbsan_now());
	free_pgtables(mm, start, end);
	return 0;
}

int mm_unmap(struct mm *mm, u64 start, u64 len)
{
	u64 end;

	if (!user_pages(start, len, &end))
		return -EINVAL;
	mutex_guard(&mm->mmap_lock);
	return unmap_locked(mm, start, end);
}

static s64 map_locked(struct mm *mm, u64 addr, u64 len, u32 flags, struct vm_object *object,
		      u64 pgoff, struct file *file, enum map_how how)
{
	struct vm_area *vma;
	u64 end;

	mutex_assert_held(&mm->mmap_lock);
	if (how == MAP_REPLACE && unmap_locked(mm, addr, addr + len))
		return -ENOMEM;
	if (how == MAP_IF_FREE && vma_overlaps(mm, addr, addr + len))
		return -EEXIST;
	if (how == MAP_NEAR && (!user_pages(addr, len, &end) || vma_overlaps(mm, addr, end)))
		addr = vma_find_hole(mm, len);
	vma = addr ? vma_create(mm, addr, addr + len, flags, object, pgoff) : NULL;
	if (!vma)
		return -ENOMEM;
	vma->file = file_get(file);
	return (s64)addr;
}

/* A mapping may be len bytes long, and lie at addr if that place was asked for. */
static int check_place(u64 addr, u64 len, enum map_how how)
{
	u64 end;

	if (!len || (how != MAP_NEAR && !IS_ALIGNED(addr, PAGE_SIZE)))
		return -EINVAL;
	if (!user_round_pages(len, &end) || end > USER_END)
		return -ENOMEM;
	if (how == MAP_NEAR || user_pages(addr, len, &end))
		return 0;
	return addr < USER_BASE ? -EPERM : -ENOMEM;
}

s64 mm_map(struct mm *mm, u64 addr, u64 len, u32 flags, struct vm_object *object, u64 pgoff,
	   struct file *file, enum map_how how)
{
	s64 at;
	bool populate;
	int err = check_place(addr, len, how);

	if (err)
		return err;
	if (object && !user_file_range(pgoff << PAGE_SHIFT, len))
		return -EOVERFLOW;
	len = ALIGN_UP(len, PAGE_SIZE);
	if (object && (flags & VMA_SHARED) && (flags & (VMA_WRITE | VMA_MAYWRITE)))
		object_make_writable(object);
	mutex_lock(&mm->mmap_lock);
	populate = mm->pinned || mm->lock_future;
	if (populate)
		flags |= VMA_LOCKED;
	at = map_locked(mm, ALIGN_DOWN(addr, PAGE_SIZE), len, flags, object, pgoff, file,
			how);
	mutex_unlock(&mm->mmap_lock);
	if (at > 0 && populate && (flags & VMA_PROT)) {
		err = mm_populate(mm, (u64)at, (u64)at + len);
		if (err) {
			mm_unmap(mm, (u64)at, len);
			return err == -EINTR ? err : -ENOMEM;
		}
	}
	return at;
}

u64 vma_pte_bits(const struct vm_area *vma, bool writable)
{
	u64 bits = PTE_P | PTE_A;

	if (vma->flags & VMA_PROT)
		bits |= PTE_U;
	if (writable && (vma->flags & VMA_WRITE))
		bits |= PTE_W;
	if (!(vma->flags & VMA_EXEC))
		bits |= PTE_NX;
	return bits;
}

/* ---- Protect --------------------------------------------------------------------------------- */

/* Take rights away from the PTEs; more rights come with the next fault. true: a flush is due. */
static bool protect_ptes(struct mm *mm, struct vm_area *vma)
{
	/* PROT_NONE: the page stays, user mode may not touch it. */
	pte_t take = (vma->flags & VMA_WRITE ? 0 : PTE_W) | (vma->flags & VMA_PROT ? 0 : PTE_U);
	pte_t give = vma->flags & VMA_PROT ? PTE_U : 0, taken, *pte;
	bool flush = false;
	u64 va;

	if (vma->flags & VMA_EXEC)
		take |= PTE_NX;
	else
		give |= PTE_NX;
	huge_split_range(mm, vma->start, vma->end);
	spin_guard(&mm->ptl);
	for (va = vma->start; (pte = pte_next(mm->pml4, &va, vma->end)); va += PAGE_SIZE) {
		if (pte_is_migration(pte_read(pte)))
			continue; /* gets the area's rights when it is mapped again */
		taken = atomic_fetch_and(pte, ~take) & take & ~PTE_NX;
		if (taken)
			tlbsan_pte_gone(mm, va, pte_read(pte) | taken);
		(void)atomic_fetch_or(pte, give);
		flush |= taken || (give & PTE_NX);
	}
	return flush;
}

static int protect_locked(struct mm *mm, u64 start, u64 end, u32 prot)
{
	struct vm_area *vma;
	bool flush = false;
	u64 at = start, mark;

	mutex_assert_held(&mm->mmap_lock);
	list_for_each(vma, &mm->vmas, node) { /* first: may we, and is there no hole? */
		if (vma->end <= start || vma->start >= end)
			continue;
		if (vma->start > at)
			return -ENOMEM;
		if ((prot & VMA_WRITE) && !(vma->flags & VMA_MAYWRITE))
			return -EACCES;
		at = vma->end;
	}
	if (at < end || vma_split_around(mm, start, end))
		return -ENOMEM;
	list_for_each(vma, &mm->vmas, node)
		if (vma->start >= start && vma->end <= end) {
			vma->flags = (vma->flags & ~VMA_PROT) | prot;
			flush |= protect_ptes(mm, vma);
		}
	mark = tlbsan_now(); /* pages that move from here on lose no right by it */
	if (flush)
		flush_tlb_mm_range(mm, start, end, TLB_PROTECT);
	flush_tlb_batched_pending(mm);
	SYNC_POINT(protect_flushed);
	tlbsan_check_range(mm, start, end, mark);
	return 0;
}

int mm_protect(struct mm *mm, u64 start, u64 len, u32 prot)
{
	u64 end;

	if (!IS_ALIGNED(start, PAGE_SIZE) || (prot & ~VMA_PROT))
		return -EINVAL;
	if (!len)
		return 0;
	if (!user_pages(start, len, &end))
		return -ENOMEM;
	mutex_guard(&mm->mmap_lock);
	return protect_locked(mm, start, end, prot);
}

/* ---- Discard, break, lock -------------------------------------------------------------------- */

static void discard_part(struct mm *mm, u64 start, u64 end)
{
	zap_range(mm, start, end);
	tlbsan_check_range(mm, start, end, tlbsan_now());
}

/* The pages that an madvise names: 1, *end set; 0: none; else an error. */
static int advised_pages(u64 start, u64 len, u64 *end)
{
	u64 rounded;

	if (!IS_ALIGNED(start, PAGE_SIZE) || !user_round_pages(len, &rounded) ||
	    __builtin_add_overflow(start, rounded, end))
		return -EINVAL;
	if (!rounded)
		return 0;
	return user_pages(start, len, end) ? 1 : -ENOMEM;
}

/* Every page of the range belongs to an area. Context: mmap_lock held. */
static bool all_mapped(struct mm *mm, u64 start, u64 end)
{
	struct vm_area *vma;

	list_for_each(vma, &mm->vmas, node)
		if (vma->start <= start && start < vma->end)
			start = vma->end;
	return start >= end;
}

int mm_discard(struct mm *mm, u64 start, u64 len)
{
	struct vm_area *vma;
	u64 end;
	int some = advised_pages(start, len, &end);

	if (some <= 0)
		return some;
	mutex_guard(&mm->mmap_lock);
	list_for_each(vma, &mm->vmas, node)
		if (!(vma->flags & VMA_LOCKED) && start < vma->end && vma->start < end)
			discard_part(mm, MAX(start, vma->start), MIN(end, vma->end));
	return all_mapped(mm, start, end) ? 0 : -ENOMEM;
}

int mm_advise_huge(struct mm *mm, u64 start, u64 len, bool huge)
{
	struct vm_area *vma;
	u64 end;
	int some = advised_pages(start, len, &end);

	if (some <= 0)
		return some;
	mutex_guard(&mm->mmap_lock);
	if (vma_split_around(mm, start, end))
		return -ENOMEM;
	list_for_each(vma, &mm->vmas, node)
		if (vma->start >= start && vma->end <= end)
			vma->flags = huge ? vma->flags | VMA_HUGE : vma->flags & ~VMA_HUGE;
	return all_mapped(mm, start, end) ? 0 : -ENOMEM;
}

static u64 brk_locked(struct mm *mm, u64 brk)
{
	u64 old_end = ALIGN_UP(mm->brk, PAGE_SIZE), new_end;
	u32 flags = VMA_READ | VMA_WRITE | VMA_MAYWRITE;

	mutex_assert_held(&mm->mmap_lock);
	if (mm->pinned || mm->lock_future)
		flags |= VMA_LOCKED;
	if (brk < mm->brk_start || !user_round_pages(brk, &new_end) || new_end > USER_END)
		return mm->brk;
	if (new_end > old_end) {
		struct vm_area *last = find_vma(mm, old_end - 1);

		if (vma_overlaps(mm, old_end, new_end))
			return mm->brk;
		if (old_end > ALIGN_UP(mm->brk_start, PAGE_SIZE) && last)
			vma_set_end(last, new_end);
		else if (!vma_create(mm, old_end, new_end, flags, NULL, 0))
			return mm->brk;
	} else if (new_end < old_end && unmap_locked(mm, new_end, old_end)) {
		return mm->brk;
	}
	mm->brk = brk;
	return brk;
}

u64 mm_brk(struct mm *mm, u64 brk)
{
	u64 old, now;

	mutex_lock(&mm->mmap_lock);
	old = mm->brk;
	now = brk_locked(mm, brk);
	mutex_unlock(&mm->mmap_lock);
	if (now > old && (mm->pinned || mm->lock_future) &&
	    mm_populate(mm, ALIGN_UP(old, PAGE_SIZE), ALIGN_UP(now, PAGE_SIZE)))
		return mm_brk(mm, old);
	return now;
}

/* The next area at or above addr: locked, and what of it can be populated. false: there is none. */
static bool lock_next_vma(struct mm *mm, u64 *addr, u64 *end)
{
	struct vm_area *vma;

	mutex_guard(&mm->mmap_lock);
	list_for_each(vma, &mm->vmas, node)
		if (vma->end > *addr) {
			vma->flags |= VMA_LOCKED;
			*addr = vma->flags & VMA_PROT ? vma->start : vma->end;
			*end = vma->end;
			return true;
		}
	return false;
}

int mm_lock_all(struct mm *mm, bool now, bool future)
{
	u64 addr, end = 0;
	int err = 0;

	mutex_lock(&mm->mmap_lock);
	mm->lock_future = future;
	mutex_unlock(&mm->mmap_lock);
	for (addr = 0; now && !err && lock_next_vma(mm, &addr, &end); addr = end)
		err = mm_populate(mm, addr, end);
	return err;
}
