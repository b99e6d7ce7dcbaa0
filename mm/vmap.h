/* vmap.h - areas of kernel addresses, between vmalloc.c, vmap_block.c and vmap_purge.c. */
#pragma once

#include "kernel/llist.h"
#include "kernel/lock.h"
#include "mm/vmap_tree.h"

enum vmap_state {
	VMAP_BUSY,
	VMAP_LAZY, /* unmapped, may be in TLBs */
	VMAP_POOL, /* flushed, kept for the next area of this size */
};

struct vmap_area {
	struct vmap_node node;  /* under vmap_area_lock; its end includes the guard page */
	struct llist_node lazy; /* of a lazy list or a pool */
	struct vmap_block *block; /* of vm_map_ram, or NULL */
	u32 state;              /* enum vmap_state; its owner's */
	bool owns_frames;       /* vmalloc's, not the caller's */
	bool held;              /* they are kept until the flush */
};

/* The tree. Taken by whoever needs an area for a few instructions; a purge may hold it longer. */
extern spinlock_t vmap_area_lock;
extern struct vmap_tree vmap_areas;

static inline u64 vmap_pages(const struct vmap_area *area)
{
	return (area->node.end - area->node.start) >> PAGE_SHIFT;
}

static inline struct vmap_area *vmap_area_of(struct llist_node *node)
{
	return llist_entry(node, struct vmap_area, lazy);
}

/* Addresses for `bytes`, not mapped; NULL: none, or no memory. May purge. Context: may sleep. */
struct vmap_area *alloc_vmap_area(u64 bytes, u64 align);
/* The area that starts at addr, which must be busy. */
struct vmap_area *find_vmap_area(const void *addr);
/* Clear the PTEs and leave the rest to a purge. Context: may sleep. */
void free_vmap_area_lazy(struct vmap_area *area);
/* Clear the PTEs of [start, end). held: leave the frames' numbers in them. */
void vmap_unmap_range(u64 start, u64 end, bool held, bool free_frames);
bool vmap_map_range(u64 start, struct page **pages, unsigned count);
/* The frames that vmap_unmap_range(held) left. After the flush. */
void vmap_free_held(u64 start, u64 end);

/* A lazy area joins the backlog. */
void purge_queue(struct vmap_area *area);
/* Purge if the backlog is over its limit and nobody else is at it. Context: may sleep. */
void purge_if_many(void);
/* Somebody needs addresses: purge what waits, and take back what pools keep. */
void purge_vmap_area_lazy(void);
void purge_init(void);
bool purge_keeps_pools(void);
/* Flushed, and now its addresses are nobody's. Context: vmap_area_lock held. */
void free_vmap_area(struct vmap_area *area);

/* vmap_pool.c. Keep a flushed area for this CPU; false: not this one. */
bool vmap_pool_put(struct vmap_area *area);
/* One of that size from this CPU's pool, or NULL. */
struct vmap_area *vmap_pool_get(u64 bytes);
void vmap_pools_drain(void);
void vmap_pool_init(void);

void vmap_block_init(void);
/*
 * Blocks in which nothing is mapped any more go the lazy way; of the others, what was unmapped is
 * added to [*start, *end) and forgotten: the caller is about to flush it.
 */
void vmap_blocks_dirty(u64 *start, u64 *end);
