/*
 * vmalloc.h - kernel memory that is contiguous in addresses only, with a guard page after each area.
 *
 * Address-ordered first fit. vfree clears the PTEs, flushes the range on all CPUs and only then
 * gives back frames and addresses.
 */
#pragma once

#include "kernel/types.h"

void vmalloc_init(void);
/* Zeroed memory of at least size bytes, or NULL. Context: may sleep. */
void *vmalloc(size_t size);
/* Context: may sleep, interrupts on. addr may be NULL. */
void vfree(void *addr);

/* Kernel stacks: KERNEL_STACK_SIZE bytes with unmapped pages on both sides. Freed ones are kept. */
u64 kernel_stack_alloc(void);
void kernel_stack_free(u64 base);
/* Is this address in the page below a kernel stack? For a clear message on overflow. */
bool in_stack_guard(u64 addr);
