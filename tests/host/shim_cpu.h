/*
 * shim_cpu.h - CPUs and spinlocks in a test. CPU 0 is the current one: its struct cpu is at the GS
 * base, which Linux leaves to programs, so that the kernel's own arch/percpu.h works unchanged.
 * Locks only check themselves: taken twice, given back unheld.
 */
#ifndef TESTS_HOST_SHIM_CPU_H
#define TESTS_HOST_SHIM_CPU_H

#include "kernel/cpu.h"

extern unsigned host_locks_held;

/* No CPU has counted anything, none but 0 is online, no lock is held. */
void host_reset_cpus(struct thread *running);

#endif
