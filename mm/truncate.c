/*
 * truncate.c - an object changes its size, and pages past its end go (see object.h).
 *
 * Bytes past the end read as zero when the object grows again, wherever they came from: they were
 * in the file before it shrank, or a mapping of the last page stored there. A private copy of a
 * page past the end goes with the page, as on Linux (even_cows): its address then gives SIGBUS.
 *
 * The size changes first. Whoever maps a page looks at the size under the ptl (fault.c), and the
 * walks here take every ptl afterwards: each such mapping is seen here, or sees the new size.
 */
#include "arch/paging.h"
#include "kernel/lib.h"
#include "kernel/wait.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb.h"

/* ---- Cached pages ---------------------------------------------------------------------------- */

static void unmap_and_evict(struct page *page)
{
	struct unmap_result unmapped;

	try_to_unmap(page, true, &unmapped);
	if (unmapped.ptes)
		flush_tlb_cpus(unmapped.cpus, TLB_UNMAP);
	page_cache_evict(page);
}

/* Bytes of the page that are at or past `from` in the object read as zero. */
static void clear_from(struct page *page, u64 from)
{
	u64 start = page->index * PAGE_SIZE, keep = from > start ? from - start : 0;

	if (keep < PAGE_SIZE)
		memset((u8 *)phys_to_virt(page_to_phys(page)) + keep, 0, PAGE_SIZE - keep);
}

/*
 * The pager may be the one who truncates, so it does not wait for a page whose lock holder waits
 * for the pager. Such a page is cleared, because a page-out on its way must not bring its bytes back
 * after the object has grown again, and marked: the holder evicts it (page_trim), and until then
 * whoever wants the page waits for its lock.
 */
static void drop_page(struct vm_object *object, struct page *page)
{
	if (!lock_page_unless_io(page, PG_truncated)) {
		clear_from(page, 0);
		return;
	}
	if (page->object == object)
		unmap_and_evict(page);
	unlock_page(page);
}

void page_trim(struct page *page)
{
	struct vm_object *object = page->object;

	if (!object || object->kind != OBJECT_PAGED)
		return;
	if (page_test(page, PG_truncated) || page->index >= object_nr_pages(object))
		unmap_and_evict(page); /* while its holder waited, anybody could map it */
	else
		clear_from(page, READ_ONCE(object->size));
}

/*
 * The last page's bytes from `size` on. If its lock holder waits for the pager, our reference keeps
 * the frame, a page-out takes along at most the zeroes, and a page-in is trimmed by its holder.
 */
static void clear_tail(struct vm_object *object, u64 size)
{
	struct page *page = size % PAGE_SIZE ? page_cache_find(object, size / PAGE_SIZE) : NULL;
	bool locked;

	if (!page)
		return;
	locked = lock_page_unless_io(page, 0);
	clear_from(page, size);
	if (locked)
		unlock_page(page);
	put_page(page);
}

/* ---- Private copies -------------------------------------------------------------------------- */

/* The area's first private page of what the object has from `first` on. Context: ptl held. */
static struct page *private_page_in(struct vm_area *vma, u64 first)
{
	u64 skip = first > vma->pgoff ? first - vma->pgoff : 0, va;
	pte_t *pte;

	if (skip >= vma_pages(vma))
		return NULL;
	va = vma->start + (skip << PAGE_SHIFT);
	for (; (pte = pte_next(vma->mm->pml4, &va, vma->end)); va += PAGE_SIZE) {
		if (pte_is_migration(pte_read(pte))) { /* the migrator will not find it */
			(void)pte_get_and_clear(pte);
			vma->mm->rss_pages--;
		} else if (page_test(pfn_to_page(pte_pfn(pte_read(pte))), PG_anon)) {
			return pfn_to_page(pte_pfn(pte_read(pte)));
		}
	}
	return NULL;
}

/* A private copy of such a page in any address space, with a reference; NULL: there is none. */
static struct page *private_page_from(struct vm_object *object, u64 first)
{
	struct vm_area *vma;
	struct page *page;

	spin_guard(&object->lock);
	list_for_each(vma, &object->mappings, object_node) {
		if (vma->flags & VMA_SHARED)
			continue;
		spin_guard(&vma->mm->ptl);
		page = private_page_in(vma, first);
		if (page) {
			get_page(page);
			return page;
		}
	}
	return NULL;
}

/* Whoever shares the copy since a fork has it at the same place of the same file: all lose it. */
static void drop_private_pages(struct vm_object *object, u64 first)
{
	struct unmap_result unmapped;
	struct page *page;

	while ((page = private_page_from(object, first))) {
		lock_page(page);
		try_to_unmap(page, true, &unmapped);
		if (unmapped.ptes)
			flush_tlb_cpus(unmapped.cpus, TLB_UNMAP);
		unlock_page(page);
		put_page(page);
	}
}

/* ---- The size -------------------------------------------------------------------------------- */

void object_drop_pages(struct vm_object *object, u64 first)
{
	page_cache_sweep(object, first, drop_page);
}

void object_resize(struct vm_object *object, u64 size)
{
	u64 old = object->size;

	object_make_writable(object); /* frames in limbo must not show what is cleared here */
	if (size > old)
		clear_tail(object, old);
	WRITE_ONCE(object->size, size); /* first: no fault maps a page past the end from here on */
	if (size >= old)
		return;
	object_drop_pages(object, DIV_ROUND_UP(size, PAGE_SIZE));
	drop_private_pages(object, DIV_ROUND_UP(size, PAGE_SIZE));
	clear_tail(object, size);
}
