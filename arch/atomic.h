/*
 * atomic.h - atomic integers and the ordering primitives.
 *
 * Every read-modify-write here is a LOCKed instruction and so a full barrier (Intel SDM vol. 3,
 * 9.2.2); plain loads and stores are ordered except that a store may pass a later load of another
 * location, which is what smp_mb() prevents.
 */
#pragma once

#include "kernel/types.h"

#define smp_mb()         __atomic_thread_fence(__ATOMIC_SEQ_CST)

#define load_acquire(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define xchg(p, v)          __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)

/* Store new when *p is old; true on success. */
#define cmpxchg_bool(p, old, new)                                                                  \
	({                                                                                         \
		__typeof__(*(p)) __old = (old);                                                    \
		__atomic_compare_exchange_n(p, &__old, (new), false, __ATOMIC_SEQ_CST,             \
					    __ATOMIC_SEQ_CST);                                     \
	})

#define atomic_add_fetch(p, v) __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST)
#define atomic_sub_fetch(p, v) __atomic_sub_fetch(p, v, __ATOMIC_SEQ_CST)
#define atomic_fetch_or(p, v)  __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST)
#define atomic_fetch_and(p, v) __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST)
#define atomic_inc(p)          ((void)atomic_add_fetch(p, 1))
#define atomic_dec(p)          ((void)atomic_sub_fetch(p, 1))
#define atomic_dec_and_test(p) (atomic_sub_fetch(p, 1) == 0)
