/*
 * cpu.h - stands in for the kernel's: the instructions that a shootdown is made of, as calls of
 * whoever plays the CPU (tests/model/machine.c, tests/model/threads.c).
 */
#pragma once

#include "kernel/types.h"

void local_irq_disable(void);
void local_irq_enable(void);
bool irqs_disabled(void);
void cpu_relax(void);
void write_cr3(u64 value);
u64 read_cr3(void);
u64 read_cr4(void);
void write_cr4(u64 value);
void invlpg(u64 va);

#define CR4_PGE BIT(7)

static inline u64 local_irq_save(void)
{
	u64 was_on = !irqs_disabled();

	local_irq_disable();
	return was_on;
}

static inline void local_irq_restore(u64 flags)
{
	if (flags)
		local_irq_enable();
}
