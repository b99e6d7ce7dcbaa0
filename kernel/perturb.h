/*
 * perturb.h - named sync points: where order matters, a seed shakes it and a test can force it.
 *
 * SYNC_POINT(name) marks a place where another order of events is possible and would be different.
 *
 * With `seed=N` on the command line each is a dice: the CPU hesitates, is preempted, or sends its
 * thread behind all others of its priority (the change points of PCT: Burckhardt et al., "A
 * randomized scheduler with probabilistic guarantees of finding bugs", 2010). New threads get
 * random places in their queue, and waiters wake in random order. Under `-icount` a run is
 * repeatable to the bit (tools/replay): one seed, one interleaving.
 *
 * A test forces one order:
 *
 *   pause_at(SYNC_ipi_taken, 3);        CPU 3 will stop there, once
 *   ... what brings it there ...
 *   KT_WAIT_FOR(paused_at(SYNC_ipi_taken));
 *   ... what shall happen while it stands there ...
 *   release(SYNC_ipi_taken);
 *
 * A CPU stops as it is: with interrupts off and locks held where the place has them so. Without a
 * seed or a test every point is one test of a variable that never changes.
 */
#pragma once

#include "kernel/types.h"

#define SYNC_POINTS(X)                                                                             \
	X(spin_lock)    /* about to take a spinlock */                                             \
	X(wait)         /* about to queue and be marked asleep */                                  \
	X(mask_set)     /* load_mm: in the mask, CR3 not loaded yet */                             \
	X(cr3_loaded)   /* load_mm: CR3 loaded, still in the old mask too */                       \
	X(lazy_cleared) /* switch_mm: no longer lazy, generation not compared yet */               \
	X(pte_clear)    /* try_to_unmap: a PTE is about to be cleared, its lock is held */         \
	X(page_candidate)  /* reclaim has chosen a page, and not unmapped it yet */               \
	X(page_take)       /* a page is about to leave the cache, or its place in it */           \
	X(made_writable)   /* an object may be written, old frames are not flushed yet */         \
	X(cow_flushed)     /* the old page is unmapped, the copy not made yet */                  \
	X(gen_bumped)      /* a batch has gathered, under the shadow's lock: no entry yet */      \
	X(protect_flushed) /* mprotect has flushed, and not returned yet */                       \
	X(migrate_unmapped) /* a batch has migration entries, and is not flushed yet */            \
	X(migrate_copied)   /* a batch is copied, and not mapped again yet */                      \
	X(migrate_remapped) /* it is, and the old frames are not freed yet */                      \
	X(block_gone)    /* a block has left its queue and is not freed yet */                      \
	X(purge_taken)   /* a purge has its list, and has not flushed yet */                        \
	X(purge_flushed) /* it has, and no area is free yet */                                      \
	X(table_missing) /* a page table is not there, a new one not entered yet */                 \
	X(trace_write)  /* a record is half written */                                              \
	X(trace_read)   /* a record is half read */                                                 \
	X(user_flushed) /* flushed, its generation not recorded yet */                             \
	X(icr_write)    /* a target's pending bit is set, its interrupt not sent yet */            \
	X(ipi_taken)    /* in the handler: a request is not executed yet */            \
	X(ipi_ack)      /* a request is executed, not acknowledged yet */                          \
	X(ipi_done)     /* all are acknowledged, still in the handler */

#define SYNC_POINT_ID(name) SYNC_##name,
enum sync_point { SYNC_POINTS(SYNC_POINT_ID) NR_SYNC_POINTS };
#undef SYNC_POINT_ID

extern u64 perturb_seed;     /* 0: none */
extern bool sync_points_on;  /* a seed is set, or a test has used pause_at */

/* Reads seed= from the command line. Boot only. */
void perturb_init(void);

/* Any context but NMI. A release build has none. */
#ifdef GATHER_RELEASE
#define SYNC_POINT(name) ((void)0)
#else
#define SYNC_POINT(name)                                                                           \
	do {                                                                                       \
		if (unlikely(sync_points_on))                                                      \
			__sync_point(SYNC_##name);                                                 \
	} while (0)
#endif

void __sync_point(enum sync_point point);

/* The next time that CPU comes to the point it stays there until release. Any context. */
void pause_at(enum sync_point point, unsigned cpu);
/* A CPU stands there. */
bool paused_at(enum sync_point point);
/* Whoever stands there goes on; who has not come yet will not stop. */
void release(enum sync_point point);

/* ---- For the scheduler and for wait queues --------------------------------------------------- */

/*
 * Orders among equals, higher first: a random one for a thread that becomes ready, and one behind
 * all that were handed out so far. 0 without a seed: first come, first served.
 */
s64 perturb_new_order(void);
s64 perturb_last_order(void);
/* true at random; false without a seed. */
bool perturb_coin(void);
