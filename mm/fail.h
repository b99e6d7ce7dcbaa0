/*
 * fail.h - allocations that fail on purpose: `fail=` on the command line. What nobody ever sees fail
 * is not handled; here every place gets its turn. (Linux: fault injection, failslab.)
 *
 *   fail=tlb_ubc    no thread gets a page for its flush batch
 *   fail=every:K    in every K-th system call all allocations fail, of frames and of kernel objects;
 *                   those of servers and of what the out-of-memory killer spares get theirs
 */
#pragma once

#include "kernel/types.h"

#ifdef GATHER_RELEASE
#define fail_tlb_ubc false
#define fail_init()  ((void)0)
#define fail_begin_call() ((void)0)
#define fail_end_call()   ((void)0)
#define should_fail()     false
#else
extern bool fail_tlb_ubc;

/* Reads fail=. Boot only. */
void fail_init(void);
/* A system call begins: is it its turn? */
void fail_begin_call(void);
void fail_end_call(void);
/* Is this allocation in such a call? Any context. */
bool should_fail(void);
#endif
