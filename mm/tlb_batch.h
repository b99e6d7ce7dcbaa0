/*
 * tlb_batch.h - the page-of-PFNs flush batch: gather, flush once, complete.
 *
 * Reclaim clears a page's PTEs and takes the frame out of the page cache, but cannot free it: CPUs
 * may still hold translations. Instead the batch takes it over:
 *
 *   try_to_unmap -> tlb_ubc_gather(cpus)   the CPUs that may hold a translation
 *   page_cache_remove -> tlb_ubc_add_frame the frame, now owned by the batch: in limbo
 *   ... more pages, over many scan rounds ...
 *   try_to_unmap_flush                     one round of IPIs, then all frames are freed in one step
 *
 * So nothing is freed before its flush, by construction. A frame in limbo is in no list and in no
 * page table; a refault of its contents gets another frame. The batch belongs to a thread; its page
 * is allocated when first needed without sleeping, and if that fails every unmap sends its own
 * IPIs. A dirty page is flushed before its page-out starts, a clean one can wait: a write through a
 * clean entry must walk the tables to set D and finds the PTE gone (Intel SDM vol. 3, 4.8).
 *
 * Source: Mel Gorman, "mm: Gather more PFNs before sending a TLB to flush unmapped pages", 2015.
 */
#pragma once

#include "user/abi.h"
#include "kernel/cpumask.h"
#include "kernel/types.h"

struct page;
struct thread;

struct tlbflush_unmap_batch {
	cpumask_t cpumask; /* CPUs that may hold any gathered translation */
	u32 nr_pages;      /* frames owned */
	u8 writable;       /* some gathered PTE was dirty: flush before any I/O or copy starts */
	u8 flush_required;
	u16 reason;        /* enum tlb_reason of the last gather: reclaim, migration */
	u64 pfns[];
};

#define BATCH_TLBFLUSH_SIZE ((PAGE_SIZE - sizeof(struct tlbflush_unmap_batch)) / sizeof(u64))

_Static_assert(sizeof(struct tlbflush_unmap_batch) + BATCH_TLBFLUSH_SIZE * sizeof(u64) == PAGE_SIZE,
	       "a batch fills exactly one page");

/* The policies: one code path, different capacities. */
struct tlb_policy {
	const char *name;
	u32 capacity;    /* frames gathered before a flush */
	bool each_round; /* flush at the end of each scan round */
};

extern const struct tlb_policy *tlb_policy;

/* Select by name, at boot (tlb=) or while everything runs. -EINVAL for an unknown name. */
int tlb_policy_set(const char *name);
/* Read tlb= from the command line. Boot only. */
void tlb_batch_init(void);

/*
 * CPUs may hold a translation of a page that was just unmapped. Joins the current thread's batch;
 * without a batch it flushes at once. Context: no spinlock held, interrupts on.
 */
void tlb_ubc_gather(cpumask_t cpus, bool dirty, enum tlb_reason reason);
/*
 * The batch takes over an unmapped frame that nobody else refers to (reference count 0). Flushes
 * when the policy's capacity is reached. Context: as above. Returns frames freed by that.
 */
unsigned tlb_ubc_add_frame(struct page *page);
/* Flush if anything is gathered, then free the frames in limbo; how many. Context: as above. */
unsigned try_to_unmap_flush(void);
/* Flush only if a dirty PTE was gathered: before I/O on a page of this batch. */
unsigned try_to_unmap_flush_dirty(void);
/*
 * How many frames the batch takes before it flushes. A scan round of at most that many pages ends
 * with the batch empty or not yet full, so a reclaimer that has freed enough finds a boundary.
 */
unsigned tlb_ubc_room(void);
/* End of a scan round. */
unsigned tlb_ubc_end_of_round(void);

/* Nothing gathered by this thread: it may exit, sleep for long, return to user mode. */
bool tlb_ubc_empty(const struct thread *thread);
/*
 * Free the thread's batch page, if it has one; it must be empty. When a thread ends, and when a
 * user's thread has done reclaim, compaction or a move: it keeps no page for its next time.
 */
void tlb_ubc_release(struct thread *thread);

u64 limbo_pages(void);
