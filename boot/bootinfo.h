/*
 * bootinfo.h - what the boot loader told us, copied out of its memory.
 *
 * Written by multiboot2_parse on CPU 0 before memory management starts; constant afterwards.
 */
#pragma once

#include "kernel/types.h"

#define BOOT_MAX_MEM     128
#define BOOT_MAX_MODS    8
#define BOOT_CMDLINE_MAX 1024

#define BOOT_MEM_AVAILABLE 1 /* multiboot2 memory types; every other value: keep off */
#define BOOT_MEM_RESERVED  2
#define BOOT_MEM_ACPI      3
#define BOOT_MEM_NVS       4

struct boot_mem {
	u64 base, len; /* no overflow in base + len; unsorted, as the firmware has them */
	u32 type;
};

struct boot_mod {
	u64 start, end; /* physical, start <= end */
	char name[64];
};

struct boot_info {
	struct boot_mem mem[BOOT_MAX_MEM];
	u32 nr_mem;
	struct boot_mod mod[BOOT_MAX_MODS];
	u32 nr_mods;
	u32 nr_dropped; /* memory ranges and modules that found no room above */
	char cmdline[BOOT_CMDLINE_MAX];
	u8 rsdp[36]; /* copy of the ACPI root pointer */
	u32 rsdp_len; /* 20 or 36; 0: the loader gave none */
	char loader[64];
};

extern struct boot_info boot_info;
