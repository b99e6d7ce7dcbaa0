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
		next = shadow_at(i)->next_pfn;
		if (shadow_at(i)->pfn != pfn || shadow_at(i)->trusted)
			continue;
		if (shadow_holders(shadow_at(i)))
			report(shadow_at(i), "rule 1: a frame is freed that a CPU may still translate to");
		shadow_drop(i);
	}
	shadow_unlock(flags);
}

void __tlbsan_check_copy(struct page *page, const char *what)
{
	u64 pfn = page_to_pfn(page), flags = shadow_lock();
	char rule[96];
	u32 i;

	for (i = *shadow_by_pfn(pfn); i; i = shadow_at(i)->next_pfn)
		if (shadow_at(i)->pfn == pfn && shadow_at(i)->writes && !shadow_at(i)->trusted && shadow_holders(shadow_at(i))) {
			snprintf(rule, sizeof(rule), "rule 2: %s starts while a CPU may write the frame",
				 what);
			report(shadow_at(i), rule);
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
			if (shadow_at(i)->mm == mm && shadow_at(i)->gen && shadow_at(i)->gen <= gen &&
			    cpumask_test(shadow_holders(shadow_at(i)), cpu->id))
				report(shadow_at(i), "rule 6: a CPU claims a generation it has not flushed for");
	shadow_unlock(flags);
}

static bool shows_same_page(const struct stale_entry *e, const struct page *page)
{
	return e->object && e->object == page->object && e->index == page->index;
}

/* A lazy CPU compares generations before it uses user addresses again, and flushes. */
static cpumask_t holders_awake(const struct stale_entry *e)
{
	cpumask_t left = shadow_holders(e);
	unsigned cpu;

	for_each_cpu(cpu, left)
		if (e->gen && READ_ONCE(cpus[cpu].tlb.lazy))
			left &= ~CPU_BIT(cpu);
	return left;
}

static void check_other_frame(const struct stale_entry *e, const struct page *page)
{
	if (e->pfn != page_to_pfn(page) && holders_awake(e))
		report(e, "rule 3: a page becomes writable in a new frame while a CPU may use the old");
}

/* Any address space that has the page of the file by another frame, this address or another. */
void __tlbsan_check_map(struct mm *mm, u64 va, struct page *page)
{
	u64 flags = shadow_lock();
	struct stale_entry *e;
	u32 i;

	for (i = *shadow_by_va(mm, va); i; i = e->next_va) {
		e = shadow_at(i);
		if (e->mm == mm && e->va == va)
			check_other_frame(e, page);
	}
	for (i = *shadow_by_page(page->object, page->index); i; i = e->next_page) {
		e = shadow_at(i);
		if (shows_same_page(e, page))
			check_other_frame(e, page);
	}
	shadow_unlock(flags);
}

struct gone_check {
	const char *rule;
	u64 mark;
};

static void check_gone(struct stale_entry *e, u64 arg)
{
	const struct gone_check *check = (const void *)arg;

	if (e->seq <= check->mark && shadow_holders(e))
		report(e, check->rule);
}

void __tlbsan_check_range(struct mm *mm, u64 start, u64 end, u64 mark)
{
	struct gone_check check = {
		mm ? "rule 4: a call returns while a CPU has more rights than the page tables" :
		     "rule 10: kernel addresses are free again while a CPU may translate them",
		mark,
	};
	u64 flags = shadow_lock();

	shadow_each_in(mm, start, end, check_gone, (u64)&check);
	shadow_unlock(flags);
}

void __tlbsan_check_aliases(u64 mark)
{
	const char *rule = "rule 10: a purge returns while a CPU may translate what was queued before";
	u64 flags = shadow_lock();
	u32 i;

	for (i = 1; i < shadow_used; i++)
		if (!shadow_at(i)->mm && shadow_at(i)->queued && shadow_at(i)->queued <= mark &&
		    shadow_holders(shadow_at(i)))
			report(shadow_at(i), rule);
	shadow_unlock(flags);
}

/* Pages shared with a child are there, read-only: nobody may write them through an old entry. */
void __tlbsan_check_fork(struct mm *parent)
{
	u64 flags = shadow_lock();
	pte_t *pte;
	u32 i;

	for (i = 1; i < shadow_used; i++)
		if (shadow_at(i)->mm == parent && shadow_at(i)->writes && shadow_holders(shadow_at(i))) {
			pte = pte_lookup(parent->pml4, shadow_at(i)->va);
			if (pte && (pte_read(pte) & (PTE_P | PTE_W)) == PTE_P &&
			    pte_pfn(pte_read(pte)) == shadow_at(i)->pfn)
				report(shadow_at(i), "rule 4: fork returns while a CPU may write a shared page");
		}
	shadow_unlock(flags);
}

void __tlbsan_check_dirty(struct page *page, u64 old)
{
	ASSERT(!(old & PTE_D) || page_test(page, PG_dirty | PG_anon),
	       "tlbsan: rule 9: frame %lx was written through the cleared PTE %lx and is not dirty",
	       page_to_pfn(page), old);
}
