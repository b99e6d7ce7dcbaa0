/*
 * layout.h - stands in for the kernel's: on the host, physical memory is an array.
 */
#ifndef GATHER_LAYOUT_H
#define GATHER_LAYOUT_H

#include "kernel/types.h"

#define USER_BASE 0x0000000000400000
#define USER_END  0x00007ffffffff000

extern char host_memory[]; /* shim.c: HOST_FRAMES pages */

static inline void *phys_to_virt(u64 phys)
{
	return host_memory + phys;
}

static inline u64 virt_to_phys(const void *virt)
{
	return (u64)((const char *)virt - host_memory);
}

#endif
