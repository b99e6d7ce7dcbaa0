/*
 * vmap_block.c - vm_map_ram: small mappings out of blocks of addresses that belong to a CPU.
 *
 *   block    |mmmmuuuummmmmmuuu.......|       m mapped   u unmapped: dirty until it is flushed
 *                 ^dirty     ^ used           . not given out yet
 *
 * Addresses are given out from the front and never twice: when all of a block has been unmapped,
 * the whole block goes the lazy way. Whoever needs to be sure before that (vm_unmap_aliases)
 * flushes the dirty range. All blocks of a CPU stay on its list, full ones too: what was unmapped
 * in a full block is as stale as elsewhere. (Linux once looked only at those with room:
 * fc1e0d980037.)
 *
 * Source: Linux's vmap_block, by Nick Piggin, 2008.
 */
#include "arch/paging.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "kernel/perturb.h"
#include "mm/slab.h"
#include "mm/tlbsan.h"
#include "mm/vmalloc.h"
#include "mm/vmap.h"

#define BLOCK_SIZE (VMAP_BLOCK_PAGES * PAGE_SIZE)

struct vmap_block {
	struct list_head node; /* the queue's; this and what follows under its lock */
	struct vmap_block_queue *queue;
	struct vmap_area *area;
	u32 used, unmapped; /* pages */
	u64 dirty_start, dirty_end;
};

static const struct lock_class queue_class = {"vmap blocks", RANK_VMAP_AREA, false};
static struct vmap_block_queue {
	spinlock_t lock;
	struct list_head blocks; /* all of this CPU's */
} queues[NR_CPUS];

void vmap_block_init(void)
{
	unsigned cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		spin_init(&queues[cpu].lock, &queue_class);
		list_init(&queues[cpu].blocks);
	}
}

/* Addresses in a block with room, or 0. New blocks come first. */
static u64 take_from_block(struct vmap_block_queue *queue, unsigned count)
{
	struct vmap_block *block;

	spin_guard(&queue->lock);
	list_for_each(block, &queue->blocks, node)
		if (block->used + count <= VMAP_BLOCK_PAGES) {
			block->used += count;
			return block->area->node.start + (block->used - count) * PAGE_SIZE;
		}
	return 0;
}

static bool add_block(struct vmap_block_queue *queue)
{
	struct vmap_block *block = kzalloc(sizeof(*block));

	if (block)
		block->area = alloc_vmap_area(BLOCK_SIZE, BLOCK_SIZE);
	if (!block || !block->area) {
		kfree(block);
		return false;
	}
	block->area->block = block;
	block->queue = queue;
	block->dirty_start = ~0ul;
	spin_guard(&queue->lock);
	list_add(&block->node, &queue->blocks);
	return true;
}

void *vm_map_ram(struct page **pages, unsigned count)
{
	struct vmap_block_queue *queue = &queues[smp_cpu_id()];
	u64 at = 0;

	ASSERT(count > 0 && count <= VMAP_MAX_ALLOC, "vm_map_ram of %u pages", count);
	while (!(at = take_from_block(queue, count)))
		if (!add_block(queue))
			return NULL;
	if (vmap_map_range(at, pages, count))
		return (void *)at;
	vm_unmap_ram((void *)at, count);
	return NULL;
}

/*
 * From the queue to a lazy list under one lock: a purge looks at the blocks first and then at the
 * lists, and must find what was unmapped here in one of them. Context: the queue's lock held.
 */
static void take_off(struct vmap_block *block, struct list_head *gone)
{
	list_del(&block->node);
	list_add(&block->node, gone);
	block->area->owns_frames = false;
	block->area->state = VMAP_LAZY;
	purge_queue(block->area); /* no longer ours */
}

static void free_blocks(struct list_head *gone)
{
	struct vmap_block *block;

	while ((block = list_pop(gone, struct vmap_block, node))) {
		SYNC_POINT(block_gone);
		kfree(block);
	}
}

void vm_unmap_ram(void *addr, unsigned count)
{
	u64 start = (u64)addr, end = start + count * PAGE_SIZE, mark;
	struct vmap_block *block = find_vmap_area(addr)->block;
	struct vmap_block_queue *queue;
	struct list_head gone = LIST_HEAD_INIT(gone);

	ASSERT(block, "vm_unmap_ram of %p, which is not vm_map_ram's", addr);
	vmap_unmap_range(start, end, false, false);
	mark = tlbsan_now();
	queue = block->queue;
	spin_lock(&queue->lock);
	block->dirty_start = MIN(block->dirty_start, start);
	block->dirty_end = MAX(block->dirty_end, end);
	block->unmapped += count;
	ASSERT(block->unmapped <= block->used, "%u pages unmapped in a block, %u given out",
	       block->unmapped, block->used);
	if (block->unmapped == VMAP_BLOCK_PAGES)
		take_off(block, &gone);
	spin_unlock(&queue->lock);
	tlbsan_vmap_queued(start, end, mark);
	free_blocks(&gone);
	purge_if_many();
}

/* Context: the queue's lock held. */
static void collect_dirty(struct vmap_block *block, u64 *start, u64 *end, struct list_head *gone)
{
	if (block->dirty_end) {
		*start = MIN(*start, block->dirty_start);
		*end = MAX(*end, block->dirty_end);
		block->dirty_start = ~0ul;
		block->dirty_end = 0;
	}
	if (block->used && block->unmapped == block->used)
		take_off(block, gone);
}

void vmap_blocks_dirty(u64 *start, u64 *end)
{
	struct list_head gone = LIST_HEAD_INIT(gone);
	struct vmap_block *block, *next;
	unsigned cpu;

	for_each_online_cpu(cpu) {
		spin_guard(&queues[cpu].lock);
		list_for_each_safe(block, next, &queues[cpu].blocks, node)
			collect_dirty(block, start, end, &gone);
	}
	free_blocks(&gone);
}
