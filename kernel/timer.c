/* timer.c - sleepers by deadline and time slices (see timer.h). */
#include "kernel/timer.h"
#include "arch/cpu.h"
#include "drivers/clock.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/thread.h"

#define SLICE_NS (10 * 1000 * 1000ULL)

static const struct lock_class timer_class = {"timer", RANK_TIMER, true};

void sleepers_init_cpu(struct cpu *cpu)
{
	spin_init(&cpu->timer_lock, &timer_class);
	list_init(&cpu->sleepers);
}

/* Context: interrupts off. An armed deadline that has become moot only costs an empty interrupt. */
static void timer_arm(struct cpu *cpu, u64 deadline_ns)
{
	if (cpu->timer_armed_ns && cpu->timer_armed_ns <= deadline_ns)
		return;
	cpu->timer_armed_ns = deadline_ns;
	cpu->timer_due_ns = MAX(deadline_ns, clock_ns() + MIN_ALARM_NS);
	timer_set_deadline_ns(deadline_ns);
}

void timer_slice_start(u64 end_ns)
{
	struct cpu *cpu = this_cpu();

	cpu->slice_end_ns = end_ns ? end_ns : clock_ns() + SLICE_NS;
	timer_arm(cpu, cpu->slice_end_ns);
}

/* An alarm waits while interrupts are off: each tells of one such time, the longest is kept. */
static void note_lateness(struct cpu *cpu, u64 now)
{
	if (cpu->timer_armed_ns && now > cpu->timer_due_ns)
		cpu->stat.timer_late_ns = MAX(cpu->stat.timer_late_ns, now - cpu->timer_due_ns);
}

void timer_interrupt(void)
{
	struct cpu *cpu = this_cpu();
	struct thread *t;
	u64 now = clock_ns();

	cpu->stat.timer_irqs++;
	note_lateness(cpu, now);
	cpu->timer_armed_ns = 0;
	if (cpu->slice_end_ns && now >= cpu->slice_end_ns)
		WRITE_ONCE(cpu->need_resched, 1);
	else if (cpu->slice_end_ns)
		timer_arm(cpu, cpu->slice_end_ns);
	spin_guard(&cpu->timer_lock);
	while (!list_empty(&cpu->sleepers)) {
		t = list_first(&cpu->sleepers, struct thread, timer_node);
		if (t->timer_deadline_ns > now) {
			timer_arm(cpu, t->timer_deadline_ns);
			break;
		}
		list_del(&t->timer_node);
		wake_up_thread(t); /* under the lock: the thread cannot end before it disarms */
	}
}

void sleep_timer_arm(u64 deadline_ns)
{
	u64 flags = local_irq_save();
	struct cpu *cpu = this_cpu();
	struct thread *self = cpu->curr, *t;
	struct list_head *at;

	ASSERT(list_empty(&self->timer_node), "%s arms its timer twice", self->name);
	spin_lock(&cpu->timer_lock);
	self->timer_deadline_ns = deadline_ns;
	self->timer_cpu = cpu->id;
	at = &cpu->sleepers;
	list_for_each(t, &cpu->sleepers, timer_node)
		if (t->timer_deadline_ns > deadline_ns) {
			at = &t->timer_node;
			break;
		}
	list_add_tail(&self->timer_node, at);
	timer_arm(cpu, deadline_ns);
	spin_unlock(&cpu->timer_lock);
	local_irq_restore(flags);
}

void sleep_timer_disarm(void)
{
	struct thread *self = current;
	struct cpu *cpu = &cpus[self->timer_cpu];
	u64 flags = spin_lock_irqsave(&cpu->timer_lock);

	list_del(&self->timer_node);
	spin_unlock_irqrestore(&cpu->timer_lock, flags);
}

int sleep_until_done(const bool *done, u64 deadline_ns)
{
	int err = 0;

	assert_may_sleep("sleep_until_done");
	if (deadline_ns)
		sleep_timer_arm(deadline_ns);
	for (;;) {
		set_current_state(THREAD_KILLABLE);
		if (done && READ_ONCE(*done))
			break;
		if (deadline_ns && clock_ns() >= deadline_ns)
			err = -ETIMEDOUT;
		else if (thread_killed(current))
			err = -EINTR;
		if (err)
			break;
		schedule();
	}
	set_current_state(THREAD_RUNNING);
	if (deadline_ns)
		sleep_timer_disarm();
	return err;
}

int sleep_until(u64 deadline_ns)
{
	int err = sleep_until_done(NULL, MAX(deadline_ns, 1ul));

	return err == -ETIMEDOUT ? 0 : err;
}
