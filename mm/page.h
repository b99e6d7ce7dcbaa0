/*
 * page.h - the descriptor every page frame has.
 *
 * Reference count: one for being in the page cache, one per PTE that maps the page, one per thread
 * that works on it at the moment. At zero the frame goes back to the buddy allocator, except a
 * frame that reclaim froze at zero and gave to a flush batch: that one is in limbo (PG_limbo) until
 * the flush has been acknowledged.
 */
#pragma once

#include "arch/atomic.h"
#include "kernel/list.h"
#include "kernel/log.h"
#include "kernel/types.h"

struct vm_object;

enum page_flag {
	PG_buddy = 1u << 0,    /* free, head of a block of `order` */
	PG_reserved = 1u << 1, /* not the allocator's: firmware, kernel image, boot modules */
	PG_locked = 1u << 2,   /* the page lock: contents and identity do not change */
	PG_uptodate = 1u << 3, /* contents are valid */
	PG_dirty = 1u << 4,    /* newer than what the pager has */
	PG_active = 1u << 6,
	PG_lru = 1u << 7, /* on an LRU list; changed under the LRU lock */
	PG_anon = 1u << 8,
	PG_unevictable = 1u << 9, /* never reclaimed: servers' memory, boot modules */
	PG_slab = 1u << 10,
	PG_limbo = 1u << 11, /* owned by a flush batch */
	PG_waiters = 1u << 12, /* somebody sleeps for the page lock */
	PG_io = 1u << 13, /* locked by a thread that waits for the pager */
	PG_truncated = 1u << 14, /* lost its place in the file meanwhile: that thread evicts it */
};

/* What a page's new frame takes over when it is moved (mm/migrate.h). */
#define PG_MOVES_ALONG ((u32)(PG_anon | PG_dirty | PG_active | PG_unevictable))

struct page {
	u32 flags; /* atomic */
	u32 refcount; /* atomic */
	u32 mapcount; /* atomic: PTEs that map it */
	u16 order;    /* of a free block; of a slab: its class */
	union {
		u16 inuse; /* slab: objects handed out */
		u16 failed_pageouts; /* of a file: in a row; under page lock */
	};
	struct list_head lru; /* free list, LRU list or a private list of its isolator */
	struct vm_object *object; /* cache or anonymous object; changed under page lock + hash stripe */
	u64 index; /* page offset in object; anonymous: linear page of the first mapping */
	struct page *hash_next; /* page cache chain; slab: first free object */
};

_Static_assert(sizeof(struct page) <= 64, "a page descriptor is at most one cache line");

extern struct page *mem_map; /* descriptor of frame 0 */
extern u64 max_pfn;          /* one past the last frame with a descriptor */

static inline u64 page_to_pfn(const struct page *page)
{
	return (u64)(page - mem_map);
}

static inline struct page *pfn_to_page(u64 pfn)
{
	return &mem_map[pfn];
}

static inline bool pfn_valid(u64 pfn)
{
	return pfn < max_pfn;
}

static inline u64 page_to_phys(const struct page *page)
{
	return page_to_pfn(page) << PAGE_SHIFT;
}

static inline bool page_test(const struct page *page, u32 flag)
{
	return load_acquire(&page->flags) & flag;
}

static inline void page_set(struct page *page, u32 flag)
{
	(void)atomic_fetch_or(&page->flags, flag);
}

static inline void page_clear(struct page *page, u32 flag)
{
	(void)atomic_fetch_and(&page->flags, ~flag);
}

static inline bool page_test_clear(struct page *page, u32 flag)
{
	return atomic_fetch_and(&page->flags, ~flag) & flag;
}

static inline bool page_test_set(struct page *page, u32 flag)
{
	return atomic_fetch_or(&page->flags, flag) & flag;
}

static inline u32 page_refs(const struct page *page)
{
	return load_acquire(&page->refcount);
}

static inline u32 page_mapcount(const struct page *page)
{
	return load_acquire(&page->mapcount);
}

/* Its contents are the file's: up to date, and not truncated away. */
static inline bool page_is_current(const struct page *page)
{
	return (load_acquire(&page->flags) & (PG_uptodate | PG_truncated)) == PG_uptodate;
}

/* Another reference; the caller has one, or holds a lock that keeps one alive. */
static inline void get_page(struct page *page)
{
	ASSERT(page_refs(page) > 0, "frame %lx is taken while nobody has it", page_to_pfn(page));
	atomic_inc(&page->refcount);
}
