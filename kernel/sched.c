/* sched.c - run queues, choosing, switching, waking (see sched.h). */
#include "kernel/sched.h"
#include "arch/cpu.h"
#include "arch/fpu.h"
#include "arch/switch.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "drivers/clock.h"
#include "drivers/lapic.h"
#include "kernel/init.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "kernel/task.h"
#include "kernel/timer.h"
#include "kernel/trace.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"

bool scheduler_running;

static const struct lock_class rq_class = {"run queue", RANK_RUNQUEUE, true};
static struct thread idle_threads[NR_CPUS];

/* Before whom a thread is queued; the queue itself: at the end. */
static struct list_head *place_in(struct list_head *queue, const struct thread *t, bool head)
{
	struct thread *other;

	if (!perturb_seed)
		return head ? queue->next : queue;
	list_for_each(other, queue, run_node)
		if (other->order < t->order)
			return &other->run_node;
	return queue;
}

static void rq_add(struct runqueue *rq, struct thread *t, bool head)
{
	ASSERT(list_empty(&t->run_node), "%s is queued twice", t->name);
	list_add_tail(&t->run_node, place_in(&rq->queue[t->prio], t, head));
	rq->ready |= 1u << t->prio;
	rq->nr_ready++;
}

static void rq_remove(struct runqueue *rq, struct thread *t)
{
	list_del(&t->run_node);
	if (list_empty(&rq->queue[t->prio]))
		rq->ready &= ~(1u << t->prio);
	rq->nr_ready--;
}

static int rq_best_prio(const struct runqueue *rq)
{
	return rq->ready ? 31 - __builtin_clz(rq->ready) : -1;
}

static void kick(struct cpu *target)
{
	WRITE_ONCE(target->need_resched, 1);
	if (target != this_cpu())
		lapic_send_ipi(target->apic_id, VEC_RESCHED);
}

/* The queue lock of the CPU a thread belongs to; the thread may move until we hold it. */
static struct cpu *lock_thread_cpu(struct thread *t)
{
	for (;;) {
		struct cpu *cpu = &cpus[READ_ONCE(t->cpu)];

		spin_lock(&cpu->rq.lock);
		if (cpu->id == READ_ONCE(t->cpu))
			return cpu;
		spin_unlock(&cpu->rq.lock);
	}
}

/* Threads that want a CPU: the one that runs and those that are ready. Racy: a hint. */
static u32 load_of(const struct cpu *cpu)
{
	return READ_ONCE(cpu->rq.nr_ready) + (READ_ONCE(cpu->curr) != cpu->idle);
}

/* The CPU of this mask with the least load; `first` among equals. The mask is not empty. */
static u32 least_loaded_cpu(cpumask_t mask, u32 first)
{
	u32 best = cpumask_test(mask, first) ? first : cpumask_first(mask);
	u32 least = load_of(&cpus[best]);
	unsigned cpu;

	for_each_cpu(cpu, mask)
		if (load_of(&cpus[cpu]) < least) {
			best = cpu;
			least = load_of(&cpus[cpu]);
		}
	return best;
}

/* Where it ran, if it can run there at once; else where the fewest wait. */
static u32 choose_cpu(const struct thread *t)
{
	cpumask_t allowed = t->affinity & READ_ONCE(cpu_online_mask);

	if (!allowed)
		return t->cpu;
	if (cpumask_test(allowed, t->cpu) && t->prio > READ_ONCE(cpus[t->cpu].curr)->prio)
		return t->cpu;
	return least_loaded_cpu(allowed, t->cpu);
}

/*
 * At the end of a slice the running thread goes to a CPU that has at least two fewer: so all get
 * about as many. The CPU, or this one.
 */
static u32 give_away_to(const struct cpu *self, const struct thread *t)
{
	u32 to = least_loaded_cpu(t->affinity & READ_ONCE(cpu_online_mask), self->id);

	return self->rq.nr_ready && load_of(&cpus[to]) + 2 <= load_of(self) ? to : self->id;
}

static void enqueue_on(struct cpu *cpu, struct thread *t)
{
	spin_lock(&cpu->rq.lock);
	rq_add(&cpu->rq, t, false);
	/* For an equal: so that the running thread gets a slice. */
	if (t->prio + !cpu->slice_end_ns > cpu->curr->prio)
		kick(cpu);
	spin_unlock(&cpu->rq.lock);
}

/*
 * A thread that is still on its CPU (marked asleep, not yet switched away) only has its mark taken
 * back: schedule() looks at it under the queue lock that we hold.
 */
bool try_to_wake_up(struct thread *t, u32 states, bool handoff)
{
	u64 flags = local_irq_save();
	struct cpu *from = lock_thread_cpu(t);
	bool woken = BIT(t->state) & states, queue = woken && !t->on_rq;
	u32 to = smp_cpu_id();

	if (woken)
		t->state = THREAD_RUNNING;
	if (queue) {
		if (!handoff || !cpumask_test(t->affinity, to) ||
		    READ_ONCE(cpus[to].rq.ready) >> t->prio) /* others were here before it */
			to = choose_cpu(t);
		t->on_rq = true;
		t->order = perturb_new_order();
		t->cpu = to;
	}
	spin_unlock(&from->rq.lock);
	if (queue)
		enqueue_on(&cpus[to], t);
	local_irq_restore(flags);
	if (woken)
		preempt_check();
	return woken;
}

void sched_kick(struct thread *t)
{
	u64 flags = local_irq_save();
	struct cpu *cpu = lock_thread_cpu(t);

	if (cpu->curr == t)
		kick(cpu);
	spin_unlock(&cpu->rq.lock);
	local_irq_restore(flags);
}

void set_current_state(u32 state)
{
	(void)xchg(&current->state, state); /* ordered before the look at the condition */
}

void thread_start(struct thread *t)
{
	u64 flags = local_irq_save();

	ASSERT(!t->on_rq, "%s is started twice", t->name);
	t->cpu = smp_cpu_id();
	t->cpu = choose_cpu(t);
	t->on_rq = true;
	t->state = THREAD_RUNNING;
	enqueue_on(&cpus[t->cpu], t);
	local_irq_restore(flags);
	preempt_check();
}

/* The best thread of a queue that may run on this CPU too, taken. Context: queue lock held. */
static struct thread *steal_from(struct runqueue *rq, struct cpu *self)
{
	struct thread *t;
	int prio;

	for (prio = rq_best_prio(rq); prio >= 0; prio--)
		list_for_each(t, &rq->queue[prio], run_node)
			if (cpumask_test(t->affinity, self->id)) {
				rq_remove(rq, t);
				t->cpu = self->id;
				return t;
			}
	return NULL;
}

/* An idle CPU takes a ready thread from a queue that has more than its CPU can run. */
static struct thread *steal_thread(struct cpu *self)
{
	struct thread *t = NULL;
	unsigned cpu;

	for_each_online_cpu(cpu) {
		struct runqueue *rq = &cpus[cpu].rq;

		if (t || cpu == self->id || !READ_ONCE(rq->nr_ready) || !spin_trylock(&rq->lock))
			continue;
		t = steal_from(rq, self);
		spin_unlock(&rq->lock);
	}
	return t;
}

static struct thread *pick_next(struct cpu *cpu)
{
	int prio = rq_best_prio(&cpu->rq);
	struct thread *t;

	if (prio < 0) {
		t = steal_thread(cpu);
		return t ? t : cpu->idle;
	}
	t = list_first(&cpu->rq.queue[prio], struct thread, run_node);
	rq_remove(&cpu->rq, t);
	return t;
}

/* Context: run-queue lock held. */
static void account_time(struct cpu *cpu, struct thread *prev, struct thread *next)
{
	u64 now = clock_ns();

	if (prev == cpu->idle)
		cpu->stat.idle_ns += now - cpu->idle_since_ns;
	else if (prev->run_since_ns)
		prev->run_ns += now - prev->run_since_ns;
	if (next == cpu->idle)
		cpu->idle_since_ns = now;
	prev->run_since_ns = 0;
	next->run_since_ns = now;
}

u64 thread_run_ns(struct thread *t)
{
	u64 flags = local_irq_save(), now, ns;
	struct cpu *cpu = lock_thread_cpu(t);

	now = clock_ns();
	ns = t->run_ns;
	if (t->run_since_ns && t->run_since_ns < now)
		ns += now - t->run_since_ns;
	spin_unlock(&cpu->rq.lock);
	local_irq_restore(flags);
	return ns;
}

/*
 * First thing a thread does after it was switched to, new ones included. prev is off this CPU now
 * and, if it was sent away, can be queued elsewhere.
 */
static void finish_switch(struct thread *prev)
{
	struct cpu *cpu = this_cpu();
	bool dead = prev->state == THREAD_DEAD && !prev->on_rq;
	bool away = cpu->sends_away;

	ASSERT(!away || (prev->on_rq && !dead), "%s is sent away and not ready", prev->name);
	cpu->sends_away = false;
	if (away)
		prev->cpu = least_loaded_cpu(prev->affinity & READ_ONCE(cpu_online_mask), cpu->id);
	spin_unlock(&cpu->rq.lock);
	if (dead)
		thread_reap(prev);
	else if (away)
		enqueue_on(&cpus[prev->cpu], prev);
}

void thread_entered(struct thread *prev)
{
	finish_switch(prev);
	local_irq_enable();
}

static void switch_to(struct cpu *cpu, struct thread *prev, struct thread *next)
{
	cpu->stat.context_switches++;
	TRACE(switch, next->tid, trace_text(next->name));
	account_time(cpu, prev, next);
	switch_mm_irqoff(next->mm);
	fpu_switch(cpu, prev, next);
	if (prev->task)
		arch_read_selectors(&prev->selectors);
	arch_load_segments(next);
	arch_set_kernel_stack(next->stack_base + KERNEL_STACK_SIZE);
	cpu->curr = next;
	finish_switch(arch_switch_stack(&prev->rsp, next->rsp, prev));
}

/* preempted: the thread did not ask, so whatever its state says it stays runnable. */
static void __schedule(bool preempted, bool to_tail)
{
	struct cpu *cpu = this_cpu();
	struct thread *prev = cpu->curr, *next;
	bool asleep;

	ASSERT(cpu->nr_held == 0, "%s gives up the CPU holding %s", prev->name,
	       cpu->held[cpu->nr_held - 1]->class->name);
	spin_lock(&cpu->rq.lock);
	WRITE_ONCE(cpu->need_resched, 0);
	if (to_tail)
		prev->order = perturb_last_order();
	asleep = !preempted && prev->state != THREAD_RUNNING;
	prev->slice_end_ns = asleep || to_tail ? 0 : cpu->slice_end_ns;
	if (prev != cpu->idle) {
		if (asleep)
			prev->on_rq = false;
		else if (!cpumask_test(prev->affinity, cpu->id) ||
			 (preempted && to_tail && give_away_to(cpu, prev) != cpu->id))
			cpu->sends_away = true;
		else
			rq_add(&cpu->rq, prev, !to_tail);
	}
	next = pick_next(cpu);
	cpu->slice_end_ns = 0;
	if (next != cpu->idle && !list_empty(&cpu->rq.queue[next->prio]))
		timer_slice_start(next->slice_end_ns);
	if (next == prev)
		spin_unlock(&cpu->rq.lock);
	else
		switch_to(cpu, prev, next);
}

void schedule(void)
{
	u64 flags;

	ASSERT(this_cpu_read(preempt_count) == 0, "%s sleeps with preempt count %u",
	       current->name, this_cpu_read(preempt_count));
	flags = local_irq_save();
	__schedule(false, false);
	local_irq_restore(flags);
}

void sched_yield(void)
{
	u64 flags = local_irq_save();

	__schedule(false, true);
	local_irq_restore(flags);
}

void preempt_schedule_irq(void)
{
	struct cpu *cpu = this_cpu();

	if (scheduler_running)
		__schedule(true, cpu->slice_end_ns && clock_ns() >= cpu->slice_end_ns);
}

void preempt_check(void)
{
	if (!this_cpu_read(need_resched) || this_cpu_read(preempt_count) || irqs_disabled())
		return;
	local_irq_disable();
	if (this_cpu_read(need_resched))
		preempt_schedule_irq();
	local_irq_enable();
}

void sched_set_affinity(struct thread *t, cpumask_t mask)
{
	ASSERT(t == current || !t->on_rq, "%s is moved by somebody else", t->name);
	ASSERT(mask & READ_ONCE(cpu_online_mask), "no CPU of %lx is online", mask);
	WRITE_ONCE(t->affinity, mask);
	if (t == current && !cpumask_test(mask, smp_cpu_id()))
		sched_yield(); /* finish_switch queues it where it may run */
}

static void idle_loop(void)
{
	struct cpu *cpu = this_cpu();

	for (;;) {
		local_irq_disable();
		tlb_enter_kernel(); /* HLT may end without an interrupt (SDM vol. 2, HLT) */
		if (!cpu->need_resched && !cpu->rq.nr_ready) {
			tlb_leave_kernel();
			cpu_wait_for_irq(); /* STI;HLT: an interrupt cannot slip in between */
		} else {
			__schedule(true, false);
		}
		local_irq_enable();
	}
}

/* need_resched is set: the way out of the interrupt does the work. */
static void resched_interrupt(void)
{
	this_cpu()->stat.resched_irqs++;
}

static void init_cpu_sched(struct cpu *cpu)
{
	struct thread *idle = &idle_threads[cpu->id];
	int i;

	spin_init(&cpu->rq.lock, &rq_class);
	for (i = 0; i < NR_PRIORITIES; i++)
		list_init(&cpu->rq.queue[i]);
	sleepers_init_cpu(cpu);
	snprintf(idle->name, sizeof(idle->name), "idle/%u", cpu->id);
	idle->cpu = cpu->id;
	idle->on_rq = true;
	idle->prio = PRIO_IDLE;
	idle->affinity = CPU_BIT(cpu->id);
	list_init(&idle->run_node);
	list_init(&idle->timer_node);
	idle->stack_base = (u64)kpage_alloc(2);
	if (!idle->stack_base)
		panic("no memory for the idle stack of cpu%u: give the machine more", cpu->id);
	cpu->idle = cpu->curr = idle;
	cpu->idle_stack_top = idle->stack_base + KERNEL_STACK_SIZE;
	cpu->tlb.loaded_mm = &init_mm;
}

void sched_init(void)
{
	u32 i;

	for (i = 0; i < nr_cpus_present; i++)
		init_cpu_sched(&cpus[i]);
	irq_register(VEC_RESCHED, resched_interrupt);
}

void sched_start_cpu(void)
{
	struct cpu *cpu = this_cpu();

	cpu->idle_since_ns = clock_ns();
	tlb_init_cpu(cpu);
	if (cpu->id == 0)
		scheduler_running = true;
	idle_loop();
	__builtin_unreachable();
}
