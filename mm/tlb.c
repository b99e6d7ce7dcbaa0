/* tlb.c - address-space switches and shootdowns (see tlb.h). */
#include "mm/tlb.h"
#include "arch/paging.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "drivers/clock.h"
#include "drivers/lapic.h"
#include "kernel/perturb.h"
#include "kernel/trace.h"
#include "mm/tlbsan.h"

/* No acknowledgement for this long: some CPU is stuck with interrupts off. */
#define WATCHDOG_NS (60 * NSEC_PER_SEC)

/* ---- Generations and switching ------------------------------------------------------------- */

u64 tlb_gen_inc(struct mm *mm)
{
	return atomic_add_fetch(&mm->tlb_gen, 1);
}

void tlb_gen_inc_batched(struct mm *mm, u64 va, u64 old)
{
	spin_assert_held(&mm->ptl);
	if (unlikely(tlbsan_on))
		__tlbsan_pte_gathered(mm, va, old);
	else
		tlb_gen_inc(mm);
	mm->tlb_batched_pending++;
}

/* Everything this CPU's TLB knew of user addresses is gone, and it is as new as `gen`. */
static void flush_local_user(struct cpu_tlb *tlb)
{
	u64 gen = load_acquire(&tlb->loaded_mm->tlb_gen); /* before the flush, never after */

	tlbsan_flushed_user(this_cpu());
	local_flush_tlb_user();
	SYNC_POINT(user_flushed);
	tlb->local_gen = gen;
}

static void leave_mm(struct cpu *cpu, struct mm *prev)
{
	if (unlikely(tlbsan_on))
		__tlbsan_leave_mm(cpu, prev);
	else
		cpumask_clear_atomic(&prev->cpumask, cpu->id);
}

static void load_mm(struct cpu *cpu, struct mm *next)
{
	struct mm *prev = cpu->tlb.loaded_mm;
	u64 gen;

	cpumask_set_atomic(&next->cpumask, cpu->id); /* before CR3: or a shootdown misses us */
	SYNC_POINT(mask_set);
	gen = load_acquire(&next->tlb_gen);
	tlbsan_flushed_user(cpu);
	write_cr3(next->cr3);
	cpu->tlb.loaded_mm = next;
	cpu->tlb.local_gen = gen;
	SYNC_POINT(cr3_loaded);
	leave_mm(cpu, prev); /* after CR3: nothing of prev is left */
}

void switch_mm_irqoff(struct mm *next)
{
	struct cpu *cpu = this_cpu();
	struct cpu_tlb *tlb = &cpu->tlb;

	ASSERT(irqs_disabled(), "address space switched with interrupts on");
	ASSERT(READ_ONCE(tlb->kernel) == TLB_KERNEL_USED,
	       "cpu%u switches threads and counts as outside the kernel", cpu->id);
	if (!next) {
		store_release(&tlb->lazy, 1u); /* after the last access to user addresses */
		tlbsan_check_cpu(cpu);
		return;
	}
	if (tlb->loaded_mm != next) {
		WRITE_ONCE(tlb->lazy, 0); /* first: in next's mask and lazy it would be skipped */
		load_mm(cpu, next);
	} else if (tlb->lazy) {
		WRITE_ONCE(tlb->lazy, 0);
		SYNC_POINT(lazy_cleared);
		smp_mb(); /* pairs with tlb_gen_inc: seen as not lazy, or we see the generation */
		if (tlb->local_gen != load_acquire(&next->tlb_gen))
			flush_local_user(tlb);
	}
	tlbsan_check_cpu(cpu);
}

void tlb_init_cpu(struct cpu *cpu)
{
	cpu->tlb.loaded_mm = &init_mm;
	cpu->tlb.lazy = 1;
	cpumask_set_atomic(&init_mm.cpumask, cpu->id);
	write_cr3(init_mm.cr3);
}

/* ---- Kernel addresses ---------------------------------------------------------------------- */

static void flush_local_all(void)
{
	tlbsan_flushed_all(this_cpu());
	local_flush_tlb_all();
}

void tlb_enter_kernel(void)
{
	struct cpu *cpu = this_cpu();

	if (READ_ONCE(cpu->tlb.kernel) == TLB_KERNEL_USED)
		return;
	if (xchg(&cpu->tlb.kernel, TLB_KERNEL_USED) == TLB_KERNEL_OWES) {
		flush_local_all();
		cpu->stat.tlb[TLB_VMALLOC].flushes++;
	}
}

void tlb_leave_kernel(void)
{
	store_release(&this_cpu()->tlb.kernel, TLB_KERNEL_QUIET); /* after the last use */
}

/* true: it is outside and will flush on its way in. */
static bool owes_kernel_flush(struct cpu *cpu)
{
	u64 mark = tlbsan_now();

	if (!cmpxchg_bool(&cpu->tlb.kernel, TLB_KERNEL_QUIET, TLB_KERNEL_OWES) &&
	    !cmpxchg_bool(&cpu->tlb.kernel, TLB_KERNEL_OWES, TLB_KERNEL_OWES)) /* still? in order, too */
		return false;
	tlbsan_skipped_kernel(cpu, mark);
	return true;
}

/* ---- The target's side --------------------------------------------------------------------- */

static u64 range_pages(const struct tlb_request *req)
{
	return (req->end - req->start) >> PAGE_SHIFT;
}

static void flush_local_page(struct mm *mm, u64 va)
{
	local_flush_tlb_page(va);
	tlbsan_flushed_page(this_cpu(), mm, va);
}

static void invalidate_range(const struct tlb_request *req)
{
	u64 va;

	for (va = req->start; va < req->end; va += PAGE_SIZE)
		flush_local_page(req->mm, va);
}

/*
 * A range may be dropped page by page only if it is the one change this TLB has not seen: otherwise
 * everything goes, and the CPU has caught up with all changes so far.
 */
static bool flush_mm_request(struct cpu_tlb *tlb, const struct tlb_request *req)
{
	if (tlb->loaded_mm != req->mm || tlb->local_gen >= req->new_gen)
		return false;
	if (range_pages(req) <= TLB_FLUSH_CEILING && tlb->local_gen + 1 == req->new_gen) {
		invalidate_range(req);
		tlbsan_caught_up(this_cpu(), req->mm, req->new_gen);
		tlb->local_gen = req->new_gen;
	} else {
		flush_local_user(tlb);
	}
	return true;
}

static bool flush_kernel_request(const struct tlb_request *req)
{
	if (range_pages(req) <= TLB_FLUSH_CEILING)
		invalidate_range(req);
	else
		flush_local_all();
	return true;
}

static bool drop_mm_request(struct cpu *cpu, const struct tlb_request *req)
{
	if (cpu->tlb.loaded_mm != req->mm)
		return false;
	ASSERT(cpu->tlb.lazy, "cpu%u runs in address space %lu while it is torn down", cpu->id,
	       req->mm->id);
	load_mm(cpu, &init_mm);
	return true;
}

static bool free_tables_request(struct cpu *cpu, const struct tlb_request *req)
{
	if (cpu->tlb.loaded_mm != req->mm)
		return false;
	if (cpu->tlb.lazy)
		load_mm(cpu, &init_mm);
	else
		flush_local_user(&cpu->tlb);
	return true;
}

/* Do what a request asks of this CPU. Context: interrupts off. */
static void execute_request(struct cpu *cpu, const struct tlb_request *req)
{
	bool flushed = true;

	switch (req->kind) {
	case TLB_FLUSH_ALL_USER:
		flush_local_user(&cpu->tlb);
		break;
	case TLB_FLUSH_MM:
		flushed = flush_mm_request(&cpu->tlb, req);
		break;
	case TLB_FLUSH_KERNEL:
		flushed = flush_kernel_request(req);
		break;
	case TLB_FREE_TABLES:
		flushed = free_tables_request(cpu, req);
		break;
	case TLB_DROP_MM:
		flushed = drop_mm_request(cpu, req);
		break;
	}
	if (!flushed)
		return;
	cpu->stat.tlb[req->reason].flushes++;
	TRACE(flush, req->from, req->seq);
}

static void tlb_interrupt(void)
{
	struct cpu *cpu = this_cpu();
	cpumask_t pending = xchg(&cpu->tlb.pending, (cpumask_t)0);
	bool first = true;
	unsigned from;

	ASSERT(pending, "cpu%u took a flush interrupt that nobody asked for", cpu->id);
	TRACE(taken, pending, cpumask_weight(pending));
	for_each_cpu(from, pending) {
		struct tlb_request *req = &cpus[from].tlb.request;
		struct tlb_counters *stat = &cpu->stat.tlb[req->reason];

		SYNC_POINT(ipi_taken);
		execute_request(cpu, req);
		if (first)
			stat->taken++;
		else
			stat->coalesced++;
		first = false;
		SYNC_POINT(ipi_ack);
		TRACE(ack, from, req->seq);
		cpumask_clear_atomic(&req->unacked, cpu->id); /* last touch: it may be reused now */
	}
	SYNC_POINT(ipi_done);
	cpu_relax(); /* the initiator spins: under an emulator with one host thread, let it see us */
}

void tlb_init(void)
{
	irq_register(VEC_TLB, tlb_interrupt);
}

/* ---- The initiator's side ------------------------------------------------------------------- */

/*
 * The lazy catch up by generation, for kernel addresses those outside the kernel on their way in.
 */
static bool may_skip(struct cpu *cpu, enum tlb_request_kind kind, const struct mm *mm)
{
	if (kind == TLB_FLUSH_KERNEL)
		return owes_kernel_flush(cpu);
	if (kind == TLB_DROP_MM || kind == TLB_FREE_TABLES || !load_acquire(&cpu->tlb.lazy))
		return false;
	tlbsan_skipped(cpu, mm);
	return true;
}

/* Which of these CPUs need an interrupt. */
static cpumask_t choose_targets(struct cpu *self, cpumask_t cpus_in_mask, enum tlb_request_kind kind,
				const struct mm *mm, struct tlb_counters *stat)
{
	cpumask_t targets = cpus_in_mask & READ_ONCE(cpu_online_mask) & ~CPU_BIT(self->id);
	unsigned cpu;

	for_each_cpu(cpu, targets)
		if (may_skip(&cpus[cpu], kind, mm)) {
			targets &= ~CPU_BIT(cpu);
			stat->lazy++;
		}
	return targets;
}

static void send_request(struct cpu *self, cpumask_t targets, struct tlb_counters *stat)
{
	unsigned cpu;

	TRACE(shootdown, targets, self->tlb.request.seq);
	for_each_cpu(cpu, targets) {
		stat->targets++;
		if (atomic_fetch_or(&cpus[cpu].tlb.pending, CPU_BIT(self->id))) {
			TRACE(coalesced, cpu, self->tlb.request.seq);
			continue; /* its interrupt is on the way and will serve us too */
		}
		stat->icr++;
		TRACE(icr, cpu, self->tlb.request.seq);
		SYNC_POINT(icr_write);
		lapic_send_ipi(cpus[cpu].apic_id, VEC_TLB);
	}
}

static void wait_for_acks(struct tlb_request *req)
{
	u64 start = clock_ns();
	cpumask_t left;

	while ((left = load_acquire(&req->unacked))) {
		cpu_relax();
		if (clock_ns() - start > WATCHDOG_NS)
			panic("cpu%u has not acknowledged a TLB flush for %lu s (waiting for mask %lx)",
			      cpumask_first(left), WATCHDOG_NS / NSEC_PER_SEC, left);
	}
}

/* The one way to flush: every client's request goes through here. */
static void tlb_shootdown(struct tlb_request what, cpumask_t cpus_in_mask)
{
	struct tlb_counters *stat;
	struct tlb_request *req;
	struct cpu *self;
	cpumask_t targets;
	u64 flags;

	assert_may_wait_for_ipi();
	preempt_disable();
	self = this_cpu();
	stat = &self->stat.tlb[what.reason];
	req = &self->tlb.request;
	ASSERT(req->unacked == 0, "cpu%u reuses a request before CPUs %lx acknowledged it",
	       self->id, req->unacked);
	targets = choose_targets(self, cpus_in_mask, what.kind, what.mm, stat);
	what.from = self->id;
	what.seq = req->seq + 1;
	*req = what;
	store_release(&req->unacked, targets);
	send_request(self, targets, stat);
	if (cpumask_test(cpus_in_mask, self->id)) {
		flags = local_irq_save();
		execute_request(self, req);
		local_irq_restore(flags);
	}
	wait_for_acks(req);
	TRACE(done, req->reason, req->seq);
	preempt_enable();
}

void flush_tlb_mm_range(struct mm *mm, u64 start, u64 end, enum tlb_reason reason)
{
	struct tlb_request what = {
		.kind = TLB_FLUSH_MM,
		.reason = reason,
		.mm = mm,
		.start = ALIGN_DOWN(start, PAGE_SIZE),
		.end = ALIGN_UP(end, PAGE_SIZE),
		.new_gen = tlb_gen_inc(mm),
	};

	tlb_shootdown(what, load_acquire(&mm->cpumask));
}

void flush_tlb_cpus(cpumask_t cpus_in_mask, enum tlb_reason reason)
{
	struct tlb_request what = {.kind = TLB_FLUSH_ALL_USER, .reason = reason};

	tlb_shootdown(what, cpus_in_mask);
}

void flush_tlb_kernel_range(u64 start, u64 end)
{
	struct tlb_request what = {
		.kind = TLB_FLUSH_KERNEL,
		.reason = TLB_VMALLOC,
		.start = ALIGN_DOWN(start, PAGE_SIZE),
		.end = ALIGN_UP(end, PAGE_SIZE),
	};

	tlb_shootdown(what, READ_ONCE(cpu_online_mask));
}

/*
 * Gathering bumps `pending` under the ptl; the caller has just held that lock, so it sees every
 * gather whose PTE it could have found cleared. A gather after the look is not its business.
 */
void flush_tlb_batched_pending(struct mm *mm)
{
	u64 pending, flushed;

	spin_lock(&mm->ptl);
	pending = mm->tlb_batched_pending;
	flushed = mm->tlb_batched_flushed;
	spin_unlock(&mm->ptl);
	if (pending == flushed)
		return;
	flush_tlb_mm_range(mm, 0, USER_END, TLB_UNMAP);
	spin_lock(&mm->ptl);
	if (mm->tlb_batched_flushed < pending)
		mm->tlb_batched_flushed = pending;
	spin_unlock(&mm->ptl);
}

void flush_tlb_freed_tables(struct mm *mm)
{
	struct tlb_request what = {
		.kind = TLB_FREE_TABLES,
		.reason = TLB_UNMAP,
		.mm = mm,
		.end = USER_END,
		.new_gen = tlb_gen_inc(mm),
	};

	tlb_shootdown(what, load_acquire(&mm->cpumask));
}

void tlb_drop_mm(struct mm *mm)
{
	struct tlb_request what = {.kind = TLB_DROP_MM, .reason = TLB_EXIT, .mm = mm};

	tlb_shootdown(what, load_acquire(&mm->cpumask));
	ASSERT(mm->cpumask == 0, "CPUs %lx still use address space %lu after it was dropped",
	       mm->cpumask, mm->id);
}
