/*
 * timer.h - what this CPU's one-shot timer is armed for: the next sleeper and the slice's end.
 * Tickless: a CPU with no sleepers and no equals waiting takes no timer interrupts.
 */
#pragma once

#include "kernel/types.h"

struct cpu;

void sleepers_init_cpu(struct cpu *cpu);
/*
 * An equal of the thread that runs next waits on this CPU: the slice ends then (clock_ns), or, if
 * end_ns is 0, a whole one starts. Context: interrupts off.
 */
void timer_slice_start(u64 end_ns);
/*
 * The current thread is woken at deadline (clock_ns) if it sleeps then; disarm before anything else
 * arms it. Context: interrupts on.
 */
void sleep_timer_arm(u64 deadline_ns);
void sleep_timer_disarm(void);
/* timer_interrupt, which the clock driver calls: kernel/init.h. */
