/*
 * percpu.h - stands in for the kernel's: on the host, the current CPU is the one a test points at.
 */
#ifndef ARCH_PERCPU_H
#define ARCH_PERCPU_H

#include "kernel/types.h"

extern struct cpu *host_cpu; /* shim.c */

#define this_cpu()                        host_cpu
#define this_cpu_read(field)              (host_cpu->field)
#define this_cpu_write(field, value)      ((void)(host_cpu->field = (value)))
#define this_cpu_add32(field, n)          ((void)(host_cpu->field += (u32)(n)))
#define this_cpu_add64(field, n)          ((void)(host_cpu->field += (u64)(n)))
#define this_cpu_add64_at(field, idx, n)  ((void)(host_cpu->field[idx] += (u64)(n)))
#define current                           this_cpu_read(current)

#endif
