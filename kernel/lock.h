/*
 * lock.h - spinlocks with classes, and the rules that are checked at run time.
 *
 * Rules (each is an assertion in lock.c):
 *  1. Order: a CPU takes spinlocks in strictly growing rank (enum lock_rank); the same rank twice
 *     only by spin_trylock.
 *  2. A class marked IRQ may be taken by an interrupt handler, so it is only ever taken with
 *     interrupts off; any other class is never taken with interrupts off. A CPU that spins with
 *     interrupts off therefore only ever waits for a holder that has them off too.
 *  3. Whoever waits for IPI acknowledgements holds no spinlock at all and has interrupts on
 *     (assert_may_wait_for_ipi): with rule 2 no target can be spinning on something it holds.
 *  4. Sleeping needs preemption and interrupts on (assert_may_sleep).
 *
 * A spinlock keeps preemption off while it is held. Mutexes (mutex.h) come before all spinlocks in
 * the order and are kept in a list of their own, per thread.
 */
#pragma once

#include "kernel/guard.h"
#include "kernel/types.h"

/* The one lock order, outermost first. */
enum lock_rank {
	/* mutexes */
	RANK_FILE_POS = 1,   /* an open file's offset */
	RANK_WRITE,          /* writing to a file's object by system call */
	RANK_PIPE,           /* a pipe's bytes */
	RANK_MMAP,           /* an address space's VMAs: copies to and from user mode fault */
	RANK_VMALLOC,        /* one purge of kernel addresses at a time */
	RANK_COMPACT,        /* one compaction at a time */
	RANK_DIRECT_RECLAIM, /* one direct reclaimer at a time */
	RANK_OOM,            /* choosing whom to end */
	/* spinlocks, interrupts on */
	RANK_TASKS = 20, /* list of tasks, parents, threads of a task */
	RANK_HANDLES,    /* a task's handles and files */
	RANK_IPC,        /* endpoints and calls */
	RANK_FUTEX,      /* a bucket of futex waiters */
	RANK_OBJECT,     /* an object's list of mappings */
	RANK_PTL,        /* an address space's page-table entries */
	RANK_PAGE_HASH,  /* a stripe of the page cache's hash */
	RANK_LRU,        /* the LRU lists */
	RANK_VMAP_AREA,  /* the tree of kernel addresses; a CPU's blocks */
	RANK_VMAP_POOL,  /* a CPU's flushed areas */
	RANK_SLAB,       /* a kmalloc size class */
	RANK_FRAMES,     /* the buddy allocator */
	/* spinlocks, interrupts off */
	RANK_WAIT = 60, /* a wait queue */
	RANK_TIMER,     /* a CPU's sleeping threads */
	RANK_RUNQUEUE,  /* a CPU's runnable threads */
	RANK_TLBSAN,    /* the sanitizer's shadow */
};

struct lock_class {
	const char *name;
	enum lock_rank rank;
	bool irq; /* taken with interrupts off, in interrupt handlers too */
};

/*
 * One word: the CPU id + 1 of the holder, 0 when free. Not a queue lock: whoever runs first takes
 * it. With fewer host cores than CPUs, handing a lock to the CPU that has waited longest means
 * handing it to one that the host is not running.
 */
typedef struct spinlock {
	u32 owner;
	const struct lock_class *class;
} spinlock_t;

#define SPINLOCK_INIT(lock_class) {.class = &(lock_class)}

static inline void spin_init(spinlock_t *lock, const struct lock_class *class)
{
	*lock = (spinlock_t){.class = class};
}

/* Interrupts must be as the class wants them: on, or off for irq classes (early boot: either). */
void spin_lock(spinlock_t *lock);
bool spin_trylock(spinlock_t *lock); /* false at once when it is taken */
void spin_unlock(spinlock_t *lock);
void spin_assert_held(const spinlock_t *lock); /* by this CPU */

/* For irq classes: turn interrupts off, take the lock; the flags go back to the unlock. */
u64 spin_lock_irqsave(spinlock_t *lock);
void spin_unlock_irqrestore(spinlock_t *lock, u64 flags);

static inline spinlock_t *spin_guard_take(spinlock_t *lock)
{
	spin_lock(lock);
	return lock;
}

static inline void spin_guard_give_back(spinlock_t **lock)
{
	spin_unlock(*lock);
}

/* Hold the lock to the end of this block (guard.h). */
#define spin_guard(lock) GUARD(spinlock_t *, spin_guard_take, spin_guard_give_back, lock)

void assert_may_sleep(const char *what);
void assert_may_wait_for_ipi(void);
bool may_sleep(void);

void preempt_disable(void);
void preempt_enable(void); /* reschedules if somebody asked meanwhile */
