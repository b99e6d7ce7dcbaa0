/* vmalloc.c - areas, what is mapped in them, and kernel stacks (see vmalloc.h). */
#include "mm/vmalloc.h"
#include "arch/paging.h"
#include "kernel/lib.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/tlbsan.h"
#include "mm/vmap.h"

#define KERNEL_DATA (PTE_P | PTE_W | PTE_A | PTE_D | PTE_G | PTE_NX)

static const struct lock_class area_class = {"vmap areas", RANK_VMAP_AREA, false};
spinlock_t vmap_area_lock = SPINLOCK_INIT(area_class);
/*
 * A hole before the first area: 0 is no address of an area, and the first stack has a guard page.
 */
struct vmap_tree vmap_areas = {NULL, VMALLOC_BASE + PAGE_SIZE, VMALLOC_END};

static const struct lock_class stacks_class = {"stack cache", RANK_SLAB, false};
static spinlock_t stacks_lock = SPINLOCK_INIT(stacks_class);
static u64 free_stacks; /* chained through their first words */

/* Areas freed where nobody may sleep, chained through their first words. */
static struct llist_head vfree_deferred;
static struct wait_queue vfree_wait;

/* ---- Addresses ------------------------------------------------------------------------------- */

static bool take_hole(struct vmap_area *area, u64 bytes, u64 align)
{
	spin_guard(&vmap_area_lock);
	area->node.start = vmap_tree_find_hole(&vmap_areas, bytes, align);
	if (!area->node.start)
		return false;
	area->node.end = area->node.start + bytes;
	vmap_tree_insert(&vmap_areas, &area->node);
	return true;
}

struct vmap_area *alloc_vmap_area(u64 bytes, u64 align)
{
	struct vmap_area *area = align == PAGE_SIZE ? vmap_pool_get(bytes) : NULL;

	if (area)
		return area;
	area = kzalloc(sizeof(*area));
	if (!area || take_hole(area, bytes, align))
		return area;
	purge_vmap_area_lazy();
	if (take_hole(area, bytes, align))
		return area;
	kfree(area);
	return NULL;
}

struct vmap_area *find_vmap_area(const void *addr)
{
	struct vmap_area *area = NULL;
	struct vmap_node *node;

	spin_lock(&vmap_area_lock);
	node = vmap_tree_find(&vmap_areas, (u64)addr);
	if (node)
		area = container_of(node, struct vmap_area, node);
	spin_unlock(&vmap_area_lock);
	ASSERT(area && area->state == VMAP_BUSY && (area->block || node->start == (u64)addr),
	       "%p is freed and is no area, or freed already", addr);
	return area;
}

/* ---- What is mapped -------------------------------------------------------------------------- */

void vmap_unmap_range(u64 start, u64 end, bool held, bool free_frames)
{
	pte_t *pte, old;
	u64 va;

	for (va = start; (pte = pte_next(kernel_pml4, &va, end)); va += PAGE_SIZE) {
		old = held ? atomic_fetch_and(pte, ~PTE_P) : pte_get_and_clear(pte);
		tlbsan_vmap_gone(va, old, held);
		if (free_frames && !held)
			free_pages(pfn_to_page(pte_pfn(old)), 0);
	}
}

void vmap_free_held(u64 start, u64 end)
{
	pte_t *pte;
	u64 va;

	for (va = start; (pte = pte_next(kernel_pml4, &va, end)); va += PAGE_SIZE)
		free_pages(pfn_to_page(pte_pfn(pte_get_and_clear(pte))), 0);
}

bool vmap_map_range(u64 start, struct page **pages, unsigned count)
{
	unsigned i;
	pte_t *pte;

	for (i = 0; i < count; i++) {
		pte = pte_alloc(kernel_pml4, start + i * PAGE_SIZE);
		if (!pte)
			return false;
		ASSERT(!pte_read(pte), "%lx is mapped already", start + i * PAGE_SIZE);
		pte_set(pte, make_pte(page_to_pfn(pages[i]), KERNEL_DATA));
	}
	return true;
}

static bool map_new_pages(u64 start, u64 end, u32 gfp)
{
	struct page *page;
	u64 va;

	for (va = start; va < end; va += PAGE_SIZE) {
		page = alloc_pages(0, gfp);
		if (!page)
			return false;
		if (!vmap_map_range(va, &page, 1)) {
			free_pages(page, 0);
			return false;
		}
	}
	return true;
}

static void *vmalloc_area(size_t size, size_t align, u32 gfp)
{
	u64 bytes = ALIGN_UP(size, PAGE_SIZE);
	struct vmap_area *area;

	ASSERT((align & (align - 1)) == 0, "alignment %lx is no power of two", align);
	if (!size || bytes >> PAGE_SHIFT > mem_total_pages || bytes < size)
		return NULL;
	area = alloc_vmap_area(bytes + PAGE_SIZE, MAX(align, PAGE_SIZE));
	if (!area)
		return NULL;
	area->owns_frames = true;
	if (map_new_pages(area->node.start, area->node.start + bytes, gfp))
		return (void *)area->node.start;
	free_vmap_area_lazy(area);
	return NULL;
}

void *vmalloc(size_t size)
{
	return vmalloc_area(size, PAGE_SIZE, GFP_KERNEL);
}

void *vzalloc(size_t size)
{
	return vmalloc_area(size, PAGE_SIZE, GFP_KERNEL | GFP_ZERO);
}

void *vmalloc_align(size_t size, size_t align)
{
	return vmalloc_area(size, align, GFP_KERNEL);
}

void *vmap(struct page **pages, unsigned count)
{
	struct vmap_area *area = count ? alloc_vmap_area((count + 1ul) * PAGE_SIZE, PAGE_SIZE) : NULL;

	if (!area)
		return NULL;
	area->owns_frames = false;
	if (vmap_map_range(area->node.start, pages, count))
		return (void *)area->node.start;
	free_vmap_area_lazy(area);
	return NULL;
}

struct page *vmalloc_to_page(const void *addr)
{
	pte_t *pte = pte_lookup(kernel_pml4, (u64)addr);

	return pte && (pte_read(pte) & PTE_P) ? pfn_to_page(pte_pfn(pte_read(pte))) : NULL;
}

/* ---- Freeing --------------------------------------------------------------------------------- */

void free_vmap_area_lazy(struct vmap_area *area)
{
	assert_may_sleep("vfree");
	area->state = VMAP_LAZY;
	area->held = area->owns_frames && READ_ONCE(vmap_frames_held);
	vmap_unmap_range(area->node.start, area->node.end, area->held, area->owns_frames);
	purge_queue(area);
	purge_if_many();
}

void vunmap(void *addr)
{
	struct vmap_area *area = find_vmap_area(addr);

	ASSERT(!area->owns_frames && !area->block, "vunmap of %p, which is not vmap's", addr);
	free_vmap_area_lazy(area);
}

void vfree(void *addr)
{
	struct vmap_area *area;

	if (!addr)
		return;
	if (!may_sleep() && scheduler_running) {
		if (llist_add(addr, &vfree_deferred))
			wake_up_one(&vfree_wait);
		return;
	}
	area = find_vmap_area(addr);
	ASSERT(area->owns_frames, "vfree of %p, which is not vmalloc's", addr);
	free_vmap_area_lazy(area);
}

static void vfree_thread(void *unused)
{
	struct llist_node *node, *next;

	(void)unused;
	for (;;) {
		wait_event(&vfree_wait, !llist_empty(&vfree_deferred));
		llist_for_each_safe(node, next, llist_del_all(&vfree_deferred))
			vfree(node);
	}
}

void vmalloc_init(void)
{
	wait_queue_init(&vfree_wait);
	purge_init();
	vmap_block_init();
	vmap_pool_init();
}

void vmalloc_late_init(void)
{
	purge_init();
	kthread_run("vfree", vfree_thread, NULL, PRIO_KTHREAD);
}

/* ---- Kernel stacks --------------------------------------------------------------------------- */

u64 kernel_stack_alloc(void)
{
	u64 base;

	spin_lock(&stacks_lock);
	base = free_stacks;
	if (base)
		free_stacks = *(u64 *)base;
	spin_unlock(&stacks_lock);
	return base ? base : (u64)vzalloc(KERNEL_STACK_SIZE);
}

void kernel_stack_free(u64 base)
{
	spin_guard(&stacks_lock);
	*(u64 *)base = free_stacks;
	free_stacks = base;
}
