/*
 * vmap_pool.c - areas that have been flushed, kept by size for the CPU that purged them: the next
 * allocation there needs no tree, no common lock and no kmalloc. Their addresses stay taken; when
 * others run out of them, or another policy comes, they go back.
 */
#include "kernel/cpu.h"
#include "kernel/trace.h"
#include "mm/tlbsan.h"
#include "mm/vmalloc.h"
#include "mm/vmap.h"

#define POOL_SIZES 16 /* areas of up to so many pages */

static const struct lock_class pool_class = {"vmap pool", RANK_VMAP_POOL, false};
static struct vmap_pool {
	spinlock_t lock;
	u64 pages;
	struct llist_node *areas[POOL_SIZES + 1]; /* by pages */
} pools[NR_CPUS];

void vmap_pool_init(void)
{
	unsigned cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++)
		spin_init(&pools[cpu].lock, &pool_class);
}

bool vmap_pool_put(struct vmap_area *area)
{
	struct vmap_pool *pool = &pools[smp_cpu_id()];
	u64 pages = vmap_pages(area);

	if (pages > POOL_SIZES || area->block)
		return false;
	spin_guard(&pool->lock);
	if (pool->pages + pages > READ_ONCE(lazy_max_pages) / cpus_online())
		return false;
	tlbsan_check_range(NULL, area->node.start, area->node.end, tlbsan_now());
	TRACE(purge, area->node.start, pages);
	area->state = VMAP_POOL;
	area->lazy.next = pool->areas[pages];
	pool->areas[pages] = &area->lazy;
	pool->pages += pages;
	return true;
}

struct vmap_area *vmap_pool_get(u64 bytes)
{
	struct vmap_pool *pool = &pools[smp_cpu_id()];
	u64 pages = bytes >> PAGE_SHIFT;
	struct llist_node *node;

	if (!purge_keeps_pools() || pages > POOL_SIZES || !READ_ONCE(pool->areas[pages]))
		return NULL;
	spin_guard(&pool->lock);
	node = pool->areas[pages];
	if (!node)
		return NULL;
	pool->areas[pages] = node->next;
	pool->pages -= pages;
	vmap_area_of(node)->state = VMAP_BUSY;
	return vmap_area_of(node);
}

static void drain_pool(struct vmap_pool *pool)
{
	struct llist_node *node, *next;
	unsigned pages;

	spin_lock(&vmap_area_lock);
	spin_lock(&pool->lock);
	for (pages = 0; pages <= POOL_SIZES; pages++) {
		llist_for_each_safe(node, next, pool->areas[pages])
			free_vmap_area(vmap_area_of(node));
		pool->areas[pages] = NULL;
	}
	pool->pages = 0;
	spin_unlock(&pool->lock);
	spin_unlock(&vmap_area_lock);
}

void vmap_pools_drain(void)
{
	unsigned cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++)
		if (READ_ONCE(pools[cpu].pages))
			drain_pool(&pools[cpu]);
}
