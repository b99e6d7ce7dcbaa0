/* thread.c - making and ending threads (see thread.h). */
#include "kernel/thread.h"
#include "arch/fpu.h"
#include "arch/switch.h"
#include "arch/trap.h"
#include "kernel/lib.h"
#include "kernel/task.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/tlb_batch.h"
#include "mm/vmalloc.h"

#define FIRST_KERNEL_TID (1u << 22)

static u32 last_id, nr_kernel_threads;
static u32 nr_user_threads; /* atomic */

/* Threads that have ended, chained by run_node. Written with interrupts off, by the scheduler. */
static const struct lock_class dead_class = {"dead threads", RANK_WAIT, true};
static spinlock_t dead_lock = SPINLOCK_INIT(dead_class);
static struct list_head dead = LIST_HEAD_INIT(dead);

u32 thread_new_id(void)
{
	return atomic_add_fetch(&last_id, 1);
}

/* A task's first thread has its id. */
static u32 choose_tid(const struct task *task)
{
	if (!task)
		return FIRST_KERNEL_TID - 1 + atomic_add_fetch(&nr_kernel_threads, 1);
	return READ_ONCE(task->nr_threads) ? thread_new_id() : task->pid;
}

/* Their stacks may fill an eighth of memory, as Linux's threads-max. Servers are never refused. */
static bool room_for_thread(const struct task *task)
{
	if (atomic_add_fetch(&nr_user_threads, 1) <= threads_max() || task->server)
		return true;
	atomic_dec(&nr_user_threads);
	return false;
}

u64 threads_max(void)
{
	return MAX(mem_total_pages / (8 * (KERNEL_STACK_SIZE / PAGE_SIZE)), 64ul);
}

struct thread *thread_create(const char *name, void (*fn)(void *), void *arg, u8 prio,
			     struct task *task, struct mm *mm)
{
	struct thread *t;

	thread_free_dead();
	if (task && !room_for_thread(task))
		return NULL;
	t = kzalloc(sizeof(*t));
	if (!t) {
		if (task)
			atomic_dec(&nr_user_threads);
		return NULL;
	}
	t->counted = task;
	t->stack_base = kernel_stack_alloc();
	t->fpu = task ? fpu_alloc() : NULL;
	if (!t->stack_base || (task && !t->fpu)) {
		thread_free(t);
		return NULL;
	}
	t->tid = choose_tid(task);
	t->task = task;
	t->mm = mm;
	t->prio = prio;
	t->affinity = CPUMASK_ALL;
	t->fpu_cpu = ~0u;
	strlcpy(t->name, name, sizeof(t->name));
	list_init(&t->run_node);
	list_init(&t->timer_node);
	list_init(&t->task_node);
	t->state = THREAD_SLEEPING;
	t->rsp = arch_new_stack(t->stack_base + KERNEL_STACK_SIZE - sizeof(struct trap_frame), fn,
				arg);
	return t;
}

void thread_free(struct thread *t)
{
	if (t->counted)
		atomic_dec(&nr_user_threads);
	if (t->stack_base)
		kernel_stack_free(t->stack_base);
	fpu_free(t->fpu);
	if (t->ipc_page)
		kpage_free(t->ipc_page, 0);
	kfree(t);
}

struct thread *kthread_run(const char *name, void (*fn)(void *), void *arg, u8 prio)
{
	struct thread *t = thread_create(name, fn, arg, prio, NULL, NULL);

	if (!t)
		panic("no memory for the kernel thread %s", name);
	thread_start(t);
	return t;
}

struct trap_frame *thread_user_frame(const struct thread *t)
{
	return (struct trap_frame *)(t->stack_base + KERNEL_STACK_SIZE) - 1;
}

void thread_exit(void)
{
	ASSERT(current->nr_mutexes == 0, "%s ends holding %s", current->name,
	       current->mutexes[0]->name);
	tlb_ubc_release(current);
	fpu_drop_current();
	set_current_state(THREAD_DEAD); /* a preemption from here on only delays it */
	schedule();
	panic("%s runs after its end", current->name);
}

/* Called on another stack, right after the dead thread's CPU left it. */
void thread_reap(struct thread *t)
{
	spin_guard(&dead_lock);
	list_add(&t->run_node, &dead);
}

void thread_free_dead(void)
{
	struct thread *t;
	u64 flags;

	do {
		flags = spin_lock_irqsave(&dead_lock);
		t = list_pop(&dead, struct thread, run_node);
		spin_unlock_irqrestore(&dead_lock, flags);
		if (t)
			thread_free(t);
	} while (t);
}

/* If it runs in user mode right now, the interrupt brings it into the kernel and to its end. */
void thread_kill(struct thread *t)
{
	(void)xchg(&t->killed, 1u);
	if (!try_to_wake_up(t, BIT(THREAD_KILLABLE), false))
		sched_kick(t);
}

void thread_describe(char *buf, size_t size)
{
	struct thread *self = this_cpu_read(self) ? current : NULL;

	if (self)
		snprintf(buf, size, "%s (tid %u, pid %u)", self->name, self->tid,
			 self->task ? self->task->pid : 0);
	else
		snprintf(buf, size, "no thread yet");
}
