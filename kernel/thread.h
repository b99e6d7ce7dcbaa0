/*
 * thread.h - a thread: what runs, with its kernel stack, its place in the scheduler and its waits.
 */
#pragma once

#include "arch/switch.h"
#include "kernel/cpu.h" /* `current` */

struct mm;
struct task;
struct trap_frame;
struct tlbflush_unmap_batch;

enum thread_state {
	THREAD_RUNNING,  /* on a CPU or ready */
	THREAD_SLEEPING, /* until woken */
	THREAD_KILLABLE, /* until woken or killed */
	THREAD_DEAD,     /* never runs again; the next thread on its CPU frees it */
};

/* Thread flags. */
#define PF_MEMALLOC 1u /* may use the last frames: it is freeing memory, or serves those who do */
#define PF_FAIL     2u /* its allocations fail, on purpose, in this system call (mm/fail.h) */

#define THREAD_NAME_LEN   28
#define KERNEL_STACK_SIZE (4 * PAGE_SIZE)
#define MAX_HELD_MUTEXES  6

/* Priorities: higher runs first. */
#define PRIO_IDLE     0
#define PRIO_USER     8
#define PRIO_SERVER   16
#define PRIO_KTHREAD  20
#define PRIO_RECLAIM  24

struct thread {
	/* Constant after creation, but for exec of the thread itself. */
	u32 tid; /* the pid in a task's first thread, and after exec */
	struct task *task; /* NULL for kernel threads */
	struct mm *mm;
	u64 stack_base;
	bool counted; /* among those of threads_max */
	char name[THREAD_NAME_LEN];

	/* Under the run-queue lock of `cpu`. */
	u32 state; /* enum thread_state; a thread marks itself without the lock (see wait.h) */
	u32 cpu;
	bool on_rq; /* ready or running */
	u8 prio;
	s64 order; /* among equals, higher first; 0 unless a seed perturbs (perturb.h) */
	cpumask_t affinity;
	u64 slice_end_ns; /* while it is ready: when equals get their turn; 0: a slice from then */
	struct list_head run_node;
	u64 rsp; /* saved stack pointer while it does not run */
	u64 run_ns, run_since_ns; /* CPU time up to then; since then it runs, 0: it does not */

	/* Under the timer lock of timer_cpu. */
	struct list_head timer_node;
	u64 timer_deadline_ns;
	u32 timer_cpu;

	/* Own thread only. */
	u32 flags;
	u64 fs_base, gs_base; /* canonical and the user's: checked where they come in */
	struct selectors selectors; /* while it does not run */
	void *fpu;   /* XSAVE area; NULL for kernel threads */
	u32 fpu_cpu; /* whose registers were loaded from it last */
	const struct lock_class *mutexes[MAX_HELD_MUTEXES];
	u32 nr_mutexes;
	struct tlbflush_unmap_batch *tlb_ubc; /* allocated when first needed */
	void *ipc_page; /* where messages are staged; allocated when first needed (ipc_user.c) */
	u64 clear_child_tid, set_child_tid; /* user addresses: written at the end, at the start */

	u32 killed; /* set once by anyone */

	struct list_head task_node; /* the task's threads; under the tasks lock */
};

/*
 * Create a thread that will run fn(arg) on a stack of its own; it is not yet runnable. task and mm
 * may be NULL. Returns NULL when memory is short. Context: may sleep.
 */
struct thread *thread_create(const char *name, void (*fn)(void *), void *arg, u8 prio,
			     struct task *task, struct mm *mm);
/* An id that no task or user thread has. Kernel threads count from 2^22 on, Linux's last pid. */
u32 thread_new_id(void);
/*
 * How many threads of user programs there may be at a time, and how many tasks, those that nobody
 * has waited for yet included.
 */
u64 threads_max(void);
/* Put a new thread on a run queue. */
void thread_start(struct thread *thread);
/* A kernel thread, created and started; panics when it cannot (boot only). */
struct thread *kthread_run(const char *name, void (*fn)(void *), void *arg, u8 prio);
/* Free a thread that was never started. */
void thread_free(struct thread *thread);
/* End the current thread. The batch must be empty (asserted). */
void __noreturn thread_exit(void);

/* The frame a thread entered the kernel with, at the top of its stack. */
struct trap_frame *thread_user_frame(const struct thread *thread);

/* CPU time it has used. Any context. */
u64 thread_run_ns(struct thread *thread);

static inline bool thread_killed(const struct thread *thread)
{
	return *(const volatile u32 *)&thread->killed != 0;
}

/* Ask a thread to end at its next way out of the kernel, waking it from killable sleep. */
void thread_kill(struct thread *thread);
