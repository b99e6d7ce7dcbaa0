/*
 * symbols.h - names for addresses in the kernel's text, and backtraces made of them.
 *
 * The table is made by the build from the first link and linked in by the second (see Makefile).
 */
#ifndef GATHER_SYMBOLS_H
#define GATHER_SYMBOLS_H

#include "kernel/types.h"

/* The function that holds the address, and how far in; NULL if it is not in the kernel's text. */
const char *symbol_lookup(u64 address, u64 *offset);

/* Prints "name+0x12/ffffffff80201234" into buf; the bare address if it has no name. */
void symbol_format(char *buf, size_t size, u64 address);

/*
 * Prints rip and then the callers found by following frame pointers from rbp, with kprintf. Stops
 * at anything that does not look like a kernel stack. rip may be 0: start with the first caller.
 */
void backtrace_print(u64 rip, u64 rbp);

#endif
