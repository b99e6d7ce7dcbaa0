/* tlb_batch.c - the page-of-PFNs flush batch (see tlb_batch.h). */
#include "mm/tlb_batch.h"
#include "kernel/cmdline.h"
#include "kernel/lib.h"
#include "kernel/trace.h"
#include "mm/fail.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"

static const struct tlb_policy policies[] = {
	{"page", 1, false}, /* one round of IPIs per unmapped page (Linux before 4.3) */
	{"batch32", 32, false}, /* a flush every 32 PFNs */
	{"pfn", BATCH_TLBFLUSH_SIZE, false}, /* a page of PFNs, in limbo across scan rounds */
	{"full", 32, true}, /* a full flush at the end of each 32-page round (what Linux merged) */
};

const struct tlb_policy *tlb_policy = &policies[2];

static u64 nr_limbo;

int tlb_policy_set(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i].name, name)) {
			WRITE_ONCE(tlb_policy, &policies[i]);
			return 0;
		}
	return -EINVAL;
}

void tlb_batch_init(void)
{
	char value[32];

	if (cmdline_get("tlb", value, sizeof(value)) > 0 && tlb_policy_set(value))
		pr_warn("tlb=%s is unknown: page, batch32, pfn and full are; using %s\n", value,
			tlb_policy->name);
}

static struct tlbflush_unmap_batch *get_batch(void)
{
	struct thread *self = current;
	struct page *page;

	if (self->tlb_ubc)
		return self->tlb_ubc;
	page = fail_tlb_ubc ? NULL : alloc_pages(0, GFP_NOWAIT | GFP_ZERO);
	if (page) {
		count_vm_event(batch_allocated);
		self->tlb_ubc = phys_to_virt(page_to_phys(page));
	} else {
		count_vm_event(batch_alloc_failed);
	}
	return self->tlb_ubc;
}

void tlb_ubc_gather(cpumask_t cpus_in_mask, bool dirty, enum tlb_reason reason)
{
	struct tlbflush_unmap_batch *batch = get_batch();

	if (!batch) {
		flush_tlb_cpus(cpus_in_mask, reason);
		return;
	}
	ASSERT(page_refs(pfn_to_page(virt_to_phys(batch) >> PAGE_SHIFT)) == 1,
	       "%s gathers in a page that has been freed", current->name);
	batch->cpumask |= cpus_in_mask;
	batch->writable |= dirty;
	batch->reason = reason;
	batch->flush_required = 1;
}

static void free_frame(struct page *page)
{
	page_clear(page, PG_limbo);
	free_pages(page, 0);
	this_cpu_add64(stat.tlb[TLB_RECLAIM].freed, 1);
}

unsigned tlb_ubc_add_frame(struct page *page)
{
	struct tlbflush_unmap_batch *batch = current->tlb_ubc;

	ASSERT(page_refs(page) == 0 && page_mapcount(page) == 0,
	       "frame %lx goes to limbo with %u references, %u mappings", page_to_pfn(page),
	       page_refs(page), page_mapcount(page));
	if (!batch || !batch->flush_required) {
		free_frame(page); /* no translation of it can exist */
		return 1;
	}
	ASSERT(batch->nr_pages < BATCH_TLBFLUSH_SIZE, "batch of %s is full", current->name);
	page_set(page, PG_limbo);
	batch->pfns[batch->nr_pages++] = page_to_pfn(page);
	atomic_inc(&nr_limbo);
	TRACE(gather, page_to_pfn(page), batch->nr_pages);
	if (batch->nr_pages >= READ_ONCE(tlb_policy)->capacity)
		return try_to_unmap_flush();
	return 0;
}

unsigned try_to_unmap_flush(void)
{
	struct tlbflush_unmap_batch *batch = current->tlb_ubc;
	unsigned i, freed;

	if (!batch || !batch->flush_required)
		return 0;
	ASSERT(page_refs(pfn_to_page(virt_to_phys(batch) >> PAGE_SHIFT)) == 1,
	       "%s flushes from a page that has been freed", current->name);
	flush_tlb_cpus(batch->cpumask, batch->reason);
	count_vm_event(batch_flushes);
	freed = batch->nr_pages;
	for (i = 0; i < freed; i++)
		free_frame(pfn_to_page(batch->pfns[i]));
	(void)atomic_sub_fetch(&nr_limbo, freed);
	*batch = (struct tlbflush_unmap_batch){0};
	return freed;
}

unsigned try_to_unmap_flush_dirty(void)
{
	struct tlbflush_unmap_batch *batch = current->tlb_ubc;

	return batch && batch->writable ? try_to_unmap_flush() : 0;
}

unsigned tlb_ubc_room(void)
{
	struct tlbflush_unmap_batch *batch = current->tlb_ubc;
	u32 capacity = READ_ONCE(tlb_policy)->capacity, gathered = batch ? batch->nr_pages : 0;

	return capacity > gathered ? capacity - gathered : capacity;
}

unsigned tlb_ubc_end_of_round(void)
{
	return READ_ONCE(tlb_policy)->each_round ? try_to_unmap_flush() : 0;
}

bool tlb_ubc_empty(const struct thread *thread)
{
	return !thread->tlb_ubc ||
	       (!thread->tlb_ubc->flush_required && thread->tlb_ubc->nr_pages == 0);
}

void tlb_ubc_release(struct thread *thread)
{
	ASSERT(tlb_ubc_empty(thread), "%s ends with %u frames in limbo", thread->name,
	       thread->tlb_ubc->nr_pages);
	if (thread->tlb_ubc)
		kpage_free(thread->tlb_ubc, 0);
	thread->tlb_ubc = NULL;
}

u64 limbo_pages(void)
{
	return READ_ONCE(nr_limbo);
}
