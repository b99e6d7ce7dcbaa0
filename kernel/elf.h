/*
 * elf.h - checking and understanding a static ELF64 executable. Pure: also built on the host.
 *
 * The file is untrusted: every offset, size and address is checked before anyone uses it.
 */
#pragma once

#include "kernel/types.h"

#define ELF_MAX_SEGMENTS 8

struct elf_segment {
	u64 vaddr, filesz, memsz; /* bytes; vaddr and offset agree modulo the page size */
	u64 offset;
	u32 prot; /* PROT_ bits: 1 read, 2 write, 4 execute */
};

struct elf_info {
	u64 entry;
	u64 phdr_vaddr; /* where the program finds its own program headers; 0: nowhere */
	u16 phnum, phentsize;
	u32 nr_segments;
	struct elf_segment segments[ELF_MAX_SEGMENTS];
	u64 end; /* end of the highest segment */
};

/*
 * head: the first `len` bytes of a file of file_size bytes; [low, high): the addresses allowed.
 * Returns NULL and fills info, or says in words what is wrong.
 */
const char *elf_parse(const void *head, size_t len, u64 file_size, u64 low, u64 high,
		      struct elf_info *info);
