/* compact.c - the two scanners, and who starts them (see compact.h). */
#include "mm/compact.h"
#include "kernel/cmdline.h"
#include "kernel/lib.h"
#include "kernel/mutex.h"
#include "mm/lru.h"
#include "mm/migrate.h"
#include "mm/page_alloc.h"
#include "mm/tlb_batch.h"

#define BLOCK_PAGES    (1ul << COMPACT_ORDER)
#define SPARE_BLOCKS   4 /* kcompactd's goal */

struct compact_control {
	u64 migrate_block, free_block; /* where the scanners are, in blocks */
	struct list_head free; /* single frames for pages to move to */
	u64 nr_free;
};

static const struct lock_class compact_class = {"compaction", RANK_COMPACT, false};
static struct mutex compact_lock;
static struct wait_queue kcompactd_wait;
static bool enabled, wanted;

/* ---- The free scanner ------------------------------------------------------------------------ */

/*
 * Blocks that are free as a whole are what we are here for: they stay. So does the others' reserve.
 */
static void take_free_frames(struct compact_control *cc, u64 enough)
{
	while (cc->nr_free < enough && cc->free_block > cc->migrate_block + 1 &&
	       nr_free_pages() >= watermarks.min + BLOCK_PAGES) {
		cc->free_block--;
		cc->nr_free += isolate_free_frames(cc->free_block * BLOCK_PAGES,
						   (cc->free_block + 1) * BLOCK_PAGES, COMPACT_ORDER,
						   &cc->free);
	}
}

static void give_free_frames_back(struct compact_control *cc)
{
	struct page *page;

	while ((page = list_pop(&cc->free, struct page, lru)))
		free_pages(page, 0);
	cc->nr_free = 0;
}

static struct page *next_free_frame(struct page *page, void *arg)
{
	struct compact_control *cc = arg;

	(void)page;
	if (!cc->nr_free)
		return NULL;
	cc->nr_free--;
	return list_pop(&cc->free, struct page, lru);
}

/* ---- The migrate scanner --------------------------------------------------------------------- */

/* Movable pages and free frames only, and not only the latter: emptying it makes a block. */
static bool is_worthwhile(u64 block)
{
	u64 pfn = block * BLOCK_PAGES, end = pfn + BLOCK_PAGES, movable = 0;

	while (pfn < end) {
		struct page *page = pfn_to_page(pfn);

		if (page_test(page, PG_buddy)) {
			pfn += 1ul << MIN(READ_ONCE(page->order), COMPACT_ORDER);
			continue;
		}
		if (!page_test(page, PG_lru))
			return false; /* somebody's who cannot be told, or in limbo */
		movable++;
		pfn++;
	}
	return movable > 0;
}

static u64 isolate_block(u64 block, struct list_head *pages)
{
	u64 pfn, n = 0;

	for (pfn = block * BLOCK_PAGES; pfn < (block + 1) * BLOCK_PAGES; pfn++)
		if (lru_isolate_page(pfn_to_page(pfn))) {
			list_add_tail(&pfn_to_page(pfn)->lru, pages);
			n++;
		}
	return n;
}

static void empty_block(struct compact_control *cc)
{
	struct list_head pages = LIST_HEAD_INIT(pages);
	struct migrate_result result = {0};
	u64 n = isolate_block(cc->migrate_block, &pages);

	take_free_frames(cc, n);
	if (cc->nr_free < n)
		lru_putback(&pages); /* half a block helps nobody */
	else if (n)
		migrate_pages(&pages, next_free_frame, cc, &result);
}

/* ---- Who starts it --------------------------------------------------------------------------- */

static bool compact_until(unsigned order, u64 blocks)
{
	struct compact_control cc = {.free_block = max_pfn / BLOCK_PAGES};

	list_init(&cc.free);
	mutex_guard(&compact_lock);
	count_vm_event(compact_runs);
	for (; cc.migrate_block + 1 < cc.free_block && nr_free_blocks(order) < blocks;
	     cc.migrate_block++)
		if (is_worthwhile(cc.migrate_block))
			empty_block(&cc);
	give_free_frames_back(&cc);
	return nr_free_blocks(order) >= blocks;
}

bool compact_memory(unsigned order)
{
	return enabled && !(current->flags & PF_MEMALLOC) && compact_until(order, 1);
}

static void kcompactd(void *arg)
{
	(void)arg;
	for (;;) {
		wait_event(&kcompactd_wait, xchg(&wanted, false));
		(void)compact_until(COMPACT_ORDER, SPARE_BLOCKS);
	}
}

void wake_kcompactd(void)
{
	if (!enabled)
		return;
	WRITE_ONCE(wanted, true);
	wake_up_all(&kcompactd_wait);
}

void compact_init(void)
{
	char value[8];

	enabled = cmdline_get("compact", value, sizeof(value)) <= 0 || strcmp(value, "off");
	mutex_init(&compact_lock, &compact_class);
	wait_queue_init(&kcompactd_wait);
	kthread_run("kcompactd", kcompactd, NULL, PRIO_KTHREAD);
}
