/*
 * tlbsan_shadow.h - stale entries, between tlbsan.c, which keeps them, and tlbsan_rules.c, which asks
 * what they break. All under the shadow's lock.
 */
#pragma once

#include "kernel/cpumask.h"
#include "kernel/thread.h"

#define NR_CALLERS 4

struct stale_entry {
	u64 pfn, va, seq;
	struct mm *mm;  /* NULL: kernel addresses */
	struct vm_object *object; /* what the frame showed: a page of a file; NULL otherwise */
	u64 index;
	cpumask_t cpus; /* that may hold it, full flushes since seq not counted */
	u64 gen;        /* if a batch gathered it: the generation that goes with it; else 0 */
	u64 queued;     /* kernel addresses: since then a purge must flush it; 0: not queued yet */
	bool trusted;   /* its frame may be another's already */
	bool writes;    /* W and D were set: a CPU can write the frame without a walk */
	u32 next_pfn, next_va, next_page;
	u64 callers[NR_CALLERS];
	char thread[THREAD_NAME_LEN];
};

#define SHADOW_PER_PAGE ((u32)(PAGE_SIZE / sizeof(struct stale_entry)))

extern struct stale_entry **shadow_pages; /* the pool; its first entry is not used */
extern u32 shadow_size;                   /* entries there are; grows */
extern u32 shadow_used;                   /* entries that have been in use: [1, shadow_used) */

static inline struct stale_entry *shadow_at(u32 index)
{
	return &shadow_pages[index / SHADOW_PER_PAGE][index % SHADOW_PER_PAGE];
}

/* The innermost lock of the kernel, interrupts off. Any context. */
u64 shadow_lock(void);
void shadow_unlock(u64 flags);

/* Chains, by next_pfn, next_va and next_page; 0 ends them. Others are on the same chain. */
u32 *shadow_by_pfn(u64 pfn);
u32 *shadow_by_va(const struct mm *mm, u64 va);
u32 *shadow_by_page(const struct vm_object *object, u64 index);

/* CPUs that may still hold it: those that have not flushed everything since. */
cpumask_t shadow_holders(const struct stale_entry *e);
/* This CPU has dropped all its entries of user addresses since that event. */
bool shadow_flushed_since(unsigned cpu, u64 seq);
void shadow_drop(u32 index);
/* fn(e, arg) for every entry of mm (NULL: the kernel's) with an address in [start, end). */
void shadow_each_in(const struct mm *mm, u64 start, u64 end,
		    void (*fn)(struct stale_entry *e, u64 arg), u64 arg);
