/*
 * smp.h - starts the other CPUs, and stops them when one panics.
 */
#ifndef GATHER_SMP_H
#define GATHER_SMP_H

#include "boot/bootinfo.h"
#include "kernel/types.h"

/*
 * Chooses one free page below 640 KiB for the start-up code: real mode can reach no other. Before
 * mm_init, which leaves the first MiB alone. Without such a page a machine with several CPUs cannot
 * start.
 */
void smp_choose_trampoline(const struct boot_info *info);

/*
 * Starts every CPU that acpi_info lists, one after another, each up to cpu_online. Panics, naming
 * the APIC ids, if one does not answer, or if `expect_cpus=` on the command line names another
 * number. Interrupts off; after sched_init.
 */
void smp_boot_aps(void);

/* CPUs that run, this one included; they are cpus[0] .. cpus[n - 1]. */
u32 smp_nr_started(void);

/* Sends an NMI to every other running CPU; they halt if panic_in_progress(). Any context. */
void smp_stop_others(void);

#endif
