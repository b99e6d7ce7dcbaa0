/*
 * multiboot2.h - reads the boot loader's information structure (Multiboot2 specification 3.6).
 *
 * Pure: no kernel state, compiled on the host by the unit tests. The structure is untrusted input:
 * every tag is checked against the space that is left before it is read.
 */
#pragma once

#include "boot/bootinfo.h"

#define MULTIBOOT2_BOOTLOADER_MAGIC 0x36d76289

/*
 * Fills *out from the structure at mbi, of which at most max bytes are readable. Strings are cut to
 * fit. Returns 0; -EINVAL if the structure or a tag has an impossible size or a range wraps around;
 * -ENODATA if there is no memory map. What was read before an error stays in *out.
 */
int multiboot2_parse(const void *mbi, size_t max, struct boot_info *out);
