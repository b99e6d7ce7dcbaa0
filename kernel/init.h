/*
 * init.h - the order of start-up: what kernel_main and the AP entry call in other parts.
 *
 * Each function runs once, on the boot CPU with interrupts off, unless it says otherwise.
 */
#pragma once

#include "kernel/types.h"

/*
 * Frame allocator, final page tables (loaded on return), kmalloc, vmalloc. Needs boot_info,
 * acpi_info.
 */
void mm_init(void);

/* Run queues and idle threads, with cpu->idle_stack_top, of acpi_info.nr_cpus CPUs. */
void sched_init(void);

/* Threads, tasks, the tests; all CPUs are up. */
void __noreturn kernel_late_init(void);

/* On an AP, last: becomes the CPU's idle thread. Interrupts off on entry. */
void __noreturn sched_start_cpu(void);

/* The timer's deadline has passed, or nearly: look at clock_ns(). Any CPU, interrupt context. */
void timer_interrupt(void);
