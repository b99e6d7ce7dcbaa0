/*
 * symbols.h - names for addresses in the kernel's text, and backtraces made of them.
 *
 * The table is made by tools/ksyms.awk from `nm -n` of a first link, in which it is empty, for the
 * second. It lies behind all text, so the addresses in it hold for both.
 */
#pragma once

#include "kernel/types.h"

struct ksym {
	u32 offset; /* from __text_start; the table is sorted by it */
	u32 name;   /* index into ksym_names */
};

extern const struct ksym ksyms[];
extern const char ksym_names[];
extern const u32 nr_ksyms;

/* The function that holds the address, and how far in; "?" and the address if there is none. */
const char *symbol_lookup(u64 address, u64 *offset);

/*
 * Prints rip and then the callers found by following frame pointers from rbp, with kprintf. Stops
 * at anything that does not look like a kernel stack. rip may be 0: start with the first caller.
 */
void backtrace_print(u64 rip, u64 rbp);
