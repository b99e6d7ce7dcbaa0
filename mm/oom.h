/* oom.h - the last resort when nothing can be reclaimed. */
#pragma once

#include "kernel/types.h"

void oom_init(void);

/*
 * End the largest user process that is not a server, by all that the kernel keeps for it (pages,
 * tables, stacks, areas, objects), mapped or not, with one clear line on the console, and give it
 * time to go: while one is ending no other is chosen, but for 3 s at most, because it may wait
 * for something that only memory can bring about. true: retry the allocation. false: there is
 * nobody left to end, or the caller itself is the one that ends. Context: may sleep.
 */
bool out_of_memory(void);
