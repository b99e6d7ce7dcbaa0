/* tables.c - freeing empty page tables (see tables.h). */
#include "mm/tables.h"
#include "arch/paging.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/vma.h"

#define MANY 64 /* tables in one round */

/* What one round has taken out, to be freed after its flush. */
struct empty_tables {
	void *table[MANY];
	unsigned nr;
};

/* Where the nearest areas around [start, end) leave off and begin. */
static void widen_to_neighbours(struct mm *mm, u64 *start, u64 *end)
{
	u64 floor = 0, ceiling = USER_END;
	struct vm_area *vma;

	list_for_each(vma, &mm->vmas, node) {
		if (vma->end <= *start)
			floor = vma->end;
		if (vma->start >= *end) {
			ceiling = vma->start;
			break;
		}
	}
	*start = floor;
	*end = ceiling;
}

/* The next one of this level, if its whole window is free. Context: ptl held. */
static void *take_next(struct mm *mm, u64 *va, u64 end, u64 ceiling, unsigned level)
{
	u64 span = PAGE_SIZE << (9 * (level + 1));

	if (!table_next(mm->pml4, va, end, level) || *va + span > ceiling)
		return NULL;
	return table_take_empty(mm->pml4, *va, level);
}

/* The empty tables of one level, from *va on. false: no room for more before these are freed. */
static bool take_level(struct mm *mm, u64 *va, u64 end, u64 ceiling, unsigned level,
		       struct empty_tables *empty)
{
	for (; *va < end; *va += PAGE_SIZE << (9 * (level + 1))) {
		if (empty->nr == MANY)
			return false;
		spin_lock(&mm->ptl);
		empty->table[empty->nr] = take_next(mm, va, end, ceiling, level);
		spin_unlock(&mm->ptl);
		if (empty->table[empty->nr])
			empty->nr++;
	}
	return true;
}

static void flush_and_free(struct mm *mm, struct empty_tables *empty)
{
	if (!empty->nr)
		return;
	flush_tlb_freed_tables(mm);
	while (empty->nr)
		kpage_free(empty->table[--empty->nr], 0);
}

void free_pgtables(struct mm *mm, u64 start, u64 end)
{
	struct empty_tables empty = {.nr = 0};
	u64 floor = start, ceiling = end, va, span;
	unsigned level;

	mutex_assert_held(&mm->mmap_lock);
	if (pml4_nr_tables(mm->pml4) < TABLES_KEPT)
		return;
	widen_to_neighbours(mm, &floor, &ceiling);
	for (level = 0; level < NR_LEVELS - 1; level++) {
		span = PAGE_SIZE << (9 * (level + 1));
		va = MAX(ALIGN_DOWN(start, span), ALIGN_UP(floor, span));
		while (!take_level(mm, &va, end, ceiling, level, &empty))
			flush_and_free(mm, &empty);
	}
	flush_and_free(mm, &empty);
}
