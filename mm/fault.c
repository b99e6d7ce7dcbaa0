/*
 * fault.c - making an address accessible: demand paging, copy-on-write, and what cannot be helped.
 *
 * A fault that needs a page from a pager lets go of mmap_lock, gets the page, and starts again with
 * the page held: the mapping may have changed meanwhile.
 */
#include "arch/paging.h"
#include "arch/trap.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "kernel/signal.h"
#include "kernel/task.h"
#include "kernel/trace.h"
#include "mm/huge.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"

/* One fault on its way: what is wanted, and what has been found so far. */
struct fault {
	struct mm *mm;
	u64 addr; /* of the page */
	u32 access;
	struct vm_area *vma; /* valid while mmap_lock is held */
	pte_t *pte;
	struct page *held; /* fetched without mmap_lock: it must not go before the next look */
};

#define RETRY 1 /* mmap_lock was released: look everything up again */

static int no_memory(void)
{
	return thread_killed(current) ? -EINTR : -ENOMEM;
}

static u64 object_index(const struct vm_area *vma, u64 addr)
{
	return vma->pgoff + ((addr - vma->start) >> PAGE_SHIFT);
}

/* ---- Private pages --------------------------------------------------------------------------- */

/* A new page of the area's anonymous object, not mapped yet; the caller has one reference. */
static struct page *new_anon_page(struct fault *f, u32 gfp)
{
	struct vm_area *vma = f->vma;
	struct page *page = alloc_pages(0, GFP_KERNEL | gfp);

	if (!page)
		return NULL;
	page->object = object_get(vma->anon);
	page->index = vma->anon_pgoff + ((f->addr - vma->start) >> PAGE_SHIFT);
	page_set(page, PG_anon | PG_uptodate);
	if (vma->flags & VMA_LOCKED)
		page_set(page, PG_unevictable);
	return page;
}

/* Only holders of mmap_lock fill empty PTEs, so an empty one stays empty until we fill it. */
static void map_page(struct fault *f, struct page *page, bool writable)
{
	u64 bits = vma_pte_bits(f->vma, writable);

	ASSERT(!pte_read(f->pte), "address %lx is mapped already", f->addr);
	if (bits & PTE_W)
		tlbsan_check_map(f->mm, f->addr, page);
	page_add_rmap(page);
	f->mm->rss_pages++;
	pte_set(f->pte, make_pte(page_to_pfn(page), bits));
	TRACE(map, f->addr, page_to_pfn(page));
}

static void copy_page(struct page *to, struct page *from)
{
	tlbsan_check_copy(from, "a copy");
	memcpy(phys_to_virt(page_to_phys(to)), phys_to_virt(page_to_phys(from)), PAGE_SIZE);
}

/*
 * Truncation first makes the object smaller, then clears PTEs under the ptl: whoever maps under
 * the ptl after a look at the size is either seen by it or sees the new size. page: one of the
 * object's, or a private one that stands for it. Context: ptl held. 0, -ENXIO past the end, RETRY.
 */
static int may_map(const struct fault *f, const struct page *page)
{
	struct vm_object *object = f->vma->object;

	spin_assert_held(&f->mm->ptl);
	if (!object)
		return 0;
	if (object_index(f->vma, f->addr) >= object_nr_pages(object))
		return -ENXIO;
	if (page_test(page, PG_anon))
		return 0;
	return READ_ONCE(page->object) == object && page_is_current(page) ? 0 : RETRY;
}

/* Map a new private page: a copy of `from`, or zeroes. The PTE is empty. */
static int map_new_page(struct fault *f, struct page *from)
{
	struct page *page = new_anon_page(f, from ? 0 : GFP_ZERO);
	int err;

	if (!page)
		return no_memory();
	if (from)
		copy_page(page, from);
	spin_lock(&f->mm->ptl);
	err = may_map(f, from ? from : page);
	if (!err)
		map_page(f, page, true);
	spin_unlock(&f->mm->ptl);
	if (!err)
		lru_add_page(page);
	put_page(page);
	if (from && !err)
		count_vm_event(cow_copies);
	return err;
}

/* The copy did not come about: the write may be tried again. */
static void map_back(struct fault *f, struct page *old)
{
	spin_guard(&f->mm->ptl);
	if (!may_map(f, old)) /* or a truncation came between: then there is nothing to go back to */
		map_page(f, old, false);
}

/*
 * Replace a shared page by a copy. The old translation must be gone from every TLB of the address
 * space before the copy becomes writable anywhere: otherwise one thread could read the old page
 * after another wrote the new one.
 */
static int copy_on_write(struct fault *f, struct page *old)
{
	pte_t pte;
	int err;

	spin_lock(&f->mm->ptl);
	pte = pte_read(f->pte);
	if (!(pte & PTE_P) || pte_pfn(pte) != page_to_pfn(old)) {
		spin_unlock(&f->mm->ptl); /* reclaim was here */
		return RETRY;
	}
	pte = pte_get_and_clear(f->pte);
	TRACE(unmap, f->addr, pte_pfn(pte));
	tlbsan_pte_gone(f->mm, f->addr, pte);
	page_remove_rmap(old);
	f->mm->rss_pages--;
	spin_unlock(&f->mm->ptl);

	flush_tlb_mm_range(f->mm, f->addr, f->addr + PAGE_SIZE, TLB_COW);
	SYNC_POINT(cow_flushed);

	err = map_new_page(f, old);
	if (err)
		map_back(f, old);
	put_page(old); /* the old mapping's reference */
	return err;
}

/* A write to a present, read-only PTE of a writable area. */
static int fault_write_protected(struct fault *f)
{
	struct page *page;
	bool reuse;
	pte_t pte;
	int err;

	spin_lock(&f->mm->ptl);
	pte = pte_read(f->pte);
	if (!(pte & PTE_P) || (pte & PTE_W)) {
		spin_unlock(&f->mm->ptl);
		return pte & PTE_P ? 0 : RETRY;
	}
	page = pfn_to_page(pte_pfn(pte));
	reuse = (f->vma->flags & VMA_SHARED) || (page_test(page, PG_anon) && page_refs(page) == 1);
	if (reuse)
		(void)atomic_fetch_or(f->pte, PTE_W); /* more rights: no flush */
	else
		get_page(page);
	spin_unlock(&f->mm->ptl);
	if (reuse)
		return 0;
	err = copy_on_write(f, page);
	put_page(page);
	return err;
}

/* ---- Pages of objects ------------------------------------------------------------------------ */

static void hold_page(struct fault *f, struct page *page)
{
	if (f->held)
		put_page(f->held);
	f->held = page;
}

/* Without mmap_lock: a pager may take its time. */
static int fetch_page(struct fault *f, u64 index)
{
	struct vm_object *object = object_get(f->vma->object);
	struct page *page;
	int err;

	mutex_unlock(&f->mm->mmap_lock);
	err = object_get_page(object, index, &page);
	object_put(object);
	hold_page(f, err ? NULL : page);
	mutex_lock(&f->mm->mmap_lock);
	return err ? err : RETRY;
}

static int map_object_page(struct fault *f, struct page *page)
{
	int err;

	spin_guard(&f->mm->ptl);
	err = may_map(f, page);
	if (!err)
		map_page(f, page, f->vma->flags & VMA_SHARED);
	return err;
}

/*
 * The first write to a page of a private mapping. Reclaim may have taken the page from this very
 * PTE and owe the flush still: another thread must not read the old frame after this one has
 * written the copy, so it is paid first.
 */
static int copy_object_page(struct fault *f, struct page *page)
{
	flush_tlb_batched_pending(f->mm);
	return map_new_page(f, page);
}

static int fault_object(struct fault *f)
{
	u64 index = object_index(f->vma, f->addr);
	struct page *page = page_cache_find(f->vma->object, index);
	int err;

	if (!page) {
		TRACE(refault, f->addr, index);
		return fetch_page(f, index);
	}
	if (!page_is_current(page))
		err = fetch_page(f, index); /* somebody else is at it: wait */
	else if ((f->access & FAULT_WRITE) && !(f->vma->flags & VMA_SHARED))
		err = copy_object_page(f, page);
	else
		err = map_object_page(f, page);
	put_page(page);
	return err;
}

/* ---- Pages on the move ----------------------------------------------------------------------- */

/*
 * No reference on the page: the migrator must be the only one who has it. While the entry is there
 * under the ptl, so is the page that it names. The table may go meanwhile: it is looked up anew.
 */
static bool migration_ended(struct fault *f, pte_t entry)
{
	pte_t *pte;

	spin_guard(&f->mm->ptl);
	pte = pte_lookup(f->mm->pml4, f->addr);
	if (!pte || pte_read(pte) != entry)
		return true;
	page_set(pfn_to_page(pte_pfn(entry)), PG_waiters); /* its unlock wakes us */
	return false;
}

static int wait_for_migration(struct fault *f, pte_t entry)
{
	ASSERT(pte_is_migration(entry), "PTE %lx of address %lx is neither present nor empty", entry,
	       f->addr);
	count_vm_event(migration_waits);
	mutex_unlock(&f->mm->mmap_lock);
	wait_event(page_waitq(pfn_to_page(pte_pfn(entry))), migration_ended(f, entry));
	mutex_lock(&f->mm->mmap_lock);
	return RETRY;
}

/* ---- The way through ------------------------------------------------------------------------- */

static bool access_allowed(const struct vm_area *vma, u32 access)
{
	if (access & FAULT_WRITE)
		return vma->flags & VMA_WRITE;
	if (access & FAULT_EXEC)
		return vma->flags & VMA_EXEC;
	return vma->flags & VMA_PROT;
}

/* Context: mmap_lock held; may be released and taken again when RETRY is returned. */
static int fault_once(struct fault *f)
{
	pte_t pte;

	f->vma = find_vma(f->mm, f->addr);
	if (!f->vma || !access_allowed(f->vma, f->access))
		return -EFAULT;
	if (huge_mapped(f->mm, f->addr)) {
		local_flush_tlb_page(f->addr); /* another thread was faster */
		return 0;
	}
	if (huge_fault(f->vma, f->addr))
		return 0;
	f->pte = pte_alloc(f->mm->pml4, f->addr);
	if (!f->pte)
		return no_memory();
	pte = pte_read(f->pte);
	if (pte & PTE_P) {
		if ((f->access & FAULT_WRITE) && !(pte & PTE_W))
			return fault_write_protected(f);
		/* Another thread was faster, or this TLB held an entry with fewer rights. */
		local_flush_tlb_page(f->addr);
		return 0;
	}
	if (pte)
		return wait_for_migration(f, pte);
	return f->vma->object ? fault_object(f) : map_new_page(f, NULL);
}

int handle_mm_fault(struct mm *mm, u64 addr, u32 access)
{
	struct fault f = {.mm = mm, .addr = ALIGN_DOWN(addr, PAGE_SIZE), .access = access};
	int err;

	if (addr >= USER_END)
		return -EFAULT;
	mutex_lock(&mm->mmap_lock);
	do
		err = thread_killed(current) ? -EINTR : fault_once(&f);
	while (err == RETRY);
	mutex_unlock(&mm->mmap_lock);
	hold_page(&f, NULL);
	return err;
}

int mm_populate(struct mm *mm, u64 start, u64 end)
{
	struct vm_area *vma;
	int err = 0;
	u32 access;

	for (; start < end && !err; start += PAGE_SIZE) {
		mutex_lock(&mm->mmap_lock);
		vma = find_vma(mm, start);
		access = vma && (vma->flags & VMA_WRITE) ? FAULT_WRITE : 0;
		mutex_unlock(&mm->mmap_lock);
		err = handle_mm_fault(mm, start, access);
	}
	return err;
}

int mm_futex_key(struct mm *mm, u64 addr, struct futex_key *key)
{
	struct vm_area *vma;

	mutex_guard(&mm->mmap_lock);
	vma = find_vma(mm, addr);
	if (!vma)
		return -EFAULT;
	*key = (struct futex_key){(u64)mm, addr};
	if (vma->flags & VMA_SHARED) {
		key->space = (u64)vma->object;
		key->offset = (object_index(vma, addr) << PAGE_SHIFT) + addr % PAGE_SIZE;
	}
	return 0;
}

/* ---- From the trap --------------------------------------------------------------------------- */

static void report_user_fault(struct trap_frame *tf, u64 addr, int err)
{
	const char *access = tf->error & PF_FETCH ? "execute" :
			     tf->error & PF_WRITE ? "write" :
						    "read";
	const char *fmt = "bus error: the pager could not supply the page to %s (error %d)";
	char what[96];
	int signal = SIGBUS;

	if (err == -EINTR) /* already on its way out */
		return;
	if (err == -EFAULT) {
		signal = SIGSEGV;
		fmt = addr < USER_END ? "segmentation fault: no right to %s" :
					"segmentation fault: no right to %s a kernel address";
	} else if (err == -ENOMEM) {
		signal = SIGKILL;
		fmt = "no memory for a page to %s";
	} else if (err == -ENXIO) {
		fmt = "bus error: %s past the end of the mapped file";
	}
	snprintf(what, sizeof(what), fmt, access, -err);
	task_fault(tf, what, addr, signal);
}

static u32 fault_access(const struct trap_frame *tf)
{
	return (tf->error & PF_WRITE ? FAULT_WRITE : 0) | (tf->error & PF_FETCH ? FAULT_EXEC : 0);
}

/* The kernel touches user memory only with AC set (STAC); anything else is a wild pointer. */
static bool is_user_copy(const struct trap_frame *tf, u64 addr)
{
	bool smap = read_cr4() & CR4_SMAP;

	return addr < USER_END && (!smap || (tf->rflags & RFLAGS_AC)) && !(tf->error & PF_FETCH) &&
	       may_sleep();
}

bool do_page_fault(struct trap_frame *tf, u64 addr)
{
	struct mm *mm = current->mm;
	int err;

	count_vm_event(pgfault);
	this_cpu_add64(stat.page_faults, 1);
	if (tf->error & PF_RSVD)
		return false;
	if (!trap_from_user(tf))
		return mm && is_user_copy(tf, addr) &&
		       handle_mm_fault(mm, addr, fault_access(tf)) == 0;
	/*
	 * User mode at work, but the access is the CPU's own: no right of the page will ever allow it, and
	 * the same fault would come for ever. (QEMU with SMAP does so for a user's IRET and far RET.)
	 */
	if (!(tf->error & PF_USER)) {
		task_fault(tf, "segmentation fault: a supervisor access in user mode", addr, SIGSEGV);
		return true;
	}
	err = handle_mm_fault(mm, addr, fault_access(tf));
	if (err)
		report_user_fault(tf, addr, err);
	return true;
}
