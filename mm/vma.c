/* vma.c - the areas of an address space (see vma.h). */
#include "mm/vma.h"
#include "arch/paging.h"
#include "kernel/file.h"
#include "mm/object.h"
#include "mm/slab.h"

#define MMAP_BASE 0x0000100000000000ull

#define MAX_MAP_COUNT 65530 /* areas of an address space, as Linux's vm.max_map_count */
#define VMA_BYTES     256   /* what an area costs: itself and its anonymous object, in their slabs */

/* Let the reverse map find vma, or no longer, from the pages of its two objects. */
static void link_objects(struct vm_area *vma)
{
	if (vma->object) {
		spin_guard(&vma->object->lock);
		list_add_tail(&vma->object_node, &vma->object->mappings);
	}
	if (vma->anon) {
		spin_guard(&vma->anon->lock);
		list_add_tail(&vma->anon_node, &vma->anon->mappings);
	}
}

static void unlink_objects(struct vm_area *vma)
{
	if (vma->object) {
		spin_guard(&vma->object->lock);
		list_del(&vma->object_node);
	}
	if (vma->anon) {
		spin_guard(&vma->anon->lock);
		list_del(&vma->anon_node);
	}
}

/* The list changes under the ptl too: mm_footprint walks it under that alone. */
static void list_in(struct vm_area *vma, struct list_head *after)
{
	spin_guard(&vma->mm->ptl);
	list_add(&vma->node, after);
	vma->mm->nr_vmas++;
}

static void list_out(struct vm_area *vma)
{
	spin_guard(&vma->mm->ptl);
	list_del(&vma->node);
	vma->mm->nr_vmas--;
}

static void vma_link(struct vm_area *vma)
{
	struct vm_area *next;

	list_for_each(next, &vma->mm->vmas, node)
		if (next->start >= vma->end)
			break;
	list_in(vma, next->node.prev);
	link_objects(vma);
}

static struct vm_area *vma_alloc(struct mm *mm, u64 start, u64 end, u32 flags)
{
	struct vm_area *vma = mm->nr_vmas < MAX_MAP_COUNT ? kzalloc(sizeof(*vma)) : NULL;

	ASSERT(start < end && IS_ALIGNED(start | end, PAGE_SIZE), "bad area %lx-%lx", start, end);
	if (!vma)
		return NULL;
	vma->mm = mm;
	vma->start = start;
	vma->end = end;
	vma->flags = flags;
	list_init(&vma->node);
	list_init(&vma->object_node);
	list_init(&vma->anon_node);
	return vma;
}

struct vm_area *vma_create(struct mm *mm, u64 start, u64 end, u32 flags, struct vm_object *object,
			   u64 pgoff)
{
	struct vm_area *vma = vma_alloc(mm, start, end, flags);

	if (!vma)
		return NULL;
	if (!(flags & VMA_SHARED)) {
		vma->anon_pgoff = start >> PAGE_SHIFT;
		vma->anon = object_create(OBJECT_ANON, NULL, 0, 0);
		if (!vma->anon) {
			kfree(vma);
			return NULL;
		}
	}
	vma->object = object_get(object);
	vma->pgoff = pgoff;
	vma_link(vma);
	return vma;
}

/* What an object has in the cache may be mapped, and counted as such, or not: the larger of the two. */
u64 mm_footprint(struct mm *mm)
{
	const struct vm_object *last = NULL;
	u64 cached = 0;
	struct vm_area *vma;

	spin_guard(&mm->ptl);
	list_for_each(vma, &mm->vmas, node)
		if (vma->object && vma->object != last) { /* parts of one mapping are neighbours */
			cached += object_footprint(vma->object);
			last = vma->object;
		}
	return MAX(mm->rss_pages, cached) + pml4_nr_tables(mm->pml4) + 1 +
	       DIV_ROUND_UP(mm->nr_vmas * VMA_BYTES, PAGE_SIZE);
}

/* An area like vma over part of its range, with references of its own; not linked. */
static struct vm_area *vma_part(struct vm_area *vma, struct mm *mm, u64 start, u64 end)
{
	struct vm_area *part = vma_alloc(mm, start, end, vma->flags);
	u64 skip = (start - vma->start) >> PAGE_SHIFT;

	if (!part)
		return NULL;
	part->object = object_get(vma->object);
	part->pgoff = vma->pgoff + skip;
	part->anon = object_get(vma->anon);
	part->anon_pgoff = vma->anon_pgoff + skip;
	part->file = file_get(vma->file);
	return part;
}

struct vm_area *vma_copy(struct vm_area *vma, struct mm *child)
{
	struct vm_area *copy = vma_part(vma, child, vma->start, vma->end);

	if (!copy)
		return NULL;
	copy->flags &= ~VMA_LOCKED;
	vma_link(copy);
	return copy;
}

/* Under the ptl, because reverse-map walks compute addresses under it. */
void vma_set_end(struct vm_area *vma, u64 end)
{
	spin_guard(&vma->mm->ptl);
	vma->end = end;
}

/* For a moment both parts show the upper range: a walk that finds a page twice does no harm. */
int vma_split(struct vm_area *vma, u64 addr)
{
	struct vm_area *upper = vma_part(vma, vma->mm, addr, vma->end);

	if (!upper)
		return -ENOMEM;
	list_in(upper, &vma->node);
	link_objects(upper);
	vma_set_end(vma, addr);
	return 0;
}

int vma_split_around(struct mm *mm, u64 start, u64 end)
{
	u64 cuts[2] = {start, end};
	int i;

	for (i = 0; i < 2; i++) {
		struct vm_area *vma = find_vma(mm, cuts[i]);

		if (vma && vma->start < cuts[i] && vma_split(vma, cuts[i]))
			return -ENOMEM;
	}
	return 0;
}

void vma_free(struct vm_area *vma)
{
	list_out(vma);
	unlink_objects(vma);
	object_put(vma->object);
	object_put(vma->anon);
	file_put(vma->file);
	kfree(vma);
}

struct vm_area *find_vma(struct mm *mm, u64 addr)
{
	struct vm_area *vma;

	list_for_each(vma, &mm->vmas, node) {
		if (addr < vma->start)
			return NULL;
		if (addr < vma->end)
			return vma;
	}
	return NULL;
}

bool vma_overlaps(struct mm *mm, u64 start, u64 end)
{
	struct vm_area *vma;

	list_for_each(vma, &mm->vmas, node)
		if (start < vma->end && vma->start < end)
			return true;
	return false;
}

u64 vma_find_hole(struct mm *mm, u64 len)
{
	struct vm_area *vma;
	u64 at = MMAP_BASE;

	list_for_each(vma, &mm->vmas, node) {
		if (vma->end <= at)
			continue;
		if (vma->start >= at && vma->start - at >= len)
			break;
		at = vma->end;
	}
	return at + len <= USER_END && at + len > at ? at : 0;
}
