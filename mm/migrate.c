/* migrate.c - moving pages (see migrate.h). */
#include "mm/migrate.h"
#include "arch/layout.h"
#include "arch/paging.h"
#include "drivers/clock.h"
#include "kernel/cmdline.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "kernel/trace.h"
#include "mm/huge.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/node.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb_batch.h"
#include "mm/tlbsan.h"

/* Where the flush comes, and how many pages share one. */
struct migrate_policy {
	const char *name;
	u32 capacity;
	enum { FLUSH_FIRST, FLUSH_DIRTY_FIRST, FLUSH_AFTER_COPY } order;
	bool unsafe; /* loses data: an exhibit */
};

static const struct migrate_policy policies[] = {
	{"page", 1, FLUSH_FIRST, false}, /* unmap, flush, copy, remap, one page at a time */
	{"batch", MIGRATE_BATCH, FLUSH_FIRST, false},
	{"late", MIGRATE_BATCH, FLUSH_AFTER_COPY, true}, /* stores during the copy are lost */
	{"clean-late", MIGRATE_BATCH, FLUSH_DIRTY_FIRST, true}, /* clean pages: after the remap */
};

static const struct migrate_policy *policy = &policies[1];
static bool unsafe_allowed;

int migrate_policy_set(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i].name, name)) {
			if (policies[i].unsafe && !unsafe_allowed)
				return -EPERM;
			WRITE_ONCE(policy, &policies[i]);
			return 0;
		}
	return -EINVAL;
}

const char *migrate_policy_name(void)
{
	return READ_ONCE(policy)->name;
}

void migrate_init(void)
{
	char name[16];
	u64 allowed;
	int err;

	unsafe_allowed = cmdline_get_u64("unsafe", &allowed) == 0 && allowed == 1;
	if (cmdline_get("migrate", name, sizeof(name)) <= 0)
		return;
	err = migrate_policy_set(name);
	if (err == -EPERM)
		pr_warn("migrate=%s loses data on purpose and needs unsafe=1; using %s\n", name,
			policy->name);
	else if (err)
		pr_warn("migrate=%s is unknown: page, batch, late and clean-late are; using %s\n",
			name, policy->name);
}

/* ---- One batch ------------------------------------------------------------------------------- */

/* The n-th page of `from` moves to the n-th of `to`. All are locked from unmap to the end. */
struct migration {
	const struct migrate_policy *policy;
	struct list_head from, to;
	struct list_head again; /* could not be moved now */
	migrate_target_fn *target;
	void *arg;
};

/* Nobody but the cache, the mappings and we refer to it; with no object it has lost its place. */
static bool can_move(const struct page *page)
{
	u32 cache = !page_test(page, PG_anon);

	return page->object && page->object->kind != OBJECT_BOOT && page_test(page, PG_uptodate) &&
	       page_refs(page) == 1 + cache + page_mapcount(page);
}

/* Lock the page, find a frame for it, and replace its PTEs by migration entries. */
static bool unmap_for_move(struct migration *m, struct page *page)
{
	struct unmap_result unmapped;
	struct page *now;

	if (!trylock_page(page))
		return false;
	now = can_move(page) ? m->target(page, m->arg) : NULL;
	if (!now) {
		unlock_page(page);
		return false;
	}
	page_set(now, PG_locked);
	try_to_migrate(page, &unmapped);
	if (unmapped.ptes)
		tlb_ubc_gather(unmapped.cpus, unmapped.dirty, TLB_MIGRATE);
	list_add_tail(&page->lru, &m->from);
	list_add_tail(&now->lru, &m->to);
	return true;
}

/*
 * The new frame takes the old one's place in its object, if nobody has got hold of the old one. Who
 * finds the new one from here on waits until it is up to date.
 */
static bool take_place(struct page *old, struct page *now)
{
	SYNC_POINT(page_take);
	if (!page_test(old, PG_anon))
		return page_cache_replace(old, now);
	if (page_refs(old) != 1)
		return false; /* without PTEs and off the lists: what it has now it keeps */
	page_set(now, old->flags & PG_MOVES_ALONG);
	now->object = old->object; /* with the page's reference on it */
	now->index = old->index;
	old->object = NULL;
	return true;
}

static void copy_frame(struct page *now, struct page *old)
{
	TRACE(migrate, page_to_pfn(old), page_to_pfn(now));
	tlbsan_check_copy(old, "a migration's copy");
	memcpy(phys_to_virt(page_to_phys(now)), phys_to_virt(page_to_phys(old)), PAGE_SIZE);
	page_set(now, PG_uptodate);
}

/* It stays where it is: its entries become PTEs of the old frame again. */
static void put_back(struct migration *m, struct page *old, struct page *now)
{
	remove_migration_ptes(old, old);
	list_del(&old->lru);
	list_del(&now->lru);
	unlock_page(old);
	list_add_tail(&old->lru, &m->again);
	*now = (struct page){.flags = PG_locked, .refcount = 1};
	list_init(&now->lru);
	unlock_page(now);
	put_page(now);
}

#define for_each_move(old, now, next_old, next_now, m)                                             \
	for (old = list_first(&(m)->from, struct page, lru),                                       \
	    now = list_first(&(m)->to, struct page, lru), next_old = list_next(old, lru),          \
	    next_now = list_next(now, lru);                                                        \
	     &old->lru != &(m)->from; old = next_old, now = next_now,                              \
	    next_old = list_next(old, lru), next_now = list_next(now, lru))

static void move_all(struct migration *m)
{
	struct page *old, *now, *next_old, *next_now;

	for_each_move(old, now, next_old, next_now, m)
		if (take_place(old, now))
			copy_frame(now, old);
		else
			put_back(m, old, now);
}

static void remap_all(struct migration *m)
{
	struct page *old, *now, *next_old, *next_now;

	for_each_move(old, now, next_old, next_now, m)
		remove_migration_ptes(old, now);
}

/* Returns how many. */
static u64 release_all(struct migration *m)
{
	struct page *old, *now;
	u64 moved = 0;

	while ((old = list_pop(&m->from, struct page, lru))) {
		now = list_pop(&m->to, struct page, lru);
		unlock_page(old); /* wakes who waits in a fault */
		unlock_page(now);
		lru_add_page(now);
		put_page(now);
		page_clear(old, PG_anon | PG_dirty); /* not earlier: fork looks at PG_anon */
		put_page(old);
		this_cpu_add64(stat.tlb[TLB_MIGRATE].freed, 1);
		moved++;
	}
	return moved;
}

static u64 migrate_batch(struct migration *m)
{
	SYNC_POINT(migrate_unmapped);
	if (m->policy->order == FLUSH_FIRST)
		(void)try_to_unmap_flush();
	else if (m->policy->order == FLUSH_DIRTY_FIRST)
		(void)try_to_unmap_flush_dirty();
	move_all(m);
	SYNC_POINT(migrate_copied);
	if (m->policy->order == FLUSH_AFTER_COPY)
		(void)try_to_unmap_flush();
	remap_all(m);
	SYNC_POINT(migrate_remapped);
	(void)try_to_unmap_flush(); /* a safe policy has nothing left to flush */
	return release_all(m);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* All pages of the list once, in batches. What cannot be moved is on m->again afterwards. */
static u64 migrate_pass(struct migration *m, struct list_head *pages)
{
	u32 capacity = MIN(m->policy->capacity, READ_ONCE(tlb_policy)->capacity), n = 0;
	struct page *page;
	u64 moved = 0;

	while ((page = list_pop(pages, struct page, lru))) {
		if (unmap_for_move(m, page))
			n++;
		else
			list_add_tail(&page->lru, &m->again);
		if (n == capacity) {
			moved += migrate_batch(m);
			n = 0;
		}
	}
	return n ? moved + migrate_batch(m) : moved;
}

void migrate_pages(struct list_head *pages, migrate_target_fn *target, void *arg,
		   struct migrate_result *result)
{
	struct migration m = {.policy = READ_ONCE(policy), .target = target, .arg = arg};
	u64 moved = 0, failed = 0, pass = 0;
	struct page *page;

	ASSERT(tlb_ubc_empty(current), "%s migrates with frames in limbo", current->name);
	list_init(&m.from);
	list_init(&m.to);
	list_init(&m.again);
	while (!list_empty(pages) && pass < MIGRATE_PASSES) {
		if (pass++) /* whoever has them needs time */
			sleep_until(clock_ns() + NSEC_PER_MSEC / 8);
		moved += migrate_pass(&m, pages);
		while ((page = list_pop(&m.again, struct page, lru)))
			list_add_tail(&page->lru, pages);
	}
	list_for_each(page, pages, lru)
		failed++;
	lru_putback(pages);
	count_vm_events(pgmigrate_success, moved);
	count_vm_events(pgmigrate_fail, failed);
	count_vm_events(migrate_passes, pass);
	result->moved += moved;
	result->failed += failed;
	result->passes = MAX(result->passes, pass);
}

/* ---- A range of an address space ------------------------------------------------------------- */

/* The target function: arg points to the node. */
static struct page *frame_on_node(struct page *page, void *arg)
{
	u64 node = *(u64 *)arg;

	(void)page;
	return node == MOVE_ANY_NODE ? alloc_pages(0, GFP_NOWAIT) :
				       alloc_pages_node((unsigned)node, 0, GFP_NOWAIT);
}

/* Up to a batch of the range's next pages; *va is moved behind them, at last to end. */
static unsigned isolate_range(struct mm *mm, u64 *va, u64 end, u64 node, struct list_head *pages)
{
	unsigned n = 0;
	pte_t *pte, value;
	u64 stop;

	spin_guard(&mm->ptl);
	if (!pmd_next(mm->pml4, va, end))
		return 0;
	stop = MIN(end, *va + PMD_PAGE_SIZE * 16); /* not longer under the lock */
	for (; n < MIGRATE_BATCH && (pte = pte_next(mm->pml4, va, stop)); *va += PAGE_SIZE) {
		value = pte_read(pte); /* present: its mapping's reference is there as long as the ptl is ours */
		if ((value & PTE_P) && pfn_to_node(pte_pfn(value)) != node &&
		    lru_isolate_page(pfn_to_page(pte_pfn(value)))) {
			list_add_tail(&pfn_to_page(pte_pfn(value))->lru, pages);
			n++;
		}
	}
	return n;
}

int migrate_range(struct mm *mm, u64 start, u64 end, u64 node, struct migrate_result *result)
{
	struct list_head pages = LIST_HEAD_INIT(pages);

	if (!IS_ALIGNED(start | end, PAGE_SIZE) || start >= end || end > USER_END)
		return -EINVAL;
	if (node != MOVE_ANY_NODE && node >= nr_nodes)
		return -ENODEV;
	mutex_lock(&mm->mmap_lock);
	huge_split_range(mm, start, end);
	mutex_unlock(&mm->mmap_lock);
	while (!thread_killed(current) && start < end)
		if (isolate_range(mm, &start, end, node, &pages))
			migrate_pages(&pages, frame_on_node, &node, result);
	tlb_ubc_release(current); /* a user's thread keeps no page for its next time */
	return 0;
}
