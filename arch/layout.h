/*
 * layout.h - the virtual address map, and the way between physical and direct-map addresses.
 *
 *   from                  size     what
 *   0x0000000000400000    128 TiB  user space; the first 4 MiB and the last page are never mapped
 *   0xffff800000000000     64 TiB  direct map: all physical memory, read-write, no-execute
 *   0xffffc00000000000     64 GiB  vmalloc area: stacks with guard pages, vmalloc and vmap ranges
 *   0xffffd00000000000     64 GiB  device registers (ioremap), uncached
 *   0xffffffff80000000      1 GiB  the kernel image, linked 2 MiB above the base
 *
 * The last user page stays unmapped so that the address after a SYSCALL instruction is always
 * canonical (Intel SDM vol. 2, SYSRET; a #GP on the way out would run in ring 0).
 */
#pragma once

#define USER_BASE 0x0000000000400000
#define USER_END  0x00007ffffffff000

#define DIRECT_MAP_BASE 0xffff800000000000
#define DIRECT_MAP_PHYS 0x0000008000000000 /* 512 GiB: memory above is not mapped, nor used */
#define VMALLOC_BASE    0xffffc00000000000
#define VMALLOC_END     0xffffc01000000000
#define MMIO_BASE       0xffffd00000000000
#define KERNEL_BASE     0xffffffff80000000
#define KERNEL_PHYS     0x0000000000200000
#define BOOT_MAP_SIZE   0x0000000100000000 /* what boot.asm maps: 4 GiB */
#define BOOT_STACK_SIZE 0x4000

#include "kernel/types.h"

/* linker.ld: the image's segments; each starts and ends on a page boundary. */
extern char __text_start[], __text_end[];
extern char __rodata_start[], __rodata_end[];
extern char __data_start[], __kernel_end[];

static inline void *phys_to_virt(u64 phys)
{
	return (void *)(phys + DIRECT_MAP_BASE);
}

/* Physical address of a direct-map address; for addresses in the image use kernel_to_phys. */
static inline u64 virt_to_phys(const void *virt)
{
	return (u64)virt - DIRECT_MAP_BASE;
}

static inline u64 kernel_to_phys(const void *image_address)
{
	return (u64)image_address - KERNEL_BASE;
}
