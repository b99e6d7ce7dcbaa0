/*
 * barrier.h - a barrier between processes that can be broken.
 *
 * It lives in memory shared by all parties. A waiter first spins: a CPU that spins in user mode
 * keeps its address space loaded and so stays a target of TLB flushes, which is what the
 * workloads are here to cause. It then sleeps on a futex, so that a host with fewer CPUs than the
 * guest does not burn its time on waiting.
 */
#ifndef USER_LIB_BARRIER_H
#define USER_LIB_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>

struct barrier {
	unsigned int parties;
	atomic_uint arrived;
	atomic_uint generation; /* the futex: changes when all have arrived */
	atomic_uint sleepers;
	atomic_bool broken;
};

void barrier_init(struct barrier *b, unsigned int parties);

/* Waits for all parties. False: somebody broke the barrier; stop at once. */
bool barrier_wait(struct barrier *b);

/* Makes every present and future wait return false. Any process may call it. */
void barrier_break(struct barrier *b);

#endif
