/*
 * rmap.h - the reverse map: from a page to every PTE that maps it.
 *
 * The object a page belongs to lists the VMAs that show it; a VMA and the page's index give the
 * address, and the PTE there says whether it really maps this page. (Linux: i_mmap and the first
 * form of anon_vma, 2.6.) Order: object lock, then the address space's page-table lock.
 */
#pragma once

#include "kernel/cpumask.h"
#include "kernel/types.h"

struct page;
struct vm_area;
struct vm_object;

/* What clearing a page's PTEs left to be flushed. */
struct unmap_result {
	cpumask_t cpus; /* CPUs that may hold a translation: read after each PTE was cleared */
	bool dirty;     /* some PTE had D set */
	unsigned ptes;
	bool pinned; /* a VMA is locked: the page stays, nothing more was cleared */
	bool force;  /* in: locked VMAs too, the page's place in the file is gone */
	bool migrate; /* in: leave migration entries; they count as mappings in rss, not as references */
};

/* A new mapping of page by a PTE. Context: that address space's ptl held. */
void page_add_rmap(struct page *page);
/* A PTE is gone; the mapping's reference is still the caller's to drop. Context: as above. */
void page_remove_rmap(struct page *page);

/*
 * Clear every PTE that maps the page, each by one exchange. D bits become PG_dirty. Bumps every
 * address space's TLB generation; flushing is the caller's job. Context: page locked, a reference
 * held, no spinlock.
 */
void try_to_unmap(struct page *page, bool force, struct unmap_result *result);

/*
 * The same for a page that is being moved: whoever needs it waits in its fault until
 * remove_migration_ptes (Linux's name) has put `now` in the place of `old`, which may be the same.
 * Rights are those that the VMAs give now, and W only where the entry has it. Context: both pages
 * locked, now->object set.
 */
void try_to_migrate(struct page *page, struct unmap_result *result);
void remove_migration_ptes(struct page *old, struct page *now);

/* Test and clear the A bits, without a flush: how many PTEs had it, and whether a VMA is locked. */
unsigned page_referenced(struct page *page, bool *pinned);
