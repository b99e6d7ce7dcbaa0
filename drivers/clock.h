/*
 * clock.h - what time it is, and a one-shot alarm per CPU.
 *
 * Time is the TSC scaled to nanoseconds since clock_init, one value for all CPUs (their TSCs are
 * assumed in step, as they are in every emulator and on every machine with an invariant TSC). The
 * rate is measured against the ACPI PM timer, or the PIT where there is none. The alarm is the
 * LAPIC timer.
 */
#pragma once

#include "kernel/types.h"

/* Measures TSC and LAPIC timer. Boot CPU, after lapic_init_cpu. */
void clock_init(void);

/* Prepares this CPU's alarm, stopped. Each CPU, after lapic_init_cpu and clock_init. */
void timer_init_cpu(void);

/* Nanoseconds since clock_init; never goes back on a CPU. 0 before. Any context. */
u64 clock_ns(void);

/* The wall clock's time, were this machine started in 1970: no hardware clock is read. */
static inline u64 clock_realtime_ns(void)
{
	return clock_ns();
}

/* The measured TSC rate; 0 before clock_init. */
u64 clock_tsc_khz(void);

/* Spins at least that long. */
void clock_delay_ns(u64 ns);

#define MIN_ALARM_NS 1000 /* the nearest time that can be set */

/*
 * Calls timer_interrupt once on this CPU at about abs_ns, replacing any earlier alarm. A time in
 * the past rings at once; one further away than the hardware counts rings early. Interrupts off.
 */
void timer_set_deadline_ns(u64 abs_ns);
