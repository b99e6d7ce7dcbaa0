/*
 * smp.h - starts the other CPUs, and stops them when one panics.
 */
#pragma once

#include "kernel/types.h"

/*
 * Starts every CPU that the MADT lists, one after another, each up to cpu_online. Panics, naming
 * the APIC ids of all that do not answer, or if `expect_cpus=` on the command line names another
 * number, or if there is no page to start them from. Interrupts off; after sched_init.
 */
void smp_boot_aps(void);

/* Sends an NMI to every other running CPU; they halt if panic_in_progress(). Any context. */
void smp_stop_others(void);
