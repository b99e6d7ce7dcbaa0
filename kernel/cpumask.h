/* cpumask.h - sets of CPUs. One word: NR_CPUS is 64. The atomic forms are full barriers. */
#pragma once

#include "arch/atomic.h"
#include "kernel/types.h"

typedef u64 cpumask_t;

_Static_assert(NR_CPUS <= 64, "a cpumask_t is one word");

#define CPU_BIT(cpu)         (1ULL << (cpu))
#define CPUMASK_ALL          (~0ULL)
#define cpumask_test(m, cpu) (((m) >> (cpu)) & 1)

static inline unsigned cpumask_weight(cpumask_t mask)
{
	unsigned n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

static inline unsigned cpumask_first(cpumask_t mask)
{
	return (unsigned)__builtin_ctzll(mask);
}

static inline void cpumask_set_atomic(cpumask_t *mask, unsigned cpu)
{
	(void)atomic_fetch_or(mask, CPU_BIT(cpu));
}

static inline void cpumask_clear_atomic(cpumask_t *mask, unsigned cpu)
{
	(void)atomic_fetch_and(mask, ~CPU_BIT(cpu));
}

#define for_each_cpu(cpu, mask)                                                                    \
	for (cpumask_t __m = (mask); __m && ((cpu) = cpumask_first(__m), 1); __m &= __m - 1)
