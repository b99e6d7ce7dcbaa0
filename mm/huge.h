/*
 * huge.h - 2 MiB mappings of private anonymous memory.
 *
 * In an area with madvise(MADV_HUGEPAGE) the first access to an aligned 2 MiB range that has no
 * page table yet takes a block of 512 frames and maps it with one PD entry. The frames stay 512
 * pages, each with its own reference and mapping; they are on no LRU list. Whatever concerns a part
 * of the range (munmap, mprotect, madvise, fork, a move) first splits: the entry becomes a table of
 * 512 PTEs, which was put aside when the block was mapped, so that a split cannot fail.
 *
 * A split changes the page size of addresses that are in use. The entry is cleared, *all* of the
 * range is flushed, and only then the table is put in its place: a TLB must not hold both sizes for
 * an address (Intel SDM vol. 3, 4.10.2.3). In between, a fault waits for mmap_lock.
 *
 * Context of all functions: mmap_lock held.
 */
#pragma once

#include "kernel/types.h"

struct mm;
struct vm_area;

/*
 * Map the 2 MiB around addr, if the area wants and allows it and a block can be had (compaction is
 * tried once). false: go on with a small page.
 */
bool huge_fault(struct vm_area *vma, u64 addr);
/* There is a 2 MiB mapping at addr. */
bool huge_mapped(struct mm *mm, u64 addr);
/* Split those that start or end outside [start, end), zap those within it. */
void huge_zap_range(struct mm *mm, u64 start, u64 end);
/* Split all that touch [start, end). */
void huge_split_range(struct mm *mm, u64 start, u64 end);
