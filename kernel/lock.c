/* lock.c - spinlocks and the run-time lock rules (see lock.h). */
#include "kernel/lock.h"
#include "arch/cpu.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/trace.h"

/* A spin that lasts this many pauses is a deadlock even under emulation: name both sides. */
#define SPIN_LIMIT (1ULL << 32)

static void lock_rules_before(struct cpu *cpu, const spinlock_t *lock, bool trylock)
{
	const struct lock_class *class = lock->class;
	spinlock_t *top = cpu->nr_held ? cpu->held[cpu->nr_held - 1] : NULL;

	ASSERT(class, "spinlock %p was never initialised", (const void *)lock);
	ASSERT(READ_ONCE(lock->owner) != cpu->id + 1, "cpu%u takes %s twice", cpu->id, class->name);
	ASSERT(class->irq == irqs_disabled() || !scheduler_running,
	       "%s taken with interrupts %s", class->name, irqs_disabled() ? "off" : "on");
	if (top && !trylock)
		ASSERT(class->rank > top->class->rank, "lock order: %s (%d) taken under %s (%d)",
		       class->name, class->rank, top->class->name, top->class->rank);
	ASSERT(cpu->nr_held < MAX_HELD_LOCKS, "cpu%u holds %u locks", cpu->id, cpu->nr_held);
}

static void drop(struct cpu *cpu, spinlock_t *lock)
{
	u32 i = cpu->nr_held;

	ASSERT(READ_ONCE(lock->owner) == cpu->id + 1, "cpu%u releases %s, held by cpu%d", cpu->id,
	       lock->class->name, (int)lock->owner - 1);
	while (i > 0 && cpu->held[i - 1] != lock)
		i--;
	ASSERT(i > 0, "%s is not among the locks of cpu%u", lock->class->name, cpu->id);
	for (; i < cpu->nr_held; i++)
		cpu->held[i - 1] = cpu->held[i];
	cpu->nr_held--;
	store_release(&lock->owner, 0u);
}

/* The record is in step with the lock for interrupts too: they record their own locks above it. */
static bool try_acquire(struct cpu *cpu, spinlock_t *lock)
{
	u64 flags;

	if (READ_ONCE(lock->owner) || !cmpxchg_bool(&lock->owner, 0u, cpu->id + 1))
		return false;
	flags = local_irq_save();
	cpu->held[cpu->nr_held++] = lock;
	local_irq_restore(flags);
	return true;
}

static void acquire(struct cpu *cpu, spinlock_t *lock)
{
	u64 spins = 0;

	lock_rules_before(cpu, lock, false);
	while (!try_acquire(cpu, lock)) {
		if (!spins)
			TRACE(lock_wait, trace_text(lock->class->name), lock->owner - 1);
		cpu_relax();
		if (++spins == SPIN_LIMIT)
			panic("cpu%u waits for %s, held by cpu%d", cpu->id, lock->class->name,
			      (int)lock->owner - 1);
	}
}

void spin_lock(spinlock_t *lock)
{
	SYNC_POINT(spin_lock);
	preempt_disable();
	acquire(this_cpu(), lock);
}

bool spin_trylock(spinlock_t *lock)
{
	lock_rules_before(this_cpu(), lock, true);
	if (!try_acquire(this_cpu(), lock))
		return false;
	preempt_disable();
	return true;
}

void spin_unlock(spinlock_t *lock)
{
	drop(this_cpu(), lock);
	preempt_enable();
}

u64 spin_lock_irqsave(spinlock_t *lock)
{
	u64 flags = local_irq_save();

	spin_lock(lock);
	return flags;
}

void spin_unlock_irqrestore(spinlock_t *lock, u64 flags)
{
	spin_unlock(lock);
	local_irq_restore(flags);
	preempt_check();
}

void spin_assert_held(const spinlock_t *lock)
{
	ASSERT(READ_ONCE(lock->owner) == smp_cpu_id() + 1, "%s is not held here",
	       lock->class->name);
}

bool may_sleep(void)
{
	return scheduler_running && this_cpu_read(preempt_count) == 0 && !irqs_disabled();
}

void assert_may_sleep(const char *what)
{
	struct cpu *cpu = this_cpu();

	ASSERT(!scheduler_running || may_sleep(),
	       "%s may sleep: preempt count %u, interrupts %s, inner lock %s", what,
	       cpu->preempt_count, irqs_disabled() ? "off" : "on",
	       cpu->nr_held ? cpu->held[cpu->nr_held - 1]->class->name : "none");
}

void assert_may_wait_for_ipi(void)
{
	struct cpu *cpu = this_cpu();

	ASSERT(cpu->nr_held == 0, "cpu%u waits for IPI acknowledgements holding %s", cpu->id,
	       cpu->held[cpu->nr_held - 1]->class->name);
	ASSERT(!irqs_disabled(), "cpu%u waits for IPI acknowledgements with interrupts off",
	       cpu->id);
}

void preempt_disable(void)
{
	this_cpu_add32(preempt_count, 1);
}

void preempt_enable(void)
{
	this_cpu_add32(preempt_count, -1);
	preempt_check();
}
