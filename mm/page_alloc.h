/*
 * page_alloc.h - frames for everybody: watermarks, poison, and what happens when memory is short.
 *
 * Above the low watermark an allocation just succeeds. Below it the background reclaimer is woken;
 * below min only threads that free memory themselves (PF_MEMALLOC) get frames, others reclaim
 * first; when that finds nothing they have lazily freed kernel addresses flushed, wait a moment for
 * kpageout (mm/foreign.h), and at last have a process ended (mm/oom.h). The watermarks are of the
 * whole machine; of several nodes (mm/node.h) this CPU's is asked first.
 */
#pragma once

#include "kernel/types.h"
#include "mm/page.h"

#define GFP_KERNEL 0u /* may sleep and reclaim */
#define GFP_NOWAIT 1u /* never sleeps, never reclaims; may fail */
#define GFP_ZERO   2u /* zeroed */
#define GFP_HUGE   4u /* may sleep and compact once; nobody is asked to give up pages for it */

#define PAGE_POISON 0x6b6b6b6b6b6b6b6bULL /* fills free frames */

struct watermarks {
	u64 min, low, high; /* pages */
};

extern struct watermarks watermarks;
extern u64 mem_total_pages; /* managed frames */
extern u64 mem_boot_pages;  /* RAM in the firmware's map */

/* 2^order frames, reference count 1, or NULL. GFP_KERNEL: may sleep, no spinlock held. */
struct page *alloc_pages(unsigned order, u32 gfp);
/*
 * The same, of that node only. Never sleeps or reclaims: NULL when the node has none, or when all
 * nodes together have less than what makes others reclaim or end a process, with some to spare.
 */
struct page *alloc_pages_node(unsigned node, unsigned order, u32 gfp);
/*
 * Back to the allocator of its node at once: reference count must be 0 or 1 and nothing may map it.
 */
void free_pages(struct page *page, unsigned order);

/* Drop a reference; the last one frees the page (and takes it off its LRU list). */
void put_page(struct page *page);

/* Kernel memory, zeroed, as a direct-map address; NULL when short. Context: may sleep, or boot. */
void *kpage_alloc(unsigned order);
void kpage_free(void *address, unsigned order);

u64 nr_free_pages(void);
u64 nr_free_pages_node(unsigned node);
/* Free blocks of at least that order. */
u64 nr_free_blocks(unsigned order);
/*
 * Take the free frames of [start, end) out of the allocator, each with one reference, except those
 * in free blocks of `whole` or larger. Returns how many. Any context that may take the allocator's
 * lock.
 */
u64 isolate_free_frames(u64 start, u64 end, unsigned whole, struct list_head *to);

/* A frame leaves the early boot allocator for this one. Boot only. */
void free_boot_range(u64 start_pfn, u64 end_pfn);
/* Compute the watermarks; from here on allocations obey them. Boot only. */
void page_alloc_ready(void);
