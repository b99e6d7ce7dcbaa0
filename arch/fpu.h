/*
 * fpu.h - x87, SSE and (where XSAVE has it) AVX state of user threads.
 *
 * The kernel itself never touches these registers (-mgeneral-regs-only). A CPU remembers whose
 * state its registers hold: switching to kernel threads and back costs nothing.
 */
#pragma once

#include "kernel/types.h"

struct cpu;
struct thread;

/* A fresh area with the initial state. NULL when memory is short. Context: may sleep. */
void *fpu_alloc(void);
void fpu_free(void *area);
/* Give next (or nobody, when it has no area) the registers. Context: interrupts off. */
void fpu_switch(struct cpu *cpu, struct thread *prev, struct thread *next);
/* Copy the current thread's live state to another's area: fork. */
void fpu_copy_current(void *area);
/* Start over with the initial state: exec. */
void fpu_reset_current(void);
/* The current thread ends: its registers belong to nobody. */
void fpu_drop_current(void);
