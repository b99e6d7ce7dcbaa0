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
#include "kernel/perturb.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/buddy.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/tlbsan_shadow.h"

#define NR_CHAINS 1024
#define RESERVE   1024 /* entries: what is taken between two looks whether there are enough */

bool tlbsan_on;

struct stale_entry **shadow_pages;
u32 shadow_used;
u32 shadow_size;
/* Entries there may be; those not in use, linked or past shadow_used; how many there were of these. */
static u32 shadow_limit, free_list, nr_spare, spare_at_last_look = ~0u;
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

/* One page more. false: there may be no more, or none is free. Any context that may allocate. */
static bool grow(void)
{
	struct page *page = alloc_pages(0, GFP_NOWAIT | GFP_ZERO);
	u64 flags;
	bool room;

	if (!page)
		return false;
	flags = spin_lock_irqsave(&lock);
	room = shadow_size + SHADOW_PER_PAGE <= shadow_limit;
	if (room) {
		shadow_pages[shadow_size / SHADOW_PER_PAGE] = phys_to_virt(page_to_phys(page));
		shadow_size += SHADOW_PER_PAGE;
		nr_spare += SHADOW_PER_PAGE;
	}
	spin_unlock_irqrestore(&lock, flags);
	if (!room)
		free_pages(page, 0);
	return room;
}

/* It starts with a 32nd of memory, and may come to have a quarter. */
void tlbsan_init(void)
{
	u64 pages = mem_total_pages / 4, i;
	unsigned order = 0;
	char value[8];

	if (cmdline_get("tlbsan", value, sizeof(value)) <= 0 || strcmp(value, "on"))
		return;
	while ((PAGE_SIZE << order) / sizeof(*shadow_pages) < pages && order < MAX_ORDER)
		order++;
	pages = MIN(pages, (PAGE_SIZE << order) / sizeof(*shadow_pages));
	shadow_pages = kpage_alloc(order);
	shadow_limit = shadow_pages ? (u32)pages * SHADOW_PER_PAGE : 0;
	for (i = 0; i < mem_total_pages / 32 && grow(); i++)
		;
	if (!shadow_size) {
		pr_warn("tlbsan: no memory for the shadow: off\n");
		return;
	}
	shadow_used = 1;
	nr_spare--;
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
		chain = (u32 *)((u8 *)shadow_at(*chain) + link);
	*chain = *(u32 *)((u8 *)shadow_at(index) + link);
}

static void link_entry(u32 index)
{
	struct stale_entry *e = shadow_at(index);
	u32 *pfn = shadow_by_pfn(e->pfn), *va = shadow_by_va(e->mm, e->va);
	u32 *page = shadow_by_page(e->object, e->index);

	e->next_pfn = *pfn;
	e->next_va = *va;
	e->next_page = *page;
	*pfn = *va = *page = index;
}

void shadow_drop(u32 index)
{
	struct stale_entry *e = shadow_at(index);

	unlink_entry(shadow_by_pfn(e->pfn), index, offsetof(struct stale_entry, next_pfn));
	unlink_entry(shadow_by_va(e->mm, e->va), index, offsetof(struct stale_entry, next_va));
	unlink_entry(shadow_by_page(e->object, e->index), index,
		     offsetof(struct stale_entry, next_page));
	e->pfn = 0;
	e->cpus = 0;
	e->next_pfn = free_list;
	free_list = index;
	nr_spare++;
}

/* By address if the range is short, by entry if it is long. */
void shadow_each_in(const struct mm *mm, u64 start, u64 end,
		    void (*fn)(struct stale_entry *e, u64 arg), u64 arg)
{
	bool is_short = (end - start) >> PAGE_SHIFT < shadow_used;
	u64 va;
	u32 i;

	for (va = start; is_short && va < end; va += PAGE_SIZE)
		for (i = *shadow_by_va(mm, va); i; i = shadow_at(i)->next_va)
			if (shadow_at(i)->mm == mm && shadow_at(i)->va == va)
				fn(shadow_at(i), arg);
	for (i = 1; !is_short && i < shadow_used; i++)
		if (shadow_at(i)->cpus && shadow_at(i)->mm == mm && shadow_at(i)->va >= start && shadow_at(i)->va < end)
			fn(shadow_at(i), arg);
}

/* Entries nobody holds any more. */
static void sweep(void)
{
	u32 i;

	for (i = 1; i < shadow_used; i++)
		if (shadow_at(i)->cpus && !shadow_holders(shadow_at(i)))
			shadow_drop(i);
}

static u32 take_entry(void)
{
	u32 index = free_list;

	ASSERT(nr_spare, "tlbsan: all %u stale entries are in use, and no memory is left for more: "
	       "give the machine more (MEM=), or switch it off", shadow_size);
	nr_spare--;
	if (index)
		free_list = shadow_at(index)->next_pfn;
	else
		index = shadow_used++;
	return index;
}

/*
 * Before an entry is taken: there shall be enough, so that none is ever forgotten. What nobody holds
 * any more is swept out; if that is less than a quarter, the pool grows by an eighth. The last
 * frames are others'.
 */
static void see_to_spare_entries(void)
{
	u64 flags;
	u32 n;

	if (READ_ONCE(nr_spare) >= RESERVE || READ_ONCE(nr_spare) + RESERVE / 8 > spare_at_last_look ||
	    irqs_disabled())
		return;
	flags = spin_lock_irqsave(&lock);
	sweep();
	spin_unlock_irqrestore(&lock, flags);
	for (n = shadow_size / SHADOW_PER_PAGE / 8; n && READ_ONCE(nr_spare) < shadow_size / 4; n--)
		if (nr_free_pages() <= watermarks.min / 2 || !grow())
			break;
	WRITE_ONCE(spare_at_last_look, READ_ONCE(nr_spare));
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

/* Context: the shadow's lock held. */
static struct stale_entry *new_entry(struct mm *mm, u64 va, u64 old, cpumask_t cpus_in_mask)
{
	struct page *page = pfn_to_page(pte_pfn(old));
	u32 index = take_entry();
	struct stale_entry *e = shadow_at(index);

	*e = (struct stale_entry){.pfn = pte_pfn(old), .va = ALIGN_DOWN(va, PAGE_SIZE),
				  .seq = ++seq, .mm = mm, .cpus = cpus_in_mask,
				  .writes = (old & PTE_W) && (old & PTE_D)};
	if (mm && !page_test(page, PG_anon)) {
		e->object = page->object;
		e->index = page->index;
	}
	if (mm)
		mm->tlbsan_last_seq = e->seq;
	note_callers(e);
	link_entry(index);
	return e;
}

static cpumask_t who_may_hold(const struct mm *mm)
{
	return mm ? READ_ONCE(mm->cpumask) : READ_ONCE(cpu_online_mask);
}

void __tlbsan_pte_gone(struct mm *mm, u64 va, u64 old, bool trusted)
{
	u64 flags;

	if (!(old & PTE_P))
		return;
	see_to_spare_entries();
	flags = shadow_lock();
	if (who_may_hold(mm))
		new_entry(mm, va, old, who_may_hold(mm))->trusted = trusted;
	shadow_unlock(flags);
}

/*
 * The generation and the entry are one step: a CPU that flushes in between would have caught up with
 * a change that the shadow did not know of yet, and be accused of it later.
 */
void __tlbsan_pte_gathered(struct mm *mm, u64 va, u64 old)
{
	struct stale_entry *e;
	u64 flags;

	see_to_spare_entries();
	flags = shadow_lock();
	tlb_gen_inc(mm);
	SYNC_POINT(gen_bumped);
	if (who_may_hold(mm)) {
		e = new_entry(mm, va, old, who_may_hold(mm));
		e->gen = mm->tlb_gen;
		mm->tlbsan_gathered_seq = e->seq;
	}
	ASSERT(mm->tlb_gen > mm->tlbsan_gathered, "tlbsan: rule 6: a batch gathered from address "
	       "space %lu without a new generation (%lu)", mm->id, mm->tlb_gen);
	mm->tlbsan_gathered = mm->tlb_gen;
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
	if (prev->tlbsan_last_seq > flushed_user[cpu->id])
		for (i = 1; i < shadow_used; i++)
			if (shadow_at(i)->mm == prev)
				shadow_at(i)->cpus &= ~CPU_BIT(cpu->id);
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

	for (i = *shadow_by_va(mm, va); i; i = shadow_at(i)->next_va)
		if (shadow_at(i)->mm == mm && shadow_at(i)->va == va)
			shadow_at(i)->cpus &= ~CPU_BIT(cpu->id);
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
