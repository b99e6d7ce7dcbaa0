/*
 * trampoline.h - the start-up code of application processors, and what it is told.
 */
#pragma once

#include "kernel/types.h"

struct cpu;

/* For the one CPU that is being started. Written before its start-up IPI; trampoline.asm reads. */
struct ap_boot {
	u64 efer, cr3;
	u64 stack_top;
	struct cpu *cpu;
};

extern struct ap_boot ap_boot;
extern char trampoline_start[], trampoline_end[];

/* Where it ends: on the given page tables and stack, interrupts off. */
void __noreturn ap_main(struct cpu *cpu);
