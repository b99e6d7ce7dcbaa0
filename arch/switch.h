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
 * What user mode has loaded into the segment registers: null, or one of the two selectors of ring
 * 3. User mode may load them at any time, so they are saved from a thread that leaves the CPU.
 */
struct selectors {
	u16 ds, es, fs, gs;
};

/* What the registers hold. */
void arch_read_selectors(struct selectors *selectors);
/*
 * Load the selectors and the FS and GS bases of a user thread; only system calls change the bases, so
 * those that were there need not be saved. Context: interrupts off.
 */
void arch_load_segments(const struct thread *next);
/* The current thread's FS: null, and this base, which the caller has checked. */
void arch_set_fs_base(struct thread *self, u64 base);
/* exec: the current thread starts with null selectors and bases. */
void arch_reset_segments(struct thread *self);
