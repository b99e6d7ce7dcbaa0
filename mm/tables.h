/*
 * tables.h - page tables that munmap has left empty go back to the frame allocator.
 *
 *   take the empty tables out of those above them (under the ptl)  ->  flush, lazy CPUs too  ->  free
 *
 * Most programs have a few tables and use them again, so those stay; a program that strews small
 * mappings over its address space does not get to keep a page for every 2 MiB it once touched. What
 * is there counts when a process has to be ended for lack of memory (mm/oom.h). (Linux: free_pgtables,
 * after every munmap.)
 */
#pragma once

#include "kernel/types.h"

struct mm;

#define TABLES_KEPT 32 /* an address space with fewer tables than that keeps them all */

/* No area is left in [start, end), and no PTE. Context: mmap_lock held, no spinlock, may sleep. */
void free_pgtables(struct mm *mm, u64 start, u64 end);
