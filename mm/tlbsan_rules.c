/* tlbsan_rules.c - the rules, asked of the shadow at the moments that matter (see tlbsan.h). */
#include "arch/paging.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/symbols.h"
#include "mm/mm.h"
#include "mm/page.h"
#include "mm/tlbsan.h"
#include "mm/tlbsan_shadow.h"

static void __noreturn report(const struct stale_entry *e, const char *rule)
{
	char space[24];
	int i;

	if (e->mm)
		snprintf(space, sizeof(space), "address space %lu", e->mm->id);
	else
		snprintf(space, sizeof(space), "the kernel");
	kprintf("tlbsan: %s\n", rule);
	kprintf("  cpu%u may still translate %lx of %s to frame %lx%s\n",
		cpumask_first(shadow_holders(e)), e->va, space, e->pfn,
		e->writes ? " and write it unseen" : "");
	kprintf("  all that may: mask %lx; no flush of that address has run there since\n", shadow_holders(e));
	kprintf("  its PTE was cleared or restricted by %s:\n", e->thread);
	for (i = 0; i < NR_CALLERS && e->callers[i]; i++) {
		u64 offset;
		const char *name = symbol_lookup(e->callers[i], &offset);

		kprintf("    %s+0x%lx\n", name, offset);
	}
	panic("tlbsan: %s: frame %lx, address %lx", rule, e->pfn, e->va);
}

void __tlbsan_check_free(struct page *page)
{
	u64 pfn = page_to_pfn(page), flags = shadow_lock();
	u32 i, next;

	for (i = *shadow_by_pfn(pfn); i; i = next) {
		next = shadow[i].next_pfn;
		if (shadow[i].pfn != pfn || shadow[i].trusted)
			continue;
		if (shadow_holders(&shadow[i]))
			report(&shadow[i], "rule 1: a frame is freed that a CPU may still translate to");
		shadow_drop(i);
	}
	shadow_unlock(flags);
}

void __tlbsan_check_copy(struct page *page, const char *what)
{
	u64 pfn = page_to_pfn(page), flags = shadow_lock();
	char rule[96];
	u32 i;

	for (i = *shadow_by_pfn(pfn); i; i = shadow[i].next_pfn)
		if (shadow[i].pfn == pfn && shadow[i].writes && !shadow[i].trusted && shadow_holders(&shadow[i])) {
			snprintf(rule, sizeof(rule), "rule 2: %s starts while a CPU may write the frame",
				 what);
			report(&shadow[i], rule);
		}
	shadow_unlock(flags);
}

/*
 * INVLPG of the last change only: nothing that a batch gathered before may be left. Changes outside
 * of batches get their generation later than their entry and are not looked at.
 */
void __tlbsan_caught_up(struct cpu *cpu, struct mm *mm, u64 gen)
{
	u64 flags = shadow_lock();
	u32 i;

	if (!shadow_flushed_since(cpu->id, mm->tlbsan_gathered_seq))
		for (i = 1; i < shadow_used; i++)
			if (shadow[i].mm == mm && shadow[i].gen && shadow[i].gen <= gen &&
			    cpumask_test(shadow_holders(&shadow[i]), cpu->id))
				report(&shadow[i], "rule 6: a CPU claims a generation it has not flushed for");
	shadow_unlock(flags);
}

static bool shows_same_page(const struct stale_entry *e, const struct page *page)
{
	return e->object && e->object == page->object && e->index == page->index;
}

/* Any address space that has the page of the file by another frame, this address or another. */
void __tlbsan_check_map(struct mm *mm, u64 va, struct page *page)
{
	u64 flags = shadow_lock(), pfn = page_to_pfn(page);
	const char *rule = "rule 3: a page becomes writable in a new frame while a CPU may use the old";
	u32 i;

	for (i = *shadow_by_va(mm, va); i; i = shadow[i].next_va)
		if (shadow[i].mm == mm && shadow[i].va == va && shadow[i].pfn != pfn && shadow_holders(&shadow[i]))
			report(&shadow[i], rule);
	for (i = *shadow_by_page(page->object, page->index); i; i = shadow[i].next_page)
		if (shows_same_page(&shadow[i], page) && shadow[i].pfn != pfn && shadow_holders(&shadow[i]))
			report(&shadow[i], rule);
	shadow_unlock(flags);
}

static void check_gone(struct stale_entry *e, u64 rule)
{
	if (shadow_holders(e))
		report(e, (const char *)rule);
}

void __tlbsan_check_range(struct mm *mm, u64 start, u64 end)
{
	const char *rule = mm ? "rule 4: a call returns while a CPU has more rights than the page tables" :
		"rule 10: kernel addresses are free again while a CPU may translate them";
	u64 flags = shadow_lock();

	shadow_each_in(mm, start, end, check_gone, (u64)rule);
	shadow_unlock(flags);
}

void __tlbsan_check_aliases(u64 mark)
{
	const char *rule = "rule 10: a purge returns while a CPU may translate what was queued before";
	u64 flags = shadow_lock();
	u32 i;

	for (i = 1; i < shadow_used; i++)
		if (!shadow[i].mm && shadow[i].queued && shadow[i].queued <= mark &&
		    shadow_holders(&shadow[i]))
			report(&shadow[i], rule);
	shadow_unlock(flags);
}

/* Pages shared with a child are there, read-only: nobody may write them through an old entry. */
void __tlbsan_check_fork(struct mm *parent)
{
	u64 flags = shadow_lock();
	pte_t *pte;
	u32 i;

	for (i = 1; i < shadow_used; i++)
		if (shadow[i].mm == parent && shadow[i].writes && shadow_holders(&shadow[i])) {
			pte = pte_lookup(parent->pml4, shadow[i].va);
			if (pte && (pte_read(pte) & (PTE_P | PTE_W)) == PTE_P &&
			    pte_pfn(pte_read(pte)) == shadow[i].pfn)
				report(&shadow[i], "rule 4: fork returns while a CPU may write a shared page");
		}
	shadow_unlock(flags);
}

void __tlbsan_check_dirty(struct page *page, u64 old)
{
	ASSERT(!(old & PTE_D) || page_test(page, PG_dirty | PG_anon),
	       "tlbsan: rule 9: frame %lx was written through the cleared PTE %lx and is not dirty",
	       page_to_pfn(page), old);
}
