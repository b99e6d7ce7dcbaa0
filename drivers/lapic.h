/*
 * lapic.h - the local APIC: this CPU's interrupt controller, its IPIs and its timer.
 *
 * One interface over xAPIC (memory-mapped) and x2APIC (MSRs). Intel SDM vol. 3A chapter 10; an IPI
 * is exactly one write of the interrupt command register's low half (all of it, in x2APIC mode).
 */
#pragma once

#include "kernel/types.h"

/* Chooses the mode and maps the registers; boot CPU, once, after mm_init. */
void lapic_init(u64 lapic_phys);

/* Enables this CPU's LAPIC, all local interrupts masked. Each CPU, interrupts off. */
void lapic_init_cpu(void);

/* This CPU's LAPIC is enabled and accepts interrupts. */
bool lapic_is_ready(void);

/* "xAPIC" or "x2APIC". */
const char *lapic_mode(void);

/* This CPU's APIC id. */
u32 lapic_id(void);

/* End of interrupt: lets the LAPIC deliver the next of this or lower priority. */
void lapic_eoi(void);

/*
 * What lapic_send_ipi sends besides vectors. NMI is the way panic stops a CPU; INIT, then STARTUP
 * with the number of the page to start at, the way to start one (SDM vol. 3A 8.4.4).
 */
#define IPI_NMI           0x400
#define IPI_INIT          0x500
#define IPI_STARTUP(page) (0x600 | (page))

/* Sends to one CPU. Any context; waits (bounded) until the previous IPI has left. */
void lapic_send_ipi(u32 apic_id, u32 ipi);

/* The timer register set, for drivers/clock.c. This CPU only. */
enum lapic_timer_mode { LAPIC_TIMER_ONE_SHOT = 0, LAPIC_TIMER_TSC_DEADLINE = 1 << 18 };
void lapic_timer_setup(enum lapic_timer_mode mode, u8 vector);
void lapic_timer_start(u32 count); /* one-shot, 16 bus cycles per count; 0 stops */
u32 lapic_timer_count(void);
