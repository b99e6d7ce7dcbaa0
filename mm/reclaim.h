/*
 * reclaim.h - taking pages back: who starts it, and what it guarantees.
 *
 * Rounds of SWAP_CLUSTER_MAX pages from the tail of the inactive file list. A page that was used
 * since the last look (A bit, found through the reverse map) gets a second chance on the active
 * list. A clean page is unmapped, leaves the cache and goes to the flush batch; a dirty one is
 * unmapped, flushed, paged out, and then freed. The last step is always flush, then free.
 *
 *   alloc below low --> kswapd: rounds until free >= high, stops at a batch boundary
 *   alloc below min --> the allocating thread itself, one at a time, one full batch
 * A page-out starts only when no flush is owed for the page by anybody: the dirty mark is taken back
 * first, then nobody but the cache and the reclaimer may refer to the page. kswapd and direct
 * reclaim wait for the pinned servers alone; the dirty pages of other pagers are kpageout's
 * (mm/foreign.h).
 *
 * Names and numbers follow Linux's mm/vmscan.c.
 */
#pragma once

#include "kernel/types.h"

#define SWAP_CLUSTER_MAX 32u

/* Start the background reclaimer. Boot only. */
void reclaim_init(void);
/* Memory is below the low watermark. Any context that may take a wait queue's lock. */
void wake_kswapd(void);
/*
 * Direct reclaim: true if an allocation of this order is worth another try. false: there is nothing
 * left to take. Context: may sleep, no spinlock held; not from PF_MEMALLOC threads.
 */
bool try_to_free_pages(unsigned order);
/* Drop every clean page that nothing maps. Returns how many. Context of all: as above. */
u64 drop_caches(void);
/* Take that many pages back whether or not memory is short (Linux's name). Returns how many. */
u64 shrink_all_memory(u64 nr_pages);
/* The pages of foreign pagers, dirty ones too: kpageout's rounds (mm/foreign.h). */
u64 reclaim_foreign_pages(void);
