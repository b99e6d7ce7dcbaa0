/*
 * ksyms.h - the table of text symbols that tools/ksyms.awk makes from `nm -n`.
 *
 * Sorted by offset. Empty in the first link, complete in the second; it lies behind all text, so
 * the addresses in it hold for both.
 */
#ifndef GATHER_KSYMS_H
#define GATHER_KSYMS_H

#include "kernel/types.h"

struct ksym {
	u32 offset; /* from __text_start */
	u32 name;   /* index into ksym_names */
};

extern const struct ksym ksyms[];
extern const char ksym_names[];
extern const u32 nr_ksyms;

#endif
