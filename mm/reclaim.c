/* reclaim.c - the background and the direct reclaimer (see reclaim.h). */
#include "mm/reclaim.h"
#include "arch/layout.h"
#include "drivers/clock.h"
#include "kernel/ipc.h"
#include "kernel/mutex.h"
#include "kernel/perturb.h"
#include "mm/foreign.h"
#include "mm/lru.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb_batch.h"
#include "mm/tlbsan.h"

/* Rounds without a single page in reach before a reclaimer gives up. */
#define MAX_BARREN_ROUNDS 64
/* After so many the inactive list may be full of pages that are not ours to take: age the others. */
#define BARREN_BEFORE_AGING 16
/* A pager that answers a page-out with an error gets it so often; then the page is lost. */
#define MAX_PAGEOUT_TRIES 3

static const struct lock_class direct_class = {"direct reclaim", RANK_DIRECT_RECLAIM, false};
static struct mutex direct_lock;
static struct wait_queue kswapd_wait;

/* One reclaimer's progress. */
struct scan_control {
	u64 freed; /* frames really freed, i.e. after their flush */
	u64 taken; /* frames freed or in limbo */
	bool stale;     /* the page at hand was unmapped and is not flushed yet */
	bool drop_only; /* drop_caches: clean unmapped pages, no second chances */
	bool foreign; /* kpageout: pages of foreign pagers and no others, and it waits for them */
	u64 wanted;   /* shrink_all's goal */
	u64 rounds;
	unsigned barren; /* rounds in a row that took nothing */
	unsigned orphans; /* pages dropped because their pager is gone */
	unsigned refused; /* and because it refused them; the last of these: */
	u64 refused_file, refused_page;
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
	SYNC_POINT(page_take);
	if (!page_cache_remove(page, 2))
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

/*
 * The mark goes first, the look at the references comes second. Whoever clears a PTE marks the page
 * dirty and holds the mapping's reference until the flush has been acknowledged, so with no
 * references but the cache's and ours nobody can store through an entry from before; what is stored
 * through a mapping made from here on marks the page again.
 */
static bool begin_page_out(struct page *page)
{
	page_clear(page, PG_dirty);
	if (page_refs(page) == 2)
		return true;
	page_set(page, PG_dirty);
	return false;
}

/* The pager is there and did not take it: it is tried again in later rounds, but not for ever. */
static void page_refused(struct page *page, struct scan_control *sc)
{
	if (++page->failed_pageouts < MAX_PAGEOUT_TRIES) {
		page_set(page, PG_dirty);
		return;
	}
	sc->refused++;
	sc->refused_file = page->object->cookie;
	sc->refused_page = page->index;
}

/* Afterwards the page is clean, or dirty still; or clean because nobody will ever take its bytes. */
static void page_out(struct page *page, struct scan_control *sc)
{
	struct vm_object *object = page->object;
	int err;

	if (!begin_page_out(page))
		return; /* somebody uses it: another time */
	tlbsan_check_copy(page, "page-out");
	err = ipc_page_out(object->pager, object->cookie, page->index,
			   phys_to_virt(page_to_phys(page)),
			   object->foreign ? foreign_patience_ns : 0);
	if (err == -ETIMEDOUT) {
		endpoint_give_up(object->pager, "did not take a page");
		err = -EIO;
	}
	if (err == -EAGAIN) {
		page_refused(page, sc);
	} else if (err == -EIO) {
		sc->orphans += !object->foreign; /* a foreign pager's end was said, or was its own */
	} else if (err) {
		page_set(page, PG_dirty);
	} else {
		page->failed_pageouts = 0;
		count_vm_event(pgpgout);
	}
}

/* One line for all of a reclaimer's rounds: a program must not be able to flood the console. */
static void report_losses(const struct scan_control *sc)
{
	if (sc->orphans)
		pr_warn("reclaim: %u dirty pages dropped: their pager is gone\n", sc->orphans);
	if (sc->refused)
		pr_err("reclaim: %u pages lost, page %lu of file %lx the last: the pager refused each "
		       "%u times\n", sc->refused, sc->refused_page, sc->refused_file,
		       MAX_PAGEOUT_TRIES);
}

/*
 * All pages on the list are locked, unmapped, and dirty or of an object that may be written: one
 * flush, then the page-outs. A written object's clean page may not wait in limbo either: a refault
 * could write a new frame while another CPU still reads this one.
 */
static void pageout_list(struct list_head *dirty, struct list_head *keep, struct scan_control *sc)
{
	struct page *page;

	if (list_empty(dirty))
		return;
	sc->freed += try_to_unmap_flush(); /* also: the batch is empty while we wait for the pager */
	sc->stale = false;
	list_for_each(page, dirty, lru) /* all of them before the first wait: it may want any */
		page_begin_io(page);
	while ((page = list_pop(dirty, struct page, lru))) {
		struct vm_object *object = page->object; /* with the reference that shrink_page took */

		if (page_test(page, PG_dirty))
			page_out(page, sc);
		page_clear(page, PG_io);
		if (!take_page(page, sc)) {
			page_trim(page);
			keep_page(page, keep, sc);
		}
		object_put(object); /* no page of it is locked by us if this was the last */
	}
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
	} else if (page->object->foreign != sc->foreign) {
		keep_page(page, keep, sc); /* kpageout's: we wait for no pager that may never answer */
		wake_kpageout();
	} else if (object_get_unless_zero(page->object)) {
		list_add_tail(&page->lru, dirty);
	} else {
		keep_page(page, keep, sc);
	}
}

/*
 * A page is only worth trying if nobody but the cache, its mappings and we refer to it. A page that
 * a foreign pager may have to take back is kpageout's business.
 */
static bool is_candidate(struct page *page, const struct scan_control *sc)
{
	struct vm_object *object = page->object;

	if (!object || object->kind != OBJECT_PAGED || page_refs(page) > 2 + page_mapcount(page))
		return false;
	if (object->foreign && READ_ONCE(object->written) && !sc->foreign)
		wake_kpageout();
	else if (object->foreign || !sc->foreign)
		return true;
	return false;
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
		else if (!is_candidate(page, sc))
			unlock_and_keep(page, &keep);
		else {
			SYNC_POINT(page_candidate);
			shrink_page(page, &dirty, &keep, sc);
		}
	pageout_list(&dirty, &keep, sc);
	sc->freed += tlb_ubc_end_of_round();
	lru_putback(&keep);
	return scanned;
}

/* Its A bits are cleared. false: kpageout does not judge other pages. Context: page locked by us. */
static bool deactivate_page(struct page *page, const struct scan_control *sc)
{
	bool pinned;

	if (sc->foreign && !(page->object && page->object->foreign))
		return false;
	(void)page_referenced(page, &pinned);
	page_clear(page, PG_active);
	return true;
}

/* Move pages from active to inactive, their A bits cleared: they get one more round to be used. */
static unsigned shrink_active_list(const struct scan_control *sc)
{
	struct list_head pages = LIST_HEAD_INIT(pages);
	unsigned scanned = lru_isolate(LRU_ACTIVE_FILE, SWAP_CLUSTER_MAX, &pages), deactivated = 0;
	struct page *page;

	list_for_each(page, &pages, lru)
		if (trylock_page(page)) {
			deactivated += deactivate_page(page, sc);
			unlock_page(page);
		}
	count_vm_events(pgrefill, scanned);
	count_vm_events(pgdeactivate, deactivated);
	lru_putback(&pages);
	return scanned;
}

/* One step of either kind. Returns pages looked at: 0 means both lists are empty. */
static unsigned shrink_lists(struct scan_control *sc)
{
	unsigned scanned = 0;

	if (sc->foreign || sc->barren > BARREN_BEFORE_AGING ||
	    lru_nr(LRU_INACTIVE_FILE) <= lru_nr(LRU_ACTIVE_FILE))
		scanned += shrink_active_list(sc);
	return scanned + shrink_inactive_list(sc);
}

/*
 * Reclaim until `enough` says so or nothing can be taken: then what is in limbo is flushed and
 * freed after all, however few.
 */
static void reclaim_until(bool (*enough)(const struct scan_control *), struct scan_control *sc)
{
	u64 whole = lru_nr(LRU_INACTIVE_FILE) + lru_nr(LRU_ACTIVE_FILE);
	unsigned limit = MAX_BARREN_ROUNDS + (unsigned)(whole * 3 / SWAP_CLUSTER_MAX);

	while (!enough(sc) && sc->barren < limit) {
		u64 before = sc->taken;

		sc->rounds++;
		if (!shrink_lists(sc))
			break;
		sc->barren = sc->taken == before ? sc->barren + 1 : 0;
	}
	sc->freed += try_to_unmap_flush();
	report_losses(sc);
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
	tlb_ubc_release(current); /* memory is short: no page is kept for the next time */
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

static u64 shrink_all(struct scan_control *sc, bool (*enough)(const struct scan_control *))
{
	current->flags |= PF_MEMALLOC;
	reclaim_until(enough, sc);
	current->flags &= ~PF_MEMALLOC;
	return sc->freed;
}

static bool goal_reached(const struct scan_control *sc)
{
	return sc->freed >= sc->wanted;
}

u64 drop_caches(void)
{
	struct scan_control sc = {.drop_only = true, .wanted = ~0ul};

	return shrink_all(&sc, goal_reached);
}

u64 shrink_all_memory(u64 nr_pages)
{
	struct scan_control sc = {.wanted = nr_pages};

	return shrink_all(&sc, goal_reached);
}

/* At least one round: somebody who needs memory has left a page to us. */
static bool enough_foreign(const struct scan_control *sc)
{
	return sc->rounds && nr_free_pages() >= watermarks.high && foreign_pages_have_room();
}

u64 reclaim_foreign_pages(void)
{
	struct scan_control sc = {.foreign = true};

	return shrink_all(&sc, enough_foreign);
}
