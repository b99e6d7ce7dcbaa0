/*
 * fail.h - allocations that fail on purpose: `fail=` on the command line. What nobody ever sees fail
 * is not handled; here every place gets its turn. (Linux: fault injection, failslab.)
 *
 *   fail=tlb_ubc    no thread gets a page for its flush batch
 *   fail=every:K    every K-th allocation that a user's thread asks for, of frames or of kernel
 *                   objects, finds no memory; servers and kernel threads get theirs
 */
#pragma once

#include "kernel/types.h"

#ifdef GATHER_RELEASE
#define fail_tlb_ubc false
#define fail_init()  ((void)0)
#define should_fail() false
#else
extern bool fail_tlb_ubc;

/* Reads fail=. Boot only. */
void fail_init(void);
/* Is it this allocation's turn? Any context. */
bool should_fail(void);
#endif
