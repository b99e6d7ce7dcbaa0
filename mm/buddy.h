/*
 * buddy.h - the binary buddy system: free blocks of 2^order frames, split and merged by address.
 *
 * A pure data structure: no locks, no policy; page_alloc.c adds both. A block of order n starts at
 * a frame number that is a multiple of 2^n; its buddy differs in bit n only. (Knowlton 1965.)
 */
#pragma once

#include "kernel/list.h"
#include "kernel/types.h"
#include "mm/page.h"

#define MAX_ORDER 10 /* largest block: 4 MiB */

struct buddy {
	unsigned node; /* whose frames; no block reaches into another's */
	u64 nr_free;   /* frames */
	u64 nr_blocks[MAX_ORDER + 1];
	struct list_head free[MAX_ORDER + 1];
};

void buddy_init(struct buddy *buddy, unsigned node);
/* Give back 2^order frames of this node from pfn on, merging with free buddies. */
void buddy_free(struct buddy *buddy, u64 pfn, unsigned order);
/* Take that free block, which starts at page; its frames are the caller's. */
void buddy_take(struct buddy *buddy, struct page *page);
/* How many free blocks of at least that order there are. */
u64 buddy_blocks(const struct buddy *buddy, unsigned order);
/* The lowest-order block that serves, split as needed; NULL when there is none. */
struct page *buddy_alloc(struct buddy *buddy, unsigned order);
