/*
 * tlbsan.c - the shadow of stale entries: what is unmapped, flushed and owed (see tlbsan.h).
 *
 * Entries live in a pool, on hash chains by frame, for rules 1 and 2, and by address and page, for
 * the rest. A global sequence number orders events: an entry made at s is gone from a CPU that started
 * a full flush after s, so full flushes cost one store. One lock with interrupts off covers all; it
 * is the innermost of the kernel, taken under any other.
 */
#include "mm/tlbsan.h"
#include "arch/paging.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/tlbsan_shadow.h"

#define NR_CHAINS  1024
#define POOL_ORDER 9 /* 2 MiB */

bool tlbsan_on;

struct stale_entry *shadow;
u32 shadow_used;
static u32 shadow_size, free_list, lost;
static u32 by_pfn[NR_CHAINS], by_va[NR_CHAINS], by_page[NR_CHAINS];
static u64 seq;
/*
 * Sequence of each CPU's last full flush. A skip counts as one: for user entries while lazy, for the
 * kernel's while outside.
 */
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
	shadow = phys_to_virt(page_to_phys(pages));
	shadow_size = (u32)((PAGE_SIZE << POOL_ORDER) / sizeof(*shadow));
	shadow_used = 1;
	tlbsan_on = true;
	pr_info("tlbsan: on, %u stale entries\n", shadow_size);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void assert_came_in_properly(void)
{
	ASSERT(!owes_kernel[smp_cpu_id()], "tlbsan: rule 10: cpu%u was skipped outside the kernel and is "
	       "inside without having flushed", smp_cpu_id());
}

u64 shadow_lock(void)
{
	u64 flags = spin_lock_irqsave(&lock);

	assert_came_in_properly();
	return flags;
}

void shadow_unlock(u64 flags)
{
	spin_unlock_irqrestore(&lock, flags);
}

u32 *shadow_by_pfn(u64 pfn)
{
	return &by_pfn[pfn % NR_CHAINS];
}

u32 *shadow_by_va(const struct mm *mm, u64 va)
{
	return &by_va[((va >> PAGE_SHIFT) + ((u64)mm >> 6)) % NR_CHAINS];
}

cpumask_t shadow_holders(const struct stale_entry *e)
{
	const u64 *flushed = e->mm ? flushed_user : flushed_all;
	cpumask_t left = 0;
	unsigned cpu;

	for_each_cpu(cpu, e->cpus)
		if (flushed[cpu] <= e->seq)
			left |= CPU_BIT(cpu);
	return left;
}

u32 *shadow_by_page(const struct vm_object *object, u64 index)
{
	return &by_page[(index + ((u64)object >> 6)) % NR_CHAINS];
}

bool shadow_flushed_since(unsigned cpu, u64 event)
{
	return flushed_user[cpu] > event;
}

/* link: which of an entry's three links belongs to the chain. */
static void unlink_entry(u32 *chain, u32 index, size_t link)
{
	while (*chain != index)
		chain = (u32 *)((u8 *)&shadow[*chain] + link);
	*chain = *(u32 *)((u8 *)&shadow[index] + link);
}

static void link_entry(u32 index)
{
	struct stale_entry *e = &shadow[index];
	u32 *pfn = shadow_by_pfn(e->pfn), *va = shadow_by_va(e->mm, e->va);
	u32 *page = shadow_by_page(e->object, e->index);

	e->next_pfn = *pfn;
	e->next_va = *va;
	e->next_page = *page;
	*pfn = *va = *page = index;
}

void shadow_drop(u32 index)
{
	struct stale_entry *e = &shadow[index];

	unlink_entry(shadow_by_pfn(e->pfn), index, offsetof(struct stale_entry, next_pfn));
	unlink_entry(shadow_by_va(e->mm, e->va), index, offsetof(struct stale_entry, next_va));
	unlink_entry(shadow_by_page(e->object, e->index), index,
		     offsetof(struct stale_entry, next_page));
	e->pfn = 0;
	e->cpus = 0;
	e->next_pfn = free_list;
	free_list = index;
}

/* By address if the range is short, by entry if it is long. */
void shadow_each_in(const struct mm *mm, u64 start, u64 end,
		    void (*fn)(struct stale_entry *e, u64 arg), u64 arg)
{
	bool is_short = (end - start) >> PAGE_SHIFT < shadow_used;
	u64 va;
	u32 i;

	for (va = start; is_short && va < end; va += PAGE_SIZE)
		for (i = *shadow_by_va(mm, va); i; i = shadow[i].next_va)
			if (shadow[i].mm == mm && shadow[i].va == va)
				fn(&shadow[i], arg);
	for (i = 1; !is_short && i < shadow_used; i++)
		if (shadow[i].cpus && shadow[i].mm == mm && shadow[i].va >= start && shadow[i].va < end)
			fn(&shadow[i], arg);
}

/* Entries nobody holds any more. */
static void sweep(void)
{
	u32 i;

	for (i = 1; i < shadow_used; i++)
		if (shadow[i].cpus && !shadow_holders(&shadow[i]))
			shadow_drop(i);
}

static u32 take_entry(void)
{
	u32 index;

	if (!free_list && shadow_used == shadow_size)
		sweep();
	index = free_list;
	if (index)
		free_list = shadow[index].next_pfn;
	else if (shadow_used < shadow_size)
		index = shadow_used++;
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
	flags = shadow_lock();
	cpus_in_mask = mm ? READ_ONCE(mm->cpumask) : READ_ONCE(cpu_online_mask);
	index = cpus_in_mask ? take_entry() : 0;
	if (index) {
		struct stale_entry *e = &shadow[index];

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
	shadow_unlock(flags);
}

/* ---- Flushes --------------------------------------------------------------------------------- */

void __tlbsan_flushed_user(struct cpu *cpu)
{
	u64 flags = shadow_lock();

	flushed_user[cpu->id] = ++seq;
	owed_mm[cpu->id] = NULL; /* paid, or on another address space */
	shadow_unlock(flags);
}

/*
 * Entries of prev that were made since the CR3 load saw the bit: they are not on this CPU either.
 * Entries read the mask under the same lock, so there will be no more.
 */
void __tlbsan_leave_mm(struct cpu *cpu, struct mm *prev)
{
	u64 flags = shadow_lock();
	u32 i;

	cpumask_clear_atomic(&prev->cpumask, cpu->id);
	if (seq != flushed_user[cpu->id])
		for (i = 1; i < shadow_used; i++)
			if (shadow[i].mm == prev)
				shadow[i].cpus &= ~CPU_BIT(cpu->id);
	shadow_unlock(flags);
}

void __tlbsan_flushed_all(struct cpu *cpu)
{
	u64 flags = spin_lock_irqsave(&lock);

	owes_kernel[cpu->id] = false;
	flushed_user[cpu->id] = flushed_all[cpu->id] = ++seq;
	shadow_unlock(flags);
}

void __tlbsan_flushed_page(struct cpu *cpu, struct mm *mm, u64 va)
{
	u64 flags = shadow_lock();
	u32 i;

	for (i = *shadow_by_va(mm, va); i; i = shadow[i].next_va)
		if (shadow[i].mm == mm && shadow[i].va == va)
			shadow[i].cpus &= ~CPU_BIT(cpu->id);
	shadow_unlock(flags);
}

/*
 * A lazy CPU cannot use user entries: all it holds is as good as gone. If the flush concerns the
 * address space that it is lazy on, it owes that generation before it runs user code again. If it
 * has stopped being lazy meanwhile, it has seen it.
 */
void __tlbsan_skipped(struct cpu *cpu, const struct mm *mm)
{
	u64 flags = shadow_lock();
	const struct mm *loaded = READ_ONCE(cpu->tlb.loaded_mm);

	flushed_user[cpu->id] = ++seq;
	if (READ_ONCE(cpu->tlb.lazy) && (!mm || mm == loaded)) {
		owed_mm[cpu->id] = loaded;
		owed_gen[cpu->id] = mm ? READ_ONCE(mm->tlb_gen) : loaded->tlbsan_gathered;
	}
	shadow_unlock(flags);
}

/* If it has come in meanwhile it has seen that it owes. */
void __tlbsan_skipped_kernel(struct cpu *cpu, u64 mark)
{
	u64 flags = shadow_lock();

	if (flushed_all[cpu->id] <= mark)
		flushed_all[cpu->id] = mark + 1;
	if (READ_ONCE(cpu->tlb.kernel) == TLB_KERNEL_OWES)
		owes_kernel[cpu->id] = true;
	shadow_unlock(flags);
}

/* ---- Kernel addresses that wait for a purge -------------------------------------------------- */

u64 tlbsan_now(void)
{
	return READ_ONCE(seq);
}

/* Entries made after `mark` are of the addresses' next owner. */
static void note_queued(struct stale_entry *e, u64 mark)
{
	if (e->seq <= mark && !e->queued)
		e->queued = seq;
}

void __tlbsan_vmap_queued(u64 start, u64 end, u64 mark)
{
	u64 flags = shadow_lock();

	seq++;
	shadow_each_in(NULL, start, end, note_queued, mark);
	shadow_unlock(flags);
}

/* ---- What a CPU owes ------------------------------------------------------------------------- */

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
