/*
 * perturb.h - a seed that shakes the order of events, so that one run is one interleaving.
 *
 * Under `-icount` a run with eight CPUs is repeatable to the bit (tools/replay). `seed=N` on the
 * command line then makes the CPUs hesitate or give way at the places where order matters: before a
 * lock, between a mask bit and CR3, before an IPI is sent and before it is acknowledged, at a wake-up.
 * Another seed, another interleaving; the same seed, the same one. Without a seed every place is one
 * test of a variable that never changes.
 */
#pragma once

#include "kernel/types.h"

extern u64 perturb_seed;

/* Reads seed= from the command line. Boot only. */
void perturb_init(void);

/* A place where another order is possible. Any context but NMI. */
#define PERTURB()                                                                                  \
	do {                                                                                       \
		if (unlikely(perturb_seed))                                                        \
			__perturb();                                                               \
	} while (0)

void __perturb(void);
