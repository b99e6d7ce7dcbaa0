/*
 * pvh.h - the second way in: QEMU's -kernel, which enters through a PVH note in the ELF file.
 *
 * No firmware menu, no disk: a run starts in a third of a second and always at the same state,
 * which is what replaying one interleaving needs. The loader gives a memory map and the ACPI root;
 * what an ISO brings as boot modules comes through fw_cfg (kernel/init.c). Source: Xen, public
 * arch-x86/hvm/start_info.h.
 */
#pragma once

#include "boot/bootinfo.h"

#define PVH_MAGIC 0x336ec578 /* first word of the structure; boot.asm passes it in eax */

/*
 * Fills *out from the start information at physical address `info`; memory maps physical addresses
 * [0, max). Pure, untrusted input. 0, -EINVAL if something lies outside, -ENODATA without a map.
 */
int pvh_parse(const void *memory, u64 max, u64 info, struct boot_info *out);
