/* batch.c - scenarios for mm/tlb_batch.c, mm/rmap.c and flush_tlb_batched_pending. */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "kernel/errno.h"
#include "machine.h"
#include "mm/object.h"
#include "mm/rmap.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"
#include "model.h"

static const struct lock_class object_class = {"object", RANK_OBJECT, false};
static struct vm_object object;
static struct vm_area vma;

/* Address space 0 maps an object; both pages are cached and mapped once. */
static void setup_object(void)
{
	unsigned i;

	object = (struct vm_object){.kind = OBJECT_SHMEM};
	spin_init(&object.lock, &object_class);
	list_init(&object.mappings);
	vma = (struct vm_area){.mm = &mms[0], .start = PAGE_VA(0), .end = PAGE_VA(NR_PAGES)};
	list_add(&vma.object_node, &object.mappings);
	for (i = 0; i < NR_PAGES; i++) {
		struct page *page = pfn_to_page(FRAME(0, i));

		*page = (struct page){.flags = PG_locked, .refcount = 2, .mapcount = 1,
				      .object = &object, .index = i};
	}
	NAME(object.lock);
}

/* What reclaim does with a page of its list; its flush comes later. */
static void gather(unsigned i)
{
	struct page *page = pfn_to_page(FRAME(0, i));
	struct unmap_result result;

	try_to_unmap(page, false, &result);
	if (!result.ptes)
		return; /* somebody unmaps it, and will free it */
	page->refcount = 0;
	tlb_ubc_gather(result.cpus, result.dirty, TLB_RECLAIM);
	tlb_ubc_add_frame(page);
}

static void check_batch(void)
{
	require(limbo_pages() == 0, "%lu frames are left in limbo", limbo_pages());
	check_counters();
}

/* munmap of one page: after it nobody may have a translation, whoever cleared the PTE. */
static void munmap_page(unsigned i)
{
	pte_t old;

	spin_lock(&mms[0].ptl);
	old = pte_get_and_clear(&ptes[0][i]);
	spin_unlock(&mms[0].ptl);
	if (old)
		flush_tlb_mm_range(&mms[0], PAGE_VA(i), PAGE_VA(i + 1), TLB_UNMAP);
	flush_tlb_batched_pending(&mms[0]);
	assert_gone(0, i);
	if (old)
		assert_frame_free(FRAME(0, i));
}

/* ---- Reclaim against CPUs that come and go --------------------------------------------------- */

static void reclaim_one(void)
{
	gather(0);
	try_to_unmap_flush();
}

static void reclaim_both(void)
{
	gather(0);
	gather(1);
	try_to_unmap_flush();
}

static void reclaim_other(void)
{
	gather(1);
	try_to_unmap_flush();
}

static void munmap_one(void)
{
	munmap_page(0);
}

static void munmap_both(void)
{
	munmap_page(0);
	munmap_page(1);
}

static void switch_to(struct mm *next)
{
	local_irq_disable();
	switch_mm_irqoff(next);
	local_irq_enable();
}

static void come(void)
{
	switch_to(&mms[0]);
	enter_user();
}

static void out_and_in(void)
{
	leave_user();
	switch_to(NULL);
	come();
}

static void setup_idle(void)
{
	setup_object();
}

static void setup_user(void)
{
	setup_object();
	start_cpu(1, &mms[0], IN_USER);
}

static void setup_reader(void)
{
	setup_object();
	start_cpu(2, &mms[0], IN_USER);
}

static void nothing(void)
{
}

const struct scenario batch_scenarios[] = {
	{"reclaim_switch_in", "reclaim gathers while a CPU enters the address space", 5, setup_idle,
	 {reclaim_one, come}, NULL, check_batch},
	{"reclaim_lazy", "reclaim gathers two pages while a CPU goes lazy and comes back", 4,
	 setup_user, {reclaim_both, out_and_in}, NULL, check_batch},
	{"munmap_waits", "munmap while a batch owes the flush", 2, setup_reader,
	 {reclaim_one, munmap_one, nothing}, NULL, check_batch},
	{"two_munmaps", "a gather between a munmap's look and its flush", 2, setup_reader,
	 {reclaim_both, munmap_both, nothing}, NULL, check_batch},
	{"two_reclaimers", "two batches and a CPU that goes lazy and comes back", 1, setup_reader,
	 {reclaim_one, reclaim_other, out_and_in}, NULL, check_batch},
	{0},
};
