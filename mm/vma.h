/*
 * vma.h - making, splitting and removing the areas of an address space. Context of all functions:
 * the address space's mmap_lock held, or nobody else knows it.
 */
#pragma once

#include "mm/mm.h"

/* A new area, linked into mm and into its objects. Takes a reference on object. NULL: no memory. */
struct vm_area *vma_create(struct mm *mm, u64 start, u64 end, u32 flags, struct vm_object *object,
			   u64 pgoff);
/* The child's copy at fork: shares the anonymous object, is not locked. */
struct vm_area *vma_copy(struct vm_area *vma, struct mm *child);
/* Cut in two at addr: vma keeps the lower part. -ENOMEM leaves it whole. */
int vma_split(struct vm_area *vma, u64 addr);
/* Make [start, end) boundaries of areas. */
int vma_split_around(struct mm *mm, u64 start, u64 end);
/* Grow or shrink at the end (no overlap: the caller has looked). */
void vma_set_end(struct vm_area *vma, u64 end);
/* Unlink and free; its pages have been zapped. */
void vma_free(struct vm_area *vma);
/* Lowest free hole of len bytes at or above the mmap base, or 0. */
u64 vma_find_hole(struct mm *mm, u64 len);
/* Does any area touch [start, end)? */
bool vma_overlaps(struct mm *mm, u64 start, u64 end);
