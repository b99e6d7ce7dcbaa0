/*
 * tlbsan.c - the shadow of stale entries and the rules asked of it (see tlbsan.h).
 *
 * Entries live in a pool, on two hash chains: by frame, for rules 1 and 2, and by address, for the
 * rest. A global sequence number orders events: an entry made at s is gone from a CPU that started
 * a full flush after s, so full flushes cost one store. One lock with interrupts off covers all; it
 * is the innermost of the kernel, taken under any other.
 */
#include "mm/tlbsan.h"
#include "arch/paging.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/symbols.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"

#define NR_CHAINS   1024
#define NR_CALLERS  4
#define POOL_ORDER  9  /* 2 MiB */

struct stale_entry {
	u64 pfn, va, seq;
	struct mm *mm;  /* NULL: kernel addresses */
	struct vm_object *object; /* what the frame showed: a page of a file; NULL otherwise */
	u64 index;
	cpumask_t cpus; /* that may hold it, full flushes since seq not counted */
	u64 gen;        /* if a batch gathered it: the generation that goes with it; else 0 */
	u64 queued;     /* kernel addresses: since then a purge must flush it; 0: not queued yet */
	bool trusted;   /* its frame may be another's already */
	bool writes;    /* W and D were set: a CPU can write the frame without a walk */
	u32 next_pfn, next_va, next_page;
	u64 callers[NR_CALLERS];
	char thread[THREAD_NAME_LEN];
};

bool tlbsan_on;

static struct stale_entry *pool;
static u32 pool_size, pool_used, free_list, lost; /* index 0 of the pool is not used */
static u32 by_pfn[NR_CHAINS], by_va[NR_CHAINS], by_page[NR_CHAINS];
static u64 seq;
/* Sequence of each CPU's last full flush; for user entries a skip while lazy counts as one. */
static u64 flushed_user[NR_CPUS], flushed_all[NR_CPUS];
/* What a CPU that was skipped must have caught up with before it runs user code. */
static const struct mm *owed_mm[NR_CPUS];
static u64 owed_gen[NR_CPUS];
/* Skipped outside the kernel: flushes before it does anything inside. */
static bool owes_kernel[NR_CPUS];

static const struct lock_class tlbsan_class = {"TLB sanitizer", RANK_TLBSAN, true};
static spinlock_t lock = SPINLOCK_INIT(tlbsan_class);

void tlbsan_init(void)
{
	char value[8];
	struct page *pages;

	if (cmdline_get("tlbsan", value, sizeof(value)) <= 0 || strcmp(value, "on"))
		return;
	pages = alloc_pages(POOL_ORDER, GFP_KERNEL | GFP_ZERO);
	if (!pages) {
		pr_warn("tlbsan: no memory for the shadow: off\n");
		return;
	}
	pool = phys_to_virt(page_to_phys(pages));
	pool_size = (u32)((PAGE_SIZE << POOL_ORDER) / sizeof(*pool));
	pool_used = 1;
	tlbsan_on = true;
	pr_info("tlbsan: on, %u stale entries\n", pool_size);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void assert_came_in_properly(void)
{
	ASSERT(!owes_kernel[smp_cpu_id()], "tlbsan: rule 10: cpu%u was skipped outside the kernel and is "
	       "inside without having flushed", smp_cpu_id());
}

static u64 enter(void)
{
	u64 flags = spin_lock_irqsave(&lock);

	assert_came_in_properly();
	return flags;
}

static u32 *pfn_chain(u64 pfn)
{
	return &by_pfn[pfn % NR_CHAINS];
}

static u32 *va_chain(const struct mm *mm, u64 va)
{
	return &by_va[((va >> PAGE_SHIFT) + ((u64)mm >> 6)) % NR_CHAINS];
}

/* CPUs that may still hold it: those that have not flushed everything since. */
static cpumask_t holders(const struct stale_entry *e)
{
	const u64 *flushed = e->mm ? flushed_user : flushed_all;
	cpumask_t left = 0;
	unsigned cpu;

	for_each_cpu(cpu, e->cpus)
		if (flushed[cpu] <= e->seq)
			left |= CPU_BIT(cpu);
	return left;
}

static u32 *page_chain(const struct vm_object *object, u64 index)
{
	return &by_page[(index + ((u64)object >> 6)) % NR_CHAINS];
}

/* link: which of an entry's three links belongs to the chain. */
static void unlink_entry(u32 *chain, u32 index, size_t link)
{
	while (*chain != index)
		chain = (u32 *)((u8 *)&pool[*chain] + link);
	*chain = *(u32 *)((u8 *)&pool[index] + link);
}

static void link_entry(u32 index)
{
	struct stale_entry *e = &pool[index];
	u32 *pfn = pfn_chain(e->pfn), *va = va_chain(e->mm, e->va);
	u32 *page = page_chain(e->object, e->index);

	e->next_pfn = *pfn;
	e->next_va = *va;
	e->next_page = *page;
	*pfn = *va = *page = index;
}

static void drop_entry(u32 index)
{
	struct stale_entry *e = &pool[index];

	unlink_entry(pfn_chain(e->pfn), index, offsetof(struct stale_entry, next_pfn));
	unlink_entry(va_chain(e->mm, e->va), index, offsetof(struct stale_entry, next_va));
	unlink_entry(page_chain(e->object, e->index), index,
		     offsetof(struct stale_entry, next_page));
	e->pfn = 0;
	e->cpus = 0;
	e->next_pfn = free_list;
	free_list = index;
}

/* Entries nobody holds any more. */
static void sweep(void)
{
	u32 i;

	for (i = 1; i < pool_used; i++)
		if (pool[i].cpus && !holders(&pool[i]))
			drop_entry(i);
}

static u32 take_entry(void)
{
	u32 index;

	if (!free_list && pool_used == pool_size)
		sweep();
	index = free_list;
	if (index)
		free_list = pool[index].next_pfn;
	else if (pool_used < pool_size)
		index = pool_used++;
	return index;
}

static void note_callers(struct stale_entry *e)
{
	u64 *frame = __builtin_frame_address(0);
	int i;

	for (i = 0; i < NR_CALLERS; i++) {
		e->callers[i] = frame[1];
		frame = (u64 *)frame[0];
		if (!frame)
			break;
	}
	strlcpy(e->thread, current->name, sizeof(e->thread));
}

void __tlbsan_pte_gone(struct mm *mm, u64 va, u64 old, enum pte_gone how)
{
	bool gathered = how == PTE_GATHERED;
	cpumask_t cpus_in_mask;
	u64 flags;
	u32 index;

	if (!(old & PTE_P))
		return;
	if (gathered) { /* under the ptl */
		ASSERT(mm->tlb_gen > mm->tlbsan_gathered, "tlbsan: rule 6: a batch gathered from address "
		       "space %lu without a new generation (%lu)", mm->id, mm->tlb_gen);
		mm->tlbsan_gathered = mm->tlb_gen;
	}
	flags = enter();
	cpus_in_mask = mm ? READ_ONCE(mm->cpumask) : READ_ONCE(cpu_online_mask);
	index = cpus_in_mask ? take_entry() : 0;
	if (index) {
		struct stale_entry *e = &pool[index];

		*e = (struct stale_entry){.pfn = pte_pfn(old), .va = ALIGN_DOWN(va, PAGE_SIZE),
					  .seq = ++seq, .mm = mm, .cpus = cpus_in_mask,
					  .gen = gathered ? mm->tlb_gen : 0,
					  .trusted = how == PTE_TRUSTED,
					  .writes = (old & PTE_W) && (old & PTE_D)};
		if (mm && !page_test(pfn_to_page(e->pfn), PG_anon)) {
			e->object = pfn_to_page(e->pfn)->object;
			e->index = pfn_to_page(e->pfn)->index;
		}
		if (gathered)
			mm->tlbsan_gathered_seq = e->seq;
		note_callers(e);
		link_entry(index);
	} else if (cpus_in_mask && !lost++) {
		pr_warn("tlbsan: more stale entries than it can remember: some are not checked\n");
	}
	spin_unlock_irqrestore(&lock, flags);
}

/* ---- Flushes --------------------------------------------------------------------------------- */

void __tlbsan_flushed_user(struct cpu *cpu)
{
	u64 flags = enter();

	flushed_user[cpu->id] = ++seq;
	owed_mm[cpu->id] = NULL; /* paid, or on another address space */
	spin_unlock_irqrestore(&lock, flags);
}

/*
 * Entries of prev that were made since the CR3 load saw the bit: they are not on this CPU either.
 * Entries read the mask under the same lock, so there will be no more.
 */
void __tlbsan_leave_mm(struct cpu *cpu, struct mm *prev)
{
	u64 flags = enter();
	u32 i;

	cpumask_clear_atomic(&prev->cpumask, cpu->id);
	if (seq != flushed_user[cpu->id])
		for (i = 1; i < pool_used; i++)
			if (pool[i].mm == prev)
				pool[i].cpus &= ~CPU_BIT(cpu->id);
	spin_unlock_irqrestore(&lock, flags);
}

void __tlbsan_flushed_all(struct cpu *cpu)
{
	u64 flags = spin_lock_irqsave(&lock);

	owes_kernel[cpu->id] = false;
	flushed_user[cpu->id] = flushed_all[cpu->id] = ++seq;
	spin_unlock_irqrestore(&lock, flags);
}

void __tlbsan_flushed_page(struct cpu *cpu, struct mm *mm, u64 va)
{
	u64 flags = enter();
	u32 i;

	for (i = *va_chain(mm, va); i; i = pool[i].next_va)
		if (pool[i].mm == mm && pool[i].va == va)
			pool[i].cpus &= ~CPU_BIT(cpu->id);
	spin_unlock_irqrestore(&lock, flags);
}

/*
 * A lazy CPU cannot use user entries: all it holds is as good as gone. If the flush concerns the
 * address space that it is lazy on, it owes that generation before it runs user code again. If it
 * has stopped being lazy meanwhile, it has seen it.
 */
void __tlbsan_skipped(struct cpu *cpu, const struct mm *mm)
{
	u64 flags = enter();
	const struct mm *loaded = READ_ONCE(cpu->tlb.loaded_mm);

	flushed_user[cpu->id] = ++seq;
	if (READ_ONCE(cpu->tlb.lazy) && (!mm || mm == loaded)) {
		owed_mm[cpu->id] = loaded;
		owed_gen[cpu->id] = mm ? READ_ONCE(mm->tlb_gen) : loaded->tlbsan_gathered;
	}
	spin_unlock_irqrestore(&lock, flags);
}

/* If it has come in meanwhile it has seen that it owes. */
void __tlbsan_skipped_kernel(struct cpu *cpu, u64 mark)
{
	u64 flags = enter();

	if (flushed_all[cpu->id] <= mark)
		flushed_all[cpu->id] = mark + 1;
	if (READ_ONCE(cpu->tlb.kernel) == TLB_KERNEL_OWES)
		owes_kernel[cpu->id] = true;
	spin_unlock_irqrestore(&lock, flags);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

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
		cpumask_first(holders(e)), e->va, space, e->pfn,
		e->writes ? " and write it unseen" : "");
	kprintf("  all that may: mask %lx; no flush of that address has run there since\n", holders(e));
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
	u64 pfn = page_to_pfn(page), flags = enter();
	u32 i, next;

	for (i = *pfn_chain(pfn); i; i = next) {
		next = pool[i].next_pfn;
		if (pool[i].pfn != pfn || pool[i].trusted)
			continue;
		if (holders(&pool[i]))
			report(&pool[i], "rule 1: a frame is freed that a CPU may still translate to");
		drop_entry(i);
	}
	spin_unlock_irqrestore(&lock, flags);
}

void __tlbsan_check_copy(struct page *page, const char *what)
{
	u64 pfn = page_to_pfn(page), flags = enter();
	char rule[96];
	u32 i;

	for (i = *pfn_chain(pfn); i; i = pool[i].next_pfn)
		if (pool[i].pfn == pfn && pool[i].writes && !pool[i].trusted && holders(&pool[i])) {
			snprintf(rule, sizeof(rule), "rule 2: %s starts while a CPU may write the frame",
				 what);
			report(&pool[i], rule);
		}
	spin_unlock_irqrestore(&lock, flags);
}

/*
 * INVLPG of the last change only: nothing that a batch gathered before may be left. Changes outside
 * of batches get their generation later than their entry and are not looked at.
 */
void __tlbsan_caught_up(struct cpu *cpu, struct mm *mm, u64 gen)
{
	u64 flags = enter();
	u32 i;

	if (mm->tlbsan_gathered_seq >= flushed_user[cpu->id])
		for (i = 1; i < pool_used; i++)
			if (pool[i].mm == mm && pool[i].gen && pool[i].gen <= gen &&
			    cpumask_test(holders(&pool[i]), cpu->id))
				report(&pool[i], "rule 6: a CPU claims a generation it has not flushed for");
	spin_unlock_irqrestore(&lock, flags);
}

static bool shows_same_page(const struct stale_entry *e, const struct page *page)
{
	return e->object && e->object == page->object && e->index == page->index;
}

/* Any address space that has the page of the file by another frame, this address or another. */
void __tlbsan_check_map(struct mm *mm, u64 va, struct page *page)
{
	u64 flags = enter(), pfn = page_to_pfn(page);
	const char *rule = "rule 3: a page becomes writable in a new frame while a CPU may use the old";
	u32 i;

	for (i = *va_chain(mm, va); i; i = pool[i].next_va)
		if (pool[i].mm == mm && pool[i].va == va && pool[i].pfn != pfn && holders(&pool[i]))
			report(&pool[i], rule);
	for (i = *page_chain(page->object, page->index); i; i = pool[i].next_page)
		if (shows_same_page(&pool[i], page) && pool[i].pfn != pfn && holders(&pool[i]))
			report(&pool[i], rule);
	spin_unlock_irqrestore(&lock, flags);
}

static void check_rights(const struct stale_entry *e, struct mm *mm, u64 start, u64 end)
{
	if (e->mm == mm && e->va >= start && e->va < end && holders(e))
		report(e, mm ? "rule 4: a call returns while a CPU has more rights than the page tables"
			     : "rule 10: kernel addresses are free again while a CPU may translate them");
}

/* By address if the range is short, by entry if it is long. */
void __tlbsan_check_range(struct mm *mm, u64 start, u64 end)
{
	u64 flags = enter(), va;
	u32 i;

	if ((end - start) >> PAGE_SHIFT < pool_used)
		for (va = start; va < end; va += PAGE_SIZE)
			for (i = *va_chain(mm, va); i; i = pool[i].next_va)
				check_rights(&pool[i], mm, start, end);
	else
		for (i = 1; i < pool_used; i++)
			check_rights(&pool[i], mm, start, end);
	spin_unlock_irqrestore(&lock, flags);
}

u64 tlbsan_now(void)
{
	return READ_ONCE(seq);
}

/* Entries made after `mark` are of the addresses' next owner. */
static void note_queued(struct stale_entry *e, u64 start, u64 end, u64 mark)
{
	if (e->cpus && !e->mm && e->va >= start && e->va < end && e->seq <= mark && !e->queued)
		e->queued = seq;
}

void __tlbsan_vmap_queued(u64 start, u64 end, u64 mark)
{
	u64 flags = enter(), va;
	u32 i;

	seq++;
	if ((end - start) >> PAGE_SHIFT < pool_used)
		for (va = start; va < end; va += PAGE_SIZE)
			for (i = *va_chain(NULL, va); i; i = pool[i].next_va)
				note_queued(&pool[i], start, end, mark);
	else
		for (i = 1; i < pool_used; i++)
			note_queued(&pool[i], start, end, mark);
	spin_unlock_irqrestore(&lock, flags);
}

void __tlbsan_check_aliases(u64 mark)
{
	u64 flags = enter();
	u32 i;

	for (i = 1; i < pool_used; i++)
		if (!pool[i].mm && pool[i].queued && pool[i].queued <= mark && holders(&pool[i]))
			report(&pool[i], "rule 10: a purge returns while a CPU may translate what was queued before");
	spin_unlock_irqrestore(&lock, flags);
}

/* Pages shared with a child are there, read-only: nobody may write them through an old entry. */
void __tlbsan_check_fork(struct mm *parent)
{
	u64 flags = enter();
	pte_t *pte;
	u32 i;

	for (i = 1; i < pool_used; i++)
		if (pool[i].mm == parent && pool[i].writes && holders(&pool[i])) {
			pte = pte_lookup(parent->pml4, pool[i].va);
			if (pte && (pte_read(pte) & (PTE_P | PTE_W)) == PTE_P &&
			    pte_pfn(pte_read(pte)) == pool[i].pfn)
				report(&pool[i], "rule 4: fork returns while a CPU may write a shared page");
		}
	spin_unlock_irqrestore(&lock, flags);
}

/* Context: interrupts off, the CPU itself, at each switch of threads. */
void __tlbsan_check_cpu(struct cpu *cpu)
{
	struct cpu_tlb *tlb = &cpu->tlb;
	struct mm *mm = tlb->loaded_mm;
	u64 owed;

	ASSERT((read_cr3() & PTE_ADDR) == mm->cr3, "tlbsan: rule 5: CR3 of cpu%u is %lx, recorded %lx",
	       cpu->id, read_cr3(), mm->cr3);
	ASSERT(cpumask_test(READ_ONCE(mm->cpumask), cpu->id),
	       "tlbsan: rule 5: cpu%u uses address space %lu and is not in its mask", cpu->id, mm->id);
	ASSERT(tlb->local_gen <= READ_ONCE(mm->tlb_gen),
	       "tlbsan: rule 6: cpu%u is at generation %lu of %lu", cpu->id, tlb->local_gen, mm->tlb_gen);
	assert_came_in_properly();
	if (tlb->lazy)
		return;
	spin_lock(&lock);
	owed = owed_mm[cpu->id] == mm ? owed_gen[cpu->id] : 0;
	owed_mm[cpu->id] = NULL;
	spin_unlock(&lock);
	ASSERT(tlb->local_gen >= owed, "tlbsan: rule 6: cpu%u was skipped as lazy and runs user code of "
	       "address space %lu at generation %lu, owing %lu", cpu->id, mm->id, tlb->local_gen, owed);
}

void __tlbsan_check_dirty(struct page *page, u64 old)
{
	ASSERT(!(old & PTE_D) || page_test(page, PG_dirty | PG_anon),
	       "tlbsan: rule 9: frame %lx was written through the cleared PTE %lx and is not dirty",
	       page_to_pfn(page), old);
}
