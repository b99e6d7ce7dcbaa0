/* object.c - memory objects, the page cache and the page lock (see object.h). */
#include "mm/object.h"
#include "user/abi.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "mm/foreign.h"
#include "mm/lru.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/slab.h"
#include "mm/tlb.h"

#define NR_STRIPES     64
#define NR_PAGE_WAITQS 64

static const struct lock_class hash_class = {"page cache", RANK_PAGE_HASH, false};
static const struct lock_class object_class = {"object", RANK_OBJECT, false};
static const struct lock_class write_class = {"file write", RANK_WRITE, false};

static struct page **hash;
static u64 hash_size; /* chains, a power of two */
static spinlock_t stripes[NR_STRIPES];
static struct wait_queue page_waitqs[NR_PAGE_WAITQS];

void page_cache_init(u64 (*alloc)(u64 bytes))
{
	int i;

	for (hash_size = NR_STRIPES; hash_size < max_pfn / 2; hash_size *= 2)
		;
	hash = phys_to_virt(alloc(hash_size * sizeof(struct page *)));
	for (i = 0; i < NR_STRIPES; i++)
		spin_init(&stripes[i], &hash_class);
	for (i = 0; i < NR_PAGE_WAITQS; i++)
		wait_queue_init(&page_waitqs[i]);
}

/* ---- The page lock ------------------------------------------------------------------------ */

struct wait_queue *page_waitq(const struct page *page)
{
	return &page_waitqs[page_to_pfn(page) % NR_PAGE_WAITQS];
}

bool trylock_page(struct page *page)
{
	return !page_test_set(page, PG_locked);
}

/* Marks itself as a waiter first, so that the holder's unlock cannot miss it. */
static bool trylock_or_mark(struct page *page)
{
	page_set(page, PG_waiters);
	return trylock_page(page);
}

void lock_page(struct page *page)
{
	if (!trylock_page(page))
		wait_event(page_waitq(page), trylock_or_mark(page));
}

int lock_page_killable(struct page *page)
{
	if (trylock_page(page))
		return 0;
	return wait_event_killable(page_waitq(page), trylock_or_mark(page));
}

bool lock_page_unless_io(struct page *page, u32 mark)
{
	bool locked;

	do {
		wait_event(page_waitq(page),
			   (locked = trylock_or_mark(page)) || page_test(page, PG_io));
		if (!locked)
			page_set(page, mark);
	} while (!locked && !page_test(page, PG_io));
	return locked;
}

void page_begin_io(struct page *page)
{
	page_set(page, PG_io);
	wake_up_all(page_waitq(page));
}

void unlock_page(struct page *page)
{
	ASSERT(page_test(page, PG_locked), "frame %lx is not locked", page_to_pfn(page));
	page_clear(page, PG_locked);
	if (page_test_clear(page, PG_waiters))
		wake_up_all(page_waitq(page));
}

/* ---- The hash ------------------------------------------------------------------------------ */

static u64 hash_of(const struct vm_object *object, u64 index)
{
	u64 h = ((u64)object >> 5) * 0x9e3779b97f4a7c15ull + index;

	return (h ^ (h >> 29)) & (hash_size - 1);
}

static spinlock_t *stripe_of(u64 chain)
{
	return &stripes[chain % NR_STRIPES];
}

static struct page **find_link(u64 chain, const struct vm_object *object, u64 index)
{
	struct page **link = &hash[chain];

	while (*link && ((*link)->object != object || (*link)->index != index))
		link = &(*link)->hash_next;
	return link;
}

struct page *page_cache_find(struct vm_object *object, u64 index)
{
	u64 chain = hash_of(object, index);
	struct page *page;

	spin_guard(stripe_of(chain));
	page = *find_link(chain, object, index);
	if (page)
		get_page(page);
	return page;
}

int page_cache_add(struct vm_object *object, u64 index, struct page *page)
{
	u64 chain = hash_of(object, index);

	spin_guard(stripe_of(chain));
	if (*find_link(chain, object, index))
		return -EEXIST;
	get_page(page);
	page->object = object;
	page->index = index;
	page->hash_next = hash[chain];
	hash[chain] = page;
	atomic_inc(&object->nr_pages);
	if (object->foreign)
		foreign_page_added();
	return 0;
}

/* Context: the stripe lock of the chain held. */
static void unlink_page(struct page *page, u64 chain)
{
	struct page **link = find_link(chain, page->object, page->index);

	ASSERT(*link == page, "frame %lx is not in its chain", page_to_pfn(page));
	*link = page->hash_next;
	page->hash_next = NULL;
	atomic_dec(&page->object->nr_pages);
	if (page->object->foreign)
		foreign_page_gone();
	page->object = NULL;
}

/*
 * New references to a cached page come from a look-up under the stripe lock or from an existing
 * one, so with the lock held and the count as expected nobody else has the page, or can get it
 * until the lock is released. (Linux: page_ref_freeze.)
 */
static bool freeze_refs(struct page *page, u32 refs)
{
	return cmpxchg_bool(&page->refcount, refs, 0u);
}

bool page_cache_remove(struct page *page, u32 refs)
{
	u64 chain = hash_of(page->object, page->index);
	bool clean;

	ASSERT(page_test(page, PG_locked), "frame %lx leaves the cache unlocked",
	       page_to_pfn(page));
	spin_guard(stripe_of(chain));
	if (!freeze_refs(page, refs))
		return false;
	clean = !page_test(page, PG_dirty);
	if (clean)
		unlink_page(page, chain);
	store_release(&page->refcount, clean ? refs - 1 : refs);
	return clean;
}

bool page_cache_replace(struct page *old, struct page *now)
{
	u64 chain = hash_of(old->object, old->index);
	struct page **link;

	spin_guard(stripe_of(chain));
	if (!freeze_refs(old, 2))
		return false;
	page_set(now, old->flags & PG_MOVES_ALONG);
	link = find_link(chain, old->object, old->index);
	ASSERT(*link == old, "frame %lx is not in its chain", page_to_pfn(old));
	get_page(now);
	now->object = old->object;
	now->index = old->index;
	now->hash_next = old->hash_next;
	*link = now;
	old->hash_next = NULL;
	old->object = NULL;
	page_clear(old, PG_dirty); /* it is `now` that is newer than what the pager has */
	store_release(&old->refcount, 1u);
	return true;
}

/* The n-th page of a chain that belongs to object at or past `first`, with a reference. */
static struct page *nth_page_from(struct vm_object *object, u64 first, u64 chain, unsigned n)
{
	struct page *page;

	spin_guard(stripe_of(chain));
	for (page = hash[chain]; page; page = page->hash_next)
		if (page->object == object && page->index >= first && n-- == 0) {
			get_page(page);
			break;
		}
	return page;
}

/* The cache is indexed by page, not by object: one sweep over the chains, bounded by memory. */
void page_cache_sweep(struct vm_object *object, u64 first,
		      void (*drop)(struct vm_object *, struct page *))
{
	struct page *page;
	unsigned skipped;
	u64 chain;

	for (chain = 0; chain < hash_size && READ_ONCE(object->nr_pages); chain++) {
		skipped = 0;
		while (READ_ONCE(hash[chain]) &&
		       (page = nth_page_from(object, first, chain, skipped))) {
			drop(object, page);
			if (page->object == object)
				skipped++;
			put_page(page);
		}
	}
}

/* ---- Objects ------------------------------------------------------------------------------- */

struct vm_object *object_create(enum object_kind kind, struct endpoint *pager, u64 cookie, u64 size)
{
	struct vm_object *object = kzalloc(sizeof(*object));

	if (!object)
		return NULL;
	object->kind = kind;
	object->cookie = cookie;
	object->size = size;
	object->refcount = 1;
	object->pager = endpoint_get(pager);
	object->foreign = pager && !endpoint_trusted(pager);
	object->growing_from = ~0ull;
	spin_init(&object->lock, &object_class);
	mutex_init(&object->write_lock, &write_class);
	list_init(&object->mappings);
	return object;
}

bool object_get_unless_zero(struct vm_object *object)
{
	u32 refs = READ_ONCE(object->refcount);

	while (refs && !cmpxchg_bool(&object->refcount, refs, refs + 1))
		refs = READ_ONCE(object->refcount);
	return refs;
}

struct vm_object *object_get(struct vm_object *object)
{
	if (object)
		atomic_inc(&object->refcount);
	return object;
}

void page_cache_evict(struct page *page)
{
	u64 chain = hash_of(page->object, page->index);

	ASSERT(page_test(page, PG_locked) && !page_mapcount(page),
	       "frame %lx is evicted with flags %x and %u mappings", page_to_pfn(page), page->flags,
	       page_mapcount(page));
	spin_lock(stripe_of(chain));
	unlink_page(page, chain);
	page_clear(page, PG_dirty | PG_truncated);
	(void)atomic_sub_fetch(&page->refcount, 1); /* the cache's; the caller has one */
	spin_unlock(stripe_of(chain));
	lru_del_page(page);
}

void object_put(struct vm_object *object)
{
	if (!object || !atomic_dec_and_test(&object->refcount))
		return;
	ASSERT(list_empty(&object->mappings), "object %p ends while it is mapped", (void *)object);
	if (object->kind != OBJECT_ANON)
		object_drop_pages(object, 0);
	ASSERT(!object->nr_pages, "object %p ends with %lu pages in the cache", (void *)object,
	       object->nr_pages);
	endpoint_put(object->pager);
	kfree(object);
}

void object_make_writable(struct vm_object *object)
{
	if (object->kind != OBJECT_PAGED || load_acquire(&object->written) == MAY_BE_WRITTEN)
		return;
	(void)cmpxchg_bool(&object->written, (u32)NEVER_WRITTEN, (u32)FLUSH_OWED);
	SYNC_POINT(made_writable);
	/* Whoever comes before the flush is done does one too: none goes on without. */
	flush_tlb_cpus(READ_ONCE(cpu_online_mask), TLB_UNMAP);
	store_release(&object->written, (u32)MAY_BE_WRITTEN);
}

/* ---- Getting pages ------------------------------------------------------------------------- */

static int page_in(struct vm_object *object, u64 index, struct page *page)
{
	void *data = phys_to_virt(page_to_phys(page));
	int err;

	if (object->kind != OBJECT_PAGED) {
		memset(data, 0, PAGE_SIZE);
		page_set(page, PG_unevictable);
		return 0;
	}
	count_vm_event(pgmajfault);
	page_begin_io(page);
	err = ipc_page_in(object->pager, object->cookie, index, data);
	page_clear(page, PG_io);
	if (!err)
		count_vm_event(pgpgin);
	return err;
}

/* The page is in the cache and locked by us: others who want it wait for the lock. */
static int fill_page(struct vm_object *object, u64 index, struct page *page)
{
	int err = page_in(object, index, page);

	if (!err && index >= object_nr_pages(object))
		err = -ENXIO;
	else if (!err && page_test(page, PG_truncated))
		err = -EEXIST; /* what the pager sent is from before: ask again */
	if (err)
		page_cache_evict(page);
	else
		page_trim(page);
	if (!err && page->object != object)
		err = -ENXIO; /* it has shrunk just now */
	if (!err) {
		page_set(page, PG_uptodate);
		lru_add_page(page);
	}
	unlock_page(page);
	return err;
}

static int add_new_page(struct vm_object *object, u64 index, struct page **out)
{
	int err = object->foreign ? wait_for_foreign_room() : 0;
	struct page *page = err ? NULL : alloc_pages(0, GFP_KERNEL);

	if (err)
		return err;
	if (!page)
		return thread_killed(current) ? -EINTR : -ENOMEM;
	page_set(page, PG_locked);
	err = page_cache_add(object, index, page);
	if (err)
		unlock_page(page);
	else
		err = fill_page(object, index, page);
	if (err)
		put_page(page);
	else
		*out = page;
	return err;
}

/* Somebody else is paging it in: wait. -EEXIST: look again, it may have failed and gone. */
static int wait_for_page(struct page *page)
{
	if (lock_page_killable(page))
		return -EINTR;
	unlock_page(page);
	return -EEXIST;
}

int object_get_page(struct vm_object *object, u64 index, struct page **out)
{
	struct page *page;
	int err;

	do {
		if (index >= object_nr_pages(object))
			return -ENXIO;
		page = page_cache_find(object, index);
		if (!page) {
			err = add_new_page(object, index, out);
		} else if (page_is_current(page)) {
			*out = page;
			return 0;
		} else {
			err = wait_for_page(page);
			put_page(page);
		}
	} while (err == -EEXIST);
	return err;
}

/*
 * One page's share of a write; the page lock keeps page-out and truncation away. -EEXIST: the page
 * was dropped before we had its lock, look again. -ENXIO: the object has become too short.
 */
static int write_to_page(struct vm_object *object, struct page *page, u64 offset, const void *buf,
			 size_t n)
{
	int err = lock_page_killable(page);

	if (err)
		return err;
	if (offset + n > READ_ONCE(object->size))
		err = -ENXIO;
	else if (page->object != object)
		err = -EEXIST;
	if (!err) {
		memcpy((u8 *)phys_to_virt(page_to_phys(page)) + offset % PAGE_SIZE, buf, n);
		page_set(page, PG_dirty);
	}
	unlock_page(page);
	return err;
}

int object_copy(struct vm_object *object, u64 offset, void *buf, size_t len, bool write)
{
	if (write)
		object_make_writable(object);
	while (len) {
		size_t in_page = offset % PAGE_SIZE, n = MIN(len, PAGE_SIZE - in_page);
		struct page *page;
		int err = object_get_page(object, offset / PAGE_SIZE, &page);

		if (err)
			return err;
		if (write)
			err = write_to_page(object, page, offset, buf, n);
		else
			memcpy(buf, (u8 *)phys_to_virt(page_to_phys(page)) + in_page, n);
		put_page(page);
		if (err == -EEXIST)
			continue;
		if (err)
			return err;
		offset += n;
		buf = (u8 *)buf + n;
		len -= n;
	}
	return 0;
}
