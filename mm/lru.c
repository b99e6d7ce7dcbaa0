/* lru.c - the LRU lists (see lru.h). */
#include "mm/lru.h"
#include "kernel/lock.h"
#include "mm/page_alloc.h"

static const struct lock_class lru_class = {"LRU", RANK_LRU, false};
static spinlock_t lru_lock = SPINLOCK_INIT(lru_class);
static struct list_head lists[NR_LRU];
static u64 nr[NR_LRU];

void lru_init(void)
{
	int i;

	for (i = 0; i < NR_LRU; i++)
		list_init(&lists[i]);
}

static enum lru_list list_of(const struct page *page)
{
	if (page_test(page, PG_unevictable))
		return LRU_UNEVICTABLE;
	return (page_test(page, PG_anon) ? LRU_INACTIVE_ANON : LRU_INACTIVE_FILE) +
	       (page_test(page, PG_active) ? 1 : 0);
}

void lru_add_page(struct page *page)
{
	enum lru_list list;

	if (page_test(page, PG_reserved))
		return;
	spin_guard(&lru_lock);
	if (page_test_set(page, PG_lru))
		return;
	list = list_of(page);
	list_add(&page->lru, &lists[list]);
	nr[list]++;
}

static void unlink_page(struct page *page)
{
	nr[list_of(page)]--;
	list_del(&page->lru);
	page_clear(page, PG_lru);
}

bool lru_del_page(struct page *page)
{
	if (!page_test(page, PG_lru))
		return false;
	spin_guard(&lru_lock);
	if (!page_test(page, PG_lru))
		return false;
	unlink_page(page);
	return true;
}

static bool get_page_unless_zero(struct page *page)
{
	u32 refs;

	do
		refs = page_refs(page);
	while (refs && !cmpxchg_bool(&page->refcount, refs, refs + 1));
	return refs;
}

bool lru_isolate_page(struct page *page)
{
	if (!page_test(page, PG_lru))
		return false;
	spin_guard(&lru_lock);
	if (!page_test(page, PG_lru) || !get_page_unless_zero(page))
		return false;
	unlink_page(page);
	return true;
}

unsigned lru_isolate(enum lru_list from, unsigned max, struct list_head *to)
{
	struct list_head skipped = LIST_HEAD_INIT(skipped);
	unsigned taken = 0;

	spin_guard(&lru_lock);
	while (taken < max && !list_empty(&lists[from])) {
		struct page *page = list_last(&lists[from], struct page, lru);

		if (!get_page_unless_zero(page)) {
			list_move(&page->lru, &skipped);
			continue;
		}
		unlink_page(page);
		list_add_tail(&page->lru, to);
		taken++;
	}
	while (!list_empty(&skipped))
		list_move(skipped.next, &lists[from]);
	return taken;
}

void lru_putback(struct list_head *pages)
{
	struct page *page;

	while ((page = list_pop(pages, struct page, lru))) {
		lru_add_page(page);
		put_page(page);
	}
}

u64 lru_nr(enum lru_list list)
{
	return READ_ONCE(nr[list]);
}
