/*
 * percpu.h - this CPU's struct cpu, through the GS base.
 *
 * this_cpu_read/write/inc are single instructions: safe with preemption on, as long as the caller
 * does not care which CPU it was by the next line. this_cpu() hands out a pointer: the caller must
 * have preemption or interrupts off for as long as it uses it.
 */
#pragma once

#include <stddef.h>
#include "kernel/types.h"

#define this_cpu_read(field)                                                                       \
	({                                                                                         \
		__typeof__(((struct cpu *)0)->field) __v;                                          \
		__asm__ volatile("mov %%gs:%c1, %0"                                                \
				 : "=r"(__v)                                                       \
				 : "i"(offsetof(struct cpu, field))                                \
				 : "memory");                                                      \
		__v;                                                                               \
	})

#define this_cpu_write(field, value)                                                               \
	do {                                                                                       \
		__typeof__(((struct cpu *)0)->field) __v = (value);                                \
		__asm__ volatile("mov %0, %%gs:%c1" ::"r"(__v),                                    \
				 "i"(offsetof(struct cpu, field))                                  \
				 : "memory");                                                      \
	} while (0)

/* u32 and u64 counters that only this CPU changes. */
#define this_cpu_add32(field, n)                                                                   \
	__asm__ volatile("addl %0, %%gs:%c1" ::"ri"((u32)(n)), "i"(offsetof(struct cpu, field))    \
			 : "memory", "cc")
#define this_cpu_add64(field, n)                                                                   \
	__asm__ volatile("addq %0, %%gs:%c1" ::"re"((u64)(n)), "i"(offsetof(struct cpu, field))    \
			 : "memory", "cc")
/* The same for element idx of an array of u64. */
#define this_cpu_add64_at(field, idx, n)                                                           \
	__asm__ volatile("addq %0, %%gs:%c1(,%2,8)" ::"re"((u64)(n)),                              \
			 "i"(offsetof(struct cpu, field)), "r"((u64)(idx))                         \
			 : "memory", "cc")

#define this_cpu() this_cpu_read(self)
#define current    this_cpu_read(curr)
