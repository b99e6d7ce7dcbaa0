/*
 * futex.h - sleeping on a word of user memory.
 *
 * Waiters of one word, found by a key that is the same in every address space that maps it, hang in
 * a bucket. The value is compared under the bucket's lock order: queue first, then look, so that a
 * wake between the look and the sleep finds the waiter. (Linux: futex(2).)
 */
#pragma once

#include "kernel/types.h"

void futex_init(void);
/* Wake up to n waiters on the word at this address of the current address space; how many. */
s64 futex_wake(u64 addr, u64 n);
