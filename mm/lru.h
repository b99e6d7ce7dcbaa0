/*
 * lru.h - the LRU lists: active and inactive, for file and for anonymous pages.
 *
 * New pages enter at the head of inactive; reclaim takes from the tail. An isolated page is on no
 * list (PG_lru clear) and its isolator holds a reference. One spinlock guards all lists.
 */
#pragma once

#include "kernel/list.h"
#include "mm/page.h"

enum lru_list {
	LRU_INACTIVE_FILE, LRU_ACTIVE_FILE, LRU_INACTIVE_ANON, LRU_ACTIVE_ANON,
	LRU_UNEVICTABLE, /* reclaim never looks at it; migration takes from it */
	NR_LRU
};

void lru_init(void);
/* Put a page on the list its flags name (PG_active, PG_anon, PG_unevictable). */
void lru_add_page(struct page *page);
/* Take a page off its list; false: it was on none. */
bool lru_del_page(struct page *page);
/*
 * Take a page off its list, with a reference; false: it is on none, or its last reference is going
 * away. Any frame may be asked about, also one that is changing hands: only what is on a list is
 * touched, and such a page is nobody's to free but by its last reference.
 */
bool lru_isolate_page(struct page *page);
/* Move up to nr pages from the tail of a list to `to`, each with a reference. Returns how many. */
unsigned lru_isolate(enum lru_list from, unsigned nr, struct list_head *to);
/* Give isolated pages back to the lists and drop the isolator's references. */
void lru_putback(struct list_head *pages);
u64 lru_nr(enum lru_list list);
