/*
 * mm.h - address spaces: what user addresses mean, and who may change that.
 *
 * mmap_lock (a mutex) guards the list of VMAs and the shape of the page tables; ptl (a spinlock)
 * guards the PTEs and the counts that go with them. The list changes, and a table goes, under both:
 * a walk is safe under either. A fault holds mmap_lock, but not while it waits
 * for a pager. Reclaim holds only the ptl. A VMA is reachable through its object's list of mappings
 * too, under the object's lock: it is taken off there before it changes shape or goes away.
 */
#pragma once

#include "arch/layout.h"
#include "kernel/cpumask.h"
#include "kernel/list.h"
#include "kernel/mutex.h"
#include "mm/page.h"

struct vm_object;
struct file;

#define VMA_READ   1u /* Linux's PROT_ bits */
#define VMA_WRITE  2u
#define VMA_EXEC   4u
#define VMA_PROT   7u
#define VMA_SHARED 8u
#define VMA_LOCKED 16u /* populated, never reclaimed */
#define VMA_MAYWRITE 32u /* mprotect may add VMA_WRITE */
#define VMA_HUGE 64u     /* 2 MiB mappings are welcome */

struct mm {
	/* Constant. */
	u64 *pml4;
	u64 cr3;
	u64 id;
	bool pinned; /* every VMA is VMA_LOCKED: servers */
	/* Atomic. */
	u32 users;
	u64 tlb_gen;       /* counts changes that need a flush */
	cpumask_t cpumask; /* CPUs whose CR3 points here, lazily or not */
	/* Under mmap_lock. */
	struct mutex mmap_lock;
	struct list_head vmas; /* by address, never overlapping */
	u64 brk_start, brk;
	bool lock_future; /* mlockall(MCL_FUTURE) */
	/* Under ptl. */
	spinlock_t ptl;
	u64 rss_pages;
	u64 nr_vmas; /* and, like the list itself, under mmap_lock */
	u64 tlb_batched_pending, tlb_batched_flushed; /* see flush_tlb_batched_pending */
	/* The sanitizer's: generation and sequence number when a batch last gathered from here. */
	u64 tlbsan_gathered, tlbsan_gathered_seq, tlbsan_last_seq; /* the last stale entry's */
};

struct vm_area {
	struct mm *mm;
	u64 start, end; /* page aligned */
	u32 flags;
	struct list_head node; /* in mm->vmas */
	/* What it shows: pages of object from pgoff on; NULL for private anonymous memory. */
	struct vm_object *object;
	u64 pgoff;
	struct list_head object_node;
	struct file *file; /* stays open as long as it is mapped; may be NULL */
	/* Private pages: the object that groups VMAs descended by fork; NULL if never writable. */
	struct vm_object *anon;
	u64 anon_pgoff;
	struct list_head anon_node;
};

extern struct mm init_mm; /* the kernel's own: no user half */

static inline u64 vma_pages(const struct vm_area *vma)
{
	return (vma->end - vma->start) >> PAGE_SHIFT;
}

/* Where a VMA that shows an object from pgoff on has page `index` of it; 0: nowhere. */
static inline u64 vma_address(const struct vm_area *vma, u64 pgoff, u64 index)
{
	return index >= pgoff && index - pgoff < vma_pages(vma) ?
		       vma->start + ((index - pgoff) << PAGE_SHIFT) :
		       0;
}

/* Boot only. */
void init_mm_setup(void);

/* ---- Life ---------------------------------------------------------------------------------- */

/* An empty address space with one user; NULL when memory is short. */
struct mm *mm_create(bool pinned);
/* One more user. Context: the caller is one. */
struct mm *mm_get(struct mm *mm);
/* The last user unmaps all, frees the tables. May sleep; not this CPU's current. NULL: nothing. */
void mm_put(struct mm *mm);
/* fork: copy parent's VMAs; private pages are shared copy-on-write. -ENOMEM, -EINTR. Sleeps. */
int mm_fork(struct mm *child, struct mm *parent);
/* This thread's address space becomes next (may be NULL), dropping nothing. */
void mm_switch_current(struct mm *next);
/*
 * Frames that would come back, all in all, if the address space and what only it holds went away:
 * mapped pages, page tables, areas, and the cached pages of objects that cost others' memory
 * (object_footprint), mapped now or not. Any context that may take the ptl.
 */
u64 mm_footprint(struct mm *mm);

/* ---- Mapping (mmap.c); all take mmap_lock ---------------------------------------------------- */

enum map_how {
	MAP_NEAR,    /* at addr if that place is free, else anywhere */
	MAP_REPLACE, /* there, in place of what is there */
	MAP_IF_FREE, /* there, or -EEXIST */
};

/*
 * Map len bytes of object from pgoff on (NULL: anonymous). Takes its own references on object and
 * file (may be NULL: it only keeps the file open). Returns the address; -EINVAL, -ENOMEM; -EPERM:
 * below USER_BASE; -EOVERFLOW: the part of the file would end past 2^63 - 1.
 */
s64 mm_map(struct mm *mm, u64 addr, u64 len, u32 flags, struct vm_object *object, u64 pgoff,
	   struct file *file, enum map_how how);
/* Addresses and lengths may be anything: the errors are those of Linux's calls of these names. */
int mm_unmap(struct mm *mm, u64 start, u64 len);
int mm_protect(struct mm *mm, u64 start, u64 len, u32 prot);
/* madvise(MADV_DONTNEED): drop pages, keep the mapping. -ENOMEM: done, but there was a hole. */
int mm_discard(struct mm *mm, u64 start, u64 len);
/* madvise(MADV_HUGEPAGE, MADV_NOHUGEPAGE): for pages that come from here on. -ENOMEM as above. */
int mm_advise_huge(struct mm *mm, u64 start, u64 len, bool huge);
/* Move the break; returns where it is now. */
u64 mm_brk(struct mm *mm, u64 brk);
/* mlockall: lock and populate what is there (now), and what will be (future). */
int mm_lock_all(struct mm *mm, bool now, bool future);

/* The VMA that contains addr, or NULL. Context: mmap_lock held. */
struct vm_area *find_vma(struct mm *mm, u64 addr);

/* What a PTE of this area may give: PROT_NONE keeps the page from user mode. */
u64 vma_pte_bits(const struct vm_area *vma, bool writable);

/* ---- Pages (mmap.c, fault.c) ----------------------------------------------------------------- */

/* Clear PTEs in [start, end), flush, then free. Context: mmap_lock held or no other user. */
void zap_range(struct mm *mm, u64 start, u64 end);

#define FAULT_WRITE 1u
#define FAULT_EXEC  2u
/*
 * Make addr accessible. 0; -EFAULT no such right; -EIO the pager failed or the page is past the
 * object's end; -ENOMEM; -EINTR killed. May sleep, no mmap_lock held.
 */
int handle_mm_fault(struct mm *mm, u64 addr, u32 access);
/* Fault in a whole range (already mapped). 0 or the first error. */
int mm_populate(struct mm *mm, u64 start, u64 end);

/*
 * A key for futexes: equal for all mappings of the same word. Shared mappings: the object and the
 * offset in it; private: the address space and the address. -EFAULT.
 */
struct futex_key {
	u64 space, offset;
};
int mm_futex_key(struct mm *mm, u64 addr, struct futex_key *key);
