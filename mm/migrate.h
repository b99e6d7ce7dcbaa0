/*
 * migrate.h - moving pages to other frames while programs use them, with one flush per batch.
 *
 *   isolate    off the LRU, a reference, the page lock
 *   unmap      every PTE becomes a migration entry by one exchange: who needs the page waits in
 *              its fault
 *   FLUSH      one round of IPIs for the whole batch: from here on no CPU reads or writes an old
 *              frame
 *   move       the page cache names the new frame; copy
 *   remap      migration entries become PTEs of the new frame; waiters go on
 *   release    the old frames are freed
 *
 * The flush has one place only. Before the copy: a CPU with a dirty entry stores into the old frame
 * without a walk, and what it stores during the copy is lost. Before the remap: a CPU with any
 * entry reads the old frame after another wrote the new one. Two policies put it elsewhere, to show
 * that.
 *
 * Page locks are only ever tried, never waited for while another is held: two migrators cannot
 * deadlock. What cannot be moved now (locked, referenced by somebody else) is tried again, in up to
 * MIGRATE_PASSES passes, and then put back where it was.
 *
 * Source: Mel Gorman, "mm: Send one IPI per CPU to TLB flush pages that were recently unmapped" and
 * its review, 2015; Huang Ying, "migrate_pages(): batch TLB flushing", 2023.
 */
#pragma once

#include "kernel/list.h"
#include "kernel/types.h"

struct mm;
struct page;

#define MIGRATE_BATCH  512 /* pages at most between unmap and remap; the TLB policy may say fewer */
#define MIGRATE_PASSES 10

struct migrate_result {
	u64 moved, failed; /* pages */
	u64 passes;        /* most that any page took */
};

/*
 * A frame for a page to move to, with one reference, or NULL: the page stays where it is for now.
 * Must not sleep: it is called with pages locked that the pager itself may need.
 */
typedef struct page *migrate_target_fn(struct page *page, void *arg);

/*
 * Select by name, at boot (migrate=) or while everything runs: page, batch; late and clean-late
 * only where unsafe=1 is on the command line. -EINVAL unknown, -EPERM not without unsafe=1.
 */
int migrate_policy_set(const char *name);
const char *migrate_policy_name(void);
/* Reads migrate= and unsafe=. Boot only. */
void migrate_init(void);

/*
 * Move isolated pages (lru_isolate_page, linked by lru). The list is empty afterwards: all are
 * moved, or back on their LRU lists. Context: may sleep, no page lock held, the thread's batch
 * empty.
 */
void migrate_pages(struct list_head *pages, migrate_target_fn *target, void *arg,
		   struct migrate_result *result);
/*
 * Move the pages that [start, end) of an address space maps to frames of that node, those that are
 * not there yet; MOVE_ANY_NODE: all, to other frames. 0, -EINVAL or -ENODEV. Context: as above.
 */
int migrate_range(struct mm *mm, u64 start, u64 end, u64 node, struct migrate_result *result);
