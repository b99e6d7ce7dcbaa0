/*
 * trampoline.h - the start-up code of application processors, and what it is told.
 */
#ifndef GATHER_TRAMPOLINE_H
#define GATHER_TRAMPOLINE_H

#include "kernel/types.h"

/* Written into the copy of the trampoline before each start-up IPI. trampoline.asm reads it. */
struct trampoline_args {
	u64 boot_cr3; /* boot_pml4: maps the trampoline's page and the kernel's text */
	u64 efer;     /* bits to set: LME, and NXE so that the kernel's page tables are valid */
	u64 kernel_cr3;
	u64 stack_top;
	u64 cpu;   /* struct cpu * */
	u64 entry; /* ap_entry64 */
};

extern char trampoline_start[], trampoline_args[], trampoline_end[];
extern char boot_pml4[];
extern char ap_entry64[];

#endif
