/* reclaim.c - the background and the direct reclaimer (see reclaim.h). */
#include "mm/reclaim.h"
#include "arch/layout.h"
#include "drivers/clock.h"
#include "kernel/ipc.h"
#include "kernel/mutex.h"
#include "mm/lru.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb_batch.h"
#include "mm/tlbsan.h"

/* Rounds without a single page in reach before a reclaimer gives up. */
#define MAX_BARREN_ROUNDS 64

static const struct lock_class direct_class = {"direct reclaim", RANK_DIRECT_RECLAIM, false};
static struct mutex direct_lock;
static struct wait_queue kswapd_wait;

/* One reclaimer's progress. */
struct scan_control {
	u64 freed; /* frames really freed, i.e. after their flush */
	u64 taken; /* frames freed or in limbo */
	bool stale;     /* the page at hand was unmapped and is not flushed yet */
	bool drop_only; /* drop_caches: clean unmapped pages, no second chances */
};

enum page_fate { PAGE_KEEP, PAGE_ACTIVATE, PAGE_RECLAIM };

static enum page_fate page_check_references(struct page *page, const struct scan_control *sc)
{
	bool pinned = false;
	unsigned referenced = page_referenced(page, &pinned);

	if (sc->drop_only && !pinned)
		return page_mapcount(page) || page_test(page, PG_dirty) ? PAGE_KEEP : PAGE_RECLAIM;
	return pinned || referenced ? PAGE_ACTIVATE : PAGE_RECLAIM;
}

/*
 * Clear the page's PTEs and let the batch know which CPUs to flush. false: some mapping is locked.
 */
static bool unmap_page(struct page *page, struct scan_control *sc)
{
	struct unmap_result unmapped;

	sc->stale = false;
	if (!page_mapcount(page))
		return true;
	try_to_unmap(page, false, &unmapped);
	sc->stale = unmapped.ptes > 0;
	if (sc->stale)
		tlb_ubc_gather(unmapped.cpus, unmapped.dirty, TLB_RECLAIM);
	if (unmapped.pinned || page_mapcount(page))
		return false;
	count_vm_event(unmapped_pages);
	count_vm_events(unmapped_sharers, cpumask_weight(unmapped.cpus & ~CPU_BIT(smp_cpu_id())));
	return true;
}

/* The cache and this reclaimer are the only users: out of the cache, into the batch. */
static bool take_page(struct page *page, struct scan_control *sc)
{
	if (page_test(page, PG_dirty) || !page_cache_remove(page, 2))
		return false;
	page_clear(page, PG_active);
	unlock_page(page);
	ASSERT(page_refs(page) == 1, "frame %lx left the cache with %u references",
	       page_to_pfn(page), page_refs(page));
	(void)atomic_sub_fetch(&page->refcount, 1);
	sc->taken++;
	sc->freed += tlb_ubc_add_frame(page);
	return true;
}

static void unlock_and_keep(struct page *page, struct list_head *keep)
{
	unlock_page(page);
	list_add(&page->lru, keep);
}

/*
 * The page stays although its PTEs are gone: nobody but us knows that CPUs may still translate to
 * it, so the flush must come before others can get hold of it.
 */
static void keep_page(struct page *page, struct list_head *keep, struct scan_control *sc)
{
	if (sc->stale)
		sc->freed += try_to_unmap_flush();
	unlock_and_keep(page, keep);
}

static int page_out(struct page *page)
{
	struct vm_object *object = page->object;
	int err;

	page_clear(page, PG_dirty); /* whoever dirties it from here on marks it again */
	tlbsan_check_copy(page, "page-out");
	err = ipc_page_out(object->pager, object->cookie, page->index,
			   phys_to_virt(page_to_phys(page)));
	if (err)
		page_set(page, PG_dirty);
	else
		count_vm_event(pgpgout);
	return err;
}

/*
 * All pages on the list are locked, unmapped, and dirty or of an object that may be written: one
 * flush, then the page-outs. A written object's clean page may not wait in limbo either: a refault
 * could write a new frame while another CPU still reads this one.
 */
static void pageout_list(struct list_head *dirty, struct list_head *keep, struct scan_control *sc)
{
	struct page *page;
	unsigned lost = 0;

	if (list_empty(dirty))
		return;
	sc->freed += try_to_unmap_flush(); /* also: the batch is empty while we wait for the pager */
	sc->stale = false;
	list_for_each(page, dirty, lru) /* all of them before the first wait: it may want any */
		page_begin_io(page);
	while ((page = list_pop(dirty, struct page, lru))) {
		struct vm_object *object = page->object; /* with the reference that shrink_page took */

		if (page_test(page, PG_dirty) && page_out(page) == -EIO) {
			/* the pager is gone: nobody will ever take these bytes */
			page_clear(page, PG_dirty);
			lost++;
		}
		page_clear(page, PG_io);
		if (!take_page(page, sc)) {
			page_trim(page);
			keep_page(page, keep, sc);
		}
		object_put(object); /* no page of it is locked by us if this was the last */
	}
	if (lost)
		pr_warn("reclaim: %u dirty pages dropped: their pager is gone\n", lost);
}

/* One page, locked by us. Ends on one of the lists, or in the batch. */
static void shrink_page(struct page *page, struct list_head *dirty, struct list_head *keep,
			struct scan_control *sc)
{
	enum page_fate fate = page_check_references(page, sc);

	if (fate == PAGE_ACTIVATE && !page_test_set(page, PG_active))
		count_vm_event(pgactivate);
	if (fate != PAGE_RECLAIM)
		unlock_and_keep(page, keep);
	else if (!unmap_page(page, sc))
		keep_page(page, keep, sc);
	else if (!page_test(page, PG_dirty) && !READ_ONCE(page->object->written)) {
		if (!take_page(page, sc)) /* `written` was looked at after the PTEs were gone */
			keep_page(page, keep, sc);
	} else if (object_get_unless_zero(page->object)) {
		list_add_tail(&page->lru, dirty);
	} else {
		keep_page(page, keep, sc);
	}
}

/* A page is only worth trying if nobody but the cache, its mappings and we refer to it. */
static bool is_candidate(struct page *page)
{
	return page->object && page->object->kind == OBJECT_PAGED &&
	       page_refs(page) <= 2 + page_mapcount(page);
}

/*
 * A policy with room for a round or more gets rounds that do not outgrow the batch. One that
 * flushes page by page has a boundary everywhere.
 */
static unsigned round_size(void)
{
	return READ_ONCE(tlb_policy)->capacity < SWAP_CLUSTER_MAX ?
		       SWAP_CLUSTER_MAX :
		       MIN(tlb_ubc_room(), SWAP_CLUSTER_MAX);
}

/* One round over up to SWAP_CLUSTER_MAX inactive pages. Returns how many were looked at. */
static unsigned shrink_inactive_list(struct scan_control *sc)
{
	struct list_head pages = LIST_HEAD_INIT(pages), keep = LIST_HEAD_INIT(keep);
	struct list_head dirty = LIST_HEAD_INIT(dirty);
	unsigned scanned = lru_isolate(LRU_INACTIVE_FILE, round_size(), &pages);
	struct page *page;

	count_vm_events(pgscan, scanned);
	while ((page = list_pop(&pages, struct page, lru)))
		if (!trylock_page(page))
			list_add(&page->lru, &keep);
		else if (is_candidate(page))
			shrink_page(page, &dirty, &keep, sc);
		else
			unlock_and_keep(page, &keep);
	pageout_list(&dirty, &keep, sc);
	sc->freed += tlb_ubc_end_of_round();
	lru_putback(&keep);
	return scanned;
}

/* Move pages from active to inactive, their A bits cleared: they get one more round to be used. */
static unsigned shrink_active_list(void)
{
	struct list_head pages = LIST_HEAD_INIT(pages);
	unsigned scanned = lru_isolate(LRU_ACTIVE_FILE, SWAP_CLUSTER_MAX, &pages);
	struct page *page;
	bool pinned;

	count_vm_events(pgrefill, scanned);
	list_for_each(page, &pages, lru) {
		if (trylock_page(page)) {
			(void)page_referenced(page, &pinned);
			unlock_page(page);
		}
		page_clear(page, PG_active);
	}
	count_vm_events(pgdeactivate, scanned);
	lru_putback(&pages);
	return scanned;
}

/* One step of either kind. Returns pages looked at: 0 means both lists are empty. */
static unsigned shrink_lists(struct scan_control *sc)
{
	unsigned scanned = 0;

	if (lru_nr(LRU_INACTIVE_FILE) <= lru_nr(LRU_ACTIVE_FILE))
		scanned += shrink_active_list();
	return scanned + shrink_inactive_list(sc);
}

/*
 * Reclaim until `enough` says so or nothing can be taken: then what is in limbo is flushed and
 * freed after all, however few.
 */
static void reclaim_until(bool (*enough)(const struct scan_control *), struct scan_control *sc)
{
	u64 whole = lru_nr(LRU_INACTIVE_FILE) + lru_nr(LRU_ACTIVE_FILE);
	unsigned barren = 0, limit = MAX_BARREN_ROUNDS + (unsigned)(whole * 3 / SWAP_CLUSTER_MAX);

	while (!enough(sc) && barren < limit) {
		u64 before = sc->taken;

		if (!shrink_lists(sc))
			break;
		barren = sc->taken == before ? barren + 1 : 0;
	}
	sc->freed += try_to_unmap_flush();
}

/* ---- Direct reclaim ------------------------------------------------------------------------- */

static bool one_batch_freed(const struct scan_control *sc)
{
	return sc->freed >= READ_ONCE(tlb_policy)->capacity && sc->freed >= SWAP_CLUSTER_MAX;
}

bool try_to_free_pages(unsigned order)
{
	struct scan_control sc = {0};
	u64 wanted = watermarks.min + (1ul << order);
	bool room;

	wake_kswapd();
	mutex_lock(&direct_lock);
	room = nr_free_pages() >= wanted; /* whoever was here before us may have made it */
	if (!room) {
		current->flags |= PF_MEMALLOC;
		reclaim_until(one_batch_freed, &sc);
		current->flags &= ~PF_MEMALLOC;
		count_vm_events(pgsteal_direct, sc.freed);
	}
	mutex_unlock(&direct_lock);
	return room || sc.freed > 0; /* others may take it first: then the caller comes back */
}

/* ---- Background reclaim ---------------------------------------------------------------------- */

static bool above_high(const struct scan_control *sc)
{
	(void)sc;
	return nr_free_pages() >= watermarks.high && tlb_ubc_empty(current);
}

static bool below_low(void)
{
	return nr_free_pages() < watermarks.low;
}

static void kswapd(void *arg)
{
	(void)arg;
	current->flags |= PF_MEMALLOC;
	for (;;) {
		struct scan_control sc = {0};

		wait_event(&kswapd_wait, below_low());
		reclaim_until(above_high, &sc);
		count_vm_events(pgsteal_kswapd, sc.freed);
		if (!sc.freed) /* nothing to take: let the allocators decide what to give up */
			sleep_until(clock_ns() + 10 * NSEC_PER_MSEC);
	}
}

void wake_kswapd(void)
{
	if (kswapd_wait.waiters.next && !list_empty(&kswapd_wait.waiters))
		wake_up_all(&kswapd_wait);
}

void reclaim_init(void)
{
	mutex_init(&direct_lock, &direct_class);
	wait_queue_init(&kswapd_wait);
	kthread_run("kswapd", kswapd, NULL, PRIO_RECLAIM);
}

static bool never_enough(const struct scan_control *sc)
{
	(void)sc;
	return false;
}

u64 drop_caches(void)
{
	struct scan_control sc = {.drop_only = true};

	current->flags |= PF_MEMALLOC;
	reclaim_until(never_enough, &sc);
	current->flags &= ~PF_MEMALLOC;
	return sc.freed;
}
