/*
 * machine.h - the hardware of the model: TLBs, page tables, frames; and small helpers for
 * scenarios.
 *
 * A TLB is as bad as the architecture allows: at every moment it holds every present PTE of the
 * address space in CR3, whether or not the program touched it (speculation), and it gives up an
 * entry only when it is told to. So there is no choice in what it holds. What is in a TLB does harm
 * when the CPU is in user mode.
 */
#ifndef TESTS_MODEL_MACHINE_H
#define TESTS_MODEL_MACHINE_H

#include "kernel/cpu.h"
#include "kernel/thread.h"
#include "mm/mm.h"

#define NR_MMS   2
#define NR_PAGES 2 /* per address space */
#define PAGE_VA(page)   (USER_BASE + (page) * PAGE_SIZE)
#define FRAME(mm, page) (16u + (mm) * NR_PAGES + (page)) /* what a page is mapped to at the start */
#define KERNEL_VA       0xffffc90000000000UL

extern struct mm mms[NR_MMS];
extern u64 ptes[NR_MMS][NR_PAGES];
extern u64 kernel_pte;      /* of KERNEL_VA, a global page */
extern struct thread threads[];

/* Where a CPU is when the scenario starts; without it: idle, on init_mm. */
enum start { LAZY, IN_KERNEL, IN_USER };
void start_cpu(unsigned cpu, struct mm *mm, enum start how);

/* Go to user mode (IRET), and come back. */
void enter_user(void);
void leave_user(void);

/* Now no CPU in user mode, and later none that goes there, may translate the page. */
void assert_gone(unsigned mm, unsigned page);
/* ... translate to the frame. */
void assert_frame_free(unsigned frame);
/*
 * Kernel addresses: this CPU has used its last for now (and is then out of the kernel), or is back.
 */
void leave_kernel(void);
void enter_kernel(void);
/* No CPU in the kernel may translate KERNEL_VA, and later none that comes in. */
void assert_kernel_gone(void);
/* No CR3 may point to it. */
void assert_not_loaded(unsigned mm);
/* At the end: interrupts taken + requests coalesced = targets; ICR writes = interrupts taken. */
void check_counters(void);

#endif
