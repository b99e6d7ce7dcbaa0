/*
 * wait.h - wait queues and the two ways to wait on one.
 *
 * A thread puts itself on the queue, marks itself asleep, looks at its condition once more and only
 * then calls schedule(): a wake-up in between finds it marked and makes it runnable again.
 */
#pragma once

#include "kernel/errno.h"
#include "kernel/sched.h"
#include "kernel/thread.h"

struct wait_queue {
	spinlock_t lock;
	struct list_head waiters;
};

struct waiter {
	struct list_head node;
	struct thread *thread;
};

void wait_queue_init(struct wait_queue *wq);

/* Queue the current thread and mark it asleep. killable: a kill wakes it too. */
void prepare_to_wait(struct wait_queue *wq, struct waiter *waiter, bool killable);
/* Leave the queue and be runnable. Safe however the wait ended. */
void finish_wait(struct wait_queue *wq, struct waiter *waiter);

/* Wake up to max, those that have waited longest first. Any context. */
void wake_up_nr(struct wait_queue *wq, unsigned max);
#define wake_up_all(wq) wake_up_nr(wq, ~0u)
#define wake_up_one(wq) wake_up_nr(wq, 1)

#define __wait_event(wq, condition, killable)                                                      \
	({                                                                                         \
		struct waiter __w;                                                                 \
		int __err = 0;                                                                     \
		list_init(&__w.node);                                                              \
		assert_may_sleep("wait_event");                                                    \
		for (;;) {                                                                         \
			prepare_to_wait(wq, &__w, killable);                                       \
			if (condition)                                                             \
				break;                                                             \
			if ((killable) && thread_killed(current)) {                                \
				__err = -EINTR;                                                    \
				break;                                                             \
			}                                                                          \
			schedule();                                                                \
		}                                                                                  \
		finish_wait(wq, &__w);                                                             \
		__err;                                                                             \
	})

/* Sleep until condition holds. Context: may sleep. */
#define wait_event(wq, condition) ((void)__wait_event(wq, condition, false))

/* The same, given up when the thread is killed: -EINTR, otherwise 0. */
#define wait_event_killable(wq, condition) __wait_event(wq, condition, true)
