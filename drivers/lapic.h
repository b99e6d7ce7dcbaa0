/*
 * lapic.h - the local APIC: this CPU's interrupt controller, its IPIs and its timer.
 *
 * One interface over xAPIC (memory-mapped) and x2APIC (MSRs). Intel SDM vol. 3A chapter 10; an IPI
 * is exactly one write of the interrupt command register's low half (all of it, in x2APIC mode).
 */
#ifndef GATHER_LAPIC_H
#define GATHER_LAPIC_H

#include "kernel/types.h"

/* Chooses the mode and maps the registers; boot CPU, once, after mm_init. */
void lapic_init(u64 lapic_phys);

/* Enables this CPU's LAPIC, all local interrupts masked. Each CPU, interrupts off. */
void lapic_init_cpu(void);

/* "xAPIC" or "x2APIC". */
const char *lapic_mode(void);

/* This CPU's APIC id. */
u32 lapic_id(void);

/* End of interrupt: lets the LAPIC deliver the next of this or lower priority. */
void lapic_eoi(void);

/* Sends `vector` to one CPU. Any context; waits (bounded) until the previous IPI has left. */
void lapic_send_ipi(u32 apic_id, u8 vector);

/* Start-up protocol of an AP (SDM vol. 3A 8.4.4): INIT, then the start page (phys / 4096). */
void lapic_send_init(u32 apic_id);
void lapic_send_startup(u32 apic_id, u8 page);

/* Non-maskable interrupt to one CPU: the way panic stops it. */
void lapic_send_nmi(u32 apic_id);

/* The timer register set, for drivers/clock.c. This CPU only. */
enum lapic_timer_mode { LAPIC_TIMER_ONE_SHOT = 0, LAPIC_TIMER_TSC_DEADLINE = 1 << 18 };
void lapic_timer_setup(enum lapic_timer_mode mode, u8 vector);
void lapic_timer_start(u32 count); /* one-shot, 16 bus cycles per count; 0 stops */
u32 lapic_timer_count(void);

#endif
