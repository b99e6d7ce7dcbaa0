/*
 * object.h - memory objects and the page cache.
 *
 * An object is a numbered sequence of pages that mappings show windows of. Its pages come from an
 * external pager (a server that answers PAGER_PAGE_IN), from nowhere (zero-filled, shared between
 * processes) or from the boot archive. Private anonymous memory has an object too, which holds no
 * pages: it only connects the VMAs that may map a page, for the reverse map.
 *
 * The page cache is one hash table from (object, index) to page; a stripe lock covers a set of
 * chains. A cached page is removed only under its page lock.
 */
#pragma once

#include "kernel/list.h"
#include "kernel/mutex.h"
#include "mm/page.h"

struct endpoint;

enum object_kind {
	OBJECT_ANON,  /* private anonymous memory: no cache */
	OBJECT_SHMEM, /* shared anonymous memory: zero-filled, not reclaimed */
	OBJECT_PAGED, /* an external pager supplies and takes back pages */
	OBJECT_BOOT,  /* pages of a boot module */
};

/* May somebody write an object's pages? See object_make_writable. */
enum object_written {
	NEVER_WRITTEN,
	FLUSH_OWED, /* yes, but what reclaim took while nobody could may not be flushed yet */
	MAY_BE_WRITTEN,
};

struct vm_object {
	/* Constant. */
	enum object_kind kind;
	struct endpoint *pager;
	u64 cookie; /* the pager's name for it */
	bool foreign; /* its pager is no pinned server: nobody but its users ever waits for it */
	/* Atomic. */
	u32 refcount;
	u32 written; /* enum object_written */
	u64 size;    /* bytes; shrinks only in object_resize */
	u64 nr_pages; /* in the cache */
	/* Under lock. */
	spinlock_t lock;
	struct list_head mappings; /* VMAs, by object_node or anon_node (kind ANON) */
	/* Files: one write by system call, or change of size, at a time (Linux: i_rwsem). */
	struct mutex write_lock;
	u64 growing_from; /* a write in progress fills what lies behind; ~0: there is none */
};

/* Boot: the hash table, sized by memory. alloc returns zeroed physical memory. */
void page_cache_init(u64 (*alloc)(u64 bytes));

/* A new object with one reference; takes its own on pager. NULL when memory is short. */
struct vm_object *object_create(enum object_kind kind, struct endpoint *pager, u64 cookie, u64 size);
/* Both take NULL too; get returns its argument. */
struct vm_object *object_get(struct vm_object *object);
/* From a page of its cache, locked: false when the object is going away and waits for that lock. */
bool object_get_unless_zero(struct vm_object *object);
/* The last reference drops all cached pages. Context: may sleep if the object has a cache. */
void object_put(struct vm_object *object);

static inline u64 object_nr_pages(const struct vm_object *object)
{
	return (READ_ONCE(object->size) + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

/*
 * Frames it keeps that reclaim alone cannot take back: shared anonymous pages, and those whose pager
 * is an ordinary program. A server's files cost nobody anything.
 */
static inline u64 object_footprint(const struct vm_object *object)
{
	return object->kind == OBJECT_SHMEM || object->foreign ? READ_ONCE(object->nr_pages) : 0;
}

/*
 * The page at index, up to date, with a reference. Asks the pager if need be. Errors: -ENXIO past
 * the end, -EIO from the pager or because it is gone, -ENOMEM, -EINTR when killed; then *page is
 * what it was. Context: may sleep; no mmap lock of the pager's own address space held.
 */
int object_get_page(struct vm_object *object, u64 index, struct page **page);
/* Only what is cached: a reference, or NULL. */
struct page *page_cache_find(struct vm_object *object, u64 index);
/* Add a page (the cache takes a reference). -EEXIST. */
int page_cache_add(struct vm_object *object, u64 index, struct page *page);
/*
 * Remove a locked page if exactly `refs` references exist and it is clean; the cache's own is
 * dropped (so refs - 1 are left). false: somebody else uses it or has written it, nothing changed.
 * The count is frozen first and PG_dirty looked at then: before the freeze anybody may fault the
 * page in, store and unmap it again. (Linux: __remove_mapping, for the same reason.)
 */
bool page_cache_remove(struct page *page, u32 refs);
/*
 * The holder of the page lock is going to wait for the pager, and holds a reference on the object:
 * the pager, should it want the page meanwhile, does not wait for the lock. Ends with the flag.
 */
void page_begin_io(struct page *page);
/*
 * After waiting for the pager: if the object has shrunk meanwhile, the page is unmapped, flushed
 * and goes, or its bytes past the end are zero. Context: page locked, may sleep, the thread's batch
 * empty.
 */
void page_trim(struct page *page);
/*
 * A locked page that nothing maps leaves the cache, dirty or not; who else holds a reference keeps
 * the frame, not the identity.
 */
void page_cache_evict(struct page *page);
/*
 * Call drop for every cached page of the object at or past index `first`; what drop leaves in the
 * cache is passed over. May sleep.
 */
void page_cache_sweep(struct vm_object *object, u64 first,
		      void (*drop)(struct vm_object *object, struct page *page));
/*
 * Before the first writable mapping or write. A frame in limbo may still be read through old
 * translations while a refault shows the same page in a new frame; harmless while nobody can write
 * the new one. From here on reclaim flushes this object's pages before they leave the cache; what
 * is in limbo already has been flushed when this returns, to every caller. May sleep, no spinlock
 * held.
 */
void object_make_writable(struct vm_object *object);
/*
 * Change the size. Pages past a smaller end are unmapped, flushed and dropped, private copies of
 * them too; bytes of the last page past the end are zero, before it shrinks and before it grows.
 * One caller at a time. May sleep.
 */
void object_resize(struct vm_object *object, u64 size);
/* Drop the cached pages from index `first` on. May sleep. */
void object_drop_pages(struct vm_object *object, u64 first);
/*
 * Copy between an object and kernel memory, paging in; writing marks pages dirty. 0, or the errors
 * of object_get_page: -ENXIO also when the object shrinks under a write.
 */
int object_copy(struct vm_object *object, u64 offset, void *buf, size_t len, bool write);

/* The page lock. Context: may sleep. -EINTR when killed. */
int lock_page_killable(struct page *page);
void lock_page(struct page *page);
bool trylock_page(struct page *page);
/*
 * Locked, unless its holder waits for the pager, now or while we wait: then false, and the page has
 * the mark (PG_ flags), which that holder finds afterwards: we mark, then look for PG_io, and the
 * holder takes PG_io back, then looks for the mark.
 */
bool lock_page_unless_io(struct page *page, u32 mark);
void unlock_page(struct page *page);
/* Where its waiters sleep. */
struct wait_queue *page_waitq(const struct page *page);
/*
 * `now` takes the place of `old` in the cache, and its flags; both locked. false: others refer to
 * `old` besides the cache and the caller, nothing changed. Afterwards the caller's is the only
 * reference to `old`. The flags are copied after the count was frozen, as in page_cache_remove.
 */
bool page_cache_replace(struct page *old, struct page *now);
