/*
 * mutex.h - sleeping locks. Ranked like spinlocks (enum lock_rank), before all of them; the order
 * is checked per thread. Not taken by interrupt handlers, never held on return to user mode.
 */
#pragma once

#include "kernel/lock.h"
#include "kernel/wait.h"

struct mutex {
	struct thread *owner;
	const struct lock_class *class;
	struct wait_queue wait;
};

void mutex_init(struct mutex *mutex, const struct lock_class *class);
void mutex_lock(struct mutex *mutex);
/* Given up when the thread is killed: -EINTR. For locks whose holder user mode can stall. */
int mutex_lock_killable(struct mutex *mutex);
bool mutex_trylock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
void mutex_assert_held(const struct mutex *mutex); /* by this thread */

static inline struct mutex *mutex_guard_take(struct mutex *mutex)
{
	mutex_lock(mutex);
	return mutex;
}

static inline void mutex_guard_give_back(struct mutex **mutex)
{
	mutex_unlock(*mutex);
}

/* For `struct mutex *held __cleanup(mutex_cleanup) = NULL;`, set once the mutex is held. */
static inline void mutex_cleanup(struct mutex **mutex)
{
	if (*mutex)
		mutex_unlock(*mutex);
}

/* Hold the mutex to the end of this block (guard.h). */
#define mutex_guard(lock) GUARD(struct mutex *, mutex_guard_take, mutex_guard_give_back, lock)
