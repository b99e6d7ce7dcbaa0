/* switch.h - the machine's part of a context switch. */
#pragma once

#include "kernel/types.h"

struct thread;
struct trap_frame;

/*
 * Save the callee-saved registers on this stack, store its pointer, continue on the other stack.
 * Returns, on the other stack, the thread that was left. Context: interrupts off.
 */
struct thread *arch_switch_stack(u64 *save_rsp, u64 load_rsp, struct thread *prev);

/* Called first by every new thread, on its own stack: completes the switch (kernel/sched.c). */
void thread_entered(struct thread *prev);

/* Lay out a new thread's stack so that the first switch to it runs fn(arg). Returns its rsp. */
u64 arch_new_stack(u64 stack_top, void (*fn)(void *), void *arg);

/*
 * Load the FS and GS bases of a user thread; only system calls change them, so the one that was
 * there has nothing to save. Context: interrupts off.
 */
void arch_load_segments(const struct thread *next);
