/*
 * sched.h - fixed-priority preemptive scheduling, FIFO within a priority, a queue per CPU.
 *
 * The thread with the highest priority runs; one that is preempted goes back to the head of its
 * queue, one that used up its slice (only when equals wait) or yields goes to the tail. A new or
 * waking thread goes to the CPU it ran on if it can run there at once, else to the one of its
 * affinity with the fewest threads. At the end of a slice a thread moves to a CPU that has at least
 * two fewer. An idle CPU looks for work on other queues before it halts. The kernel is preemptible
 * wherever preempt_count is 0.
 */
#pragma once

#include "kernel/cpumask.h"
#include "kernel/types.h"

struct thread;
struct cpu;

extern bool scheduler_running; /* the boot CPU runs threads: sleeping and lock rules apply */

/* Start-up (sched_init, sched_start_cpu): kernel/init.h. */

/*
 * Give the CPU to the best runnable thread. The caller has set its state: if it still is
 * THREAD_RUNNING it stays runnable. Context: no spinlock held.
 */
void schedule(void);
/* Let equals run first. */
void sched_yield(void);

void set_current_state(u32 state);

/* Make a thread that is in one of these states (bits) runnable; false: it was not. Any context. */
bool try_to_wake_up(struct thread *thread, u32 states, bool handoff);
#define wake_up_thread(t) try_to_wake_up(t, BIT(THREAD_SLEEPING) | BIT(THREAD_KILLABLE), false)
/* The same, onto this CPU unless equals wait there already: the IPC hand-off. */
#define wake_up_handoff(t) try_to_wake_up(t, BIT(THREAD_SLEEPING) | BIT(THREAD_KILLABLE), true)
/* If the thread runs on some CPU, make that CPU look at it soon. Any context. */
void sched_kick(struct thread *thread);

/*
 * Restrict thread to CPUs in mask (some of them online): the current one, which moves at once, or
 * one that was not started yet. Context: may sleep.
 */
void sched_set_affinity(struct thread *thread, cpumask_t mask);

/* Reschedule now if that was asked for and is allowed here. */
void preempt_check(void);

/*
 * Sleep until *done is set by somebody who then wakes this thread (0), deadline (clock_ns; 0: none)
 * has passed (-ETIMEDOUT) or the thread is killed (-EINTR). Context: may sleep.
 */
int sleep_until_done(const bool *done, u64 deadline_ns);
/* Sleep until deadline. 0, or -EINTR when killed. */
int sleep_until(u64 deadline_ns);
