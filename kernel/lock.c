/* lock.c - ticket spinlocks and the run-time lock rules (see lock.h). */
#include "kernel/lock.h"
#include "arch/cpu.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "kernel/sched.h"

/* A spin that lasts this many pauses is a deadlock even under emulation: name both sides. */
#define SPIN_LIMIT (1ULL << 32)

static void lock_rules_before(struct cpu *cpu, const spinlock_t *lock, bool trylock)
{
	const struct lock_class *class = lock->class;
	spinlock_t *top = cpu->nr_held ? cpu->held[cpu->nr_held - 1] : NULL;

	ASSERT(class, "spinlock %p was never initialised", (const void *)lock);
	ASSERT(lock->owner != cpu->id + 1, "cpu%u takes %s twice", cpu->id, class->name);
	ASSERT(class->irq == irqs_disabled() || !scheduler_running,
	       "%s taken with interrupts %s", class->name, irqs_disabled() ? "off" : "on");
	if (top && !trylock)
		ASSERT(class->rank > top->class->rank, "lock order: %s (%d) taken under %s (%d)",
		       class->name, class->rank, top->class->name, top->class->rank);
	ASSERT(cpu->nr_held < MAX_HELD_LOCKS, "cpu%u holds %u locks", cpu->id, cpu->nr_held);
}

static void lock_acquired(struct cpu *cpu, spinlock_t *lock)
{
	lock->owner = (u16)(cpu->id + 1);
	cpu->held[cpu->nr_held++] = lock;
}

static void lock_released(struct cpu *cpu, spinlock_t *lock)
{
	u32 i = cpu->nr_held;

	ASSERT(lock->owner == cpu->id + 1, "cpu%u releases %s, held by cpu%d", cpu->id,
	       lock->class->name, lock->owner - 1);
	while (i > 0 && cpu->held[i - 1] != lock)
		i--;
	ASSERT(i > 0, "%s is not among the locks of cpu%u", lock->class->name, cpu->id);
	for (; i < cpu->nr_held; i++)
		cpu->held[i - 1] = cpu->held[i];
	cpu->nr_held--;
	lock->owner = 0;
}

static void ticket_lock(spinlock_t *lock)
{
	u16 ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_SEQ_CST);
	u64 spins = 0;

	while (load_acquire(&lock->serving) != ticket) {
		cpu_relax();
		if (++spins == SPIN_LIMIT)
			panic("cpu%u waits for %s, held by cpu%d", smp_cpu_id(), lock->class->name,
			      lock->owner - 1);
	}
}

static void ticket_unlock(spinlock_t *lock)
{
	store_release(&lock->serving, (u16)(lock->serving + 1));
}

void spin_lock_irqoff(spinlock_t *lock)
{
	struct cpu *cpu = this_cpu();

	this_cpu_add32(preempt_count, 1);
	lock_rules_before(cpu, lock, false);
	ticket_lock(lock);
	lock_acquired(cpu, lock);
}

void spin_unlock_irqoff(spinlock_t *lock)
{
	lock_released(this_cpu(), lock);
	ticket_unlock(lock);
	this_cpu_add32(preempt_count, -1);
}

bool spin_trylock_irqoff(spinlock_t *lock)
{
	struct cpu *cpu = this_cpu();
	u16 serving = READ_ONCE(lock->serving);

	lock_rules_before(cpu, lock, true);
	if (!cmpxchg_bool(&lock->next, serving, (u16)(serving + 1)))
		return false;
	this_cpu_add32(preempt_count, 1);
	lock_acquired(cpu, lock);
	return true;
}

void spin_lock(spinlock_t *lock)
{
	preempt_disable();
	lock_rules_before(this_cpu(), lock, false);
	ticket_lock(lock);
	lock_acquired(this_cpu(), lock);
}

void spin_unlock(spinlock_t *lock)
{
	lock_released(this_cpu(), lock);
	ticket_unlock(lock);
	preempt_enable();
}

u64 spin_lock_irqsave(spinlock_t *lock)
{
	u64 flags = local_irq_save();

	spin_lock_irqoff(lock);
	return flags;
}

void spin_unlock_irqrestore(spinlock_t *lock, u64 flags)
{
	spin_unlock_irqoff(lock);
	local_irq_restore(flags);
	preempt_check();
}

bool spin_is_held(const spinlock_t *lock)
{
	return READ_ONCE(lock->owner) == smp_cpu_id() + 1;
}

void spin_assert_held(const spinlock_t *lock)
{
	ASSERT(spin_is_held(lock), "%s is not held here", lock->class->name);
}

bool may_sleep(void)
{
	return scheduler_running && this_cpu_read(preempt_count) == 0 && !irqs_disabled();
}

void assert_may_sleep(const char *what)
{
	struct cpu *cpu = this_cpu();

	ASSERT(!scheduler_running || may_sleep(), "%s may sleep: preempt count %u, interrupts %s, inner lock %s", what,
	       cpu->preempt_count, irqs_disabled() ? "off" : "on",
	       cpu->nr_held ? cpu->held[cpu->nr_held - 1]->class->name : "none");
}

void assert_may_wait_for_ipi(void)
{
	struct cpu *cpu = this_cpu();

	ASSERT(cpu->nr_held == 0, "cpu%u waits for IPI acknowledgements holding %s", cpu->id,
	       cpu->held[cpu->nr_held - 1]->class->name);
	ASSERT(!irqs_disabled(), "cpu%u waits for IPI acknowledgements with interrupts off", cpu->id);
}

void preempt_disable(void)
{
	this_cpu_add32(preempt_count, 1);
	barrier();
}

void preempt_enable(void)
{
	barrier();
	this_cpu_add32(preempt_count, -1);
	preempt_check();
}
