/*
 * wait.h - wait queues and the two ways to wait on one.
 *
 * A thread puts itself on the queue, marks itself asleep, looks at its condition once more and only
 * then calls schedule(): a wake-up in between finds it marked and makes it runnable again.
 */
#pragma once

#include "kernel/list.h"
#include "kernel/lock.h"

struct thread;

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

/* Wake all, or the one that has waited longest. Any context. Return how many were woken. */
unsigned wake_up_all(struct wait_queue *wq);
unsigned wake_up_one(struct wait_queue *wq);

/* Sleep until condition holds. Context: may sleep. */
#define wait_event(wq, condition)                                                                  \
	do {                                                                                       \
		struct waiter __w;                                                                 \
		list_init(&__w.node);                                                              \
		assert_may_sleep("wait_event");                                                    \
		for (;;) {                                                                         \
			prepare_to_wait(wq, &__w, false);                                          \
			if (condition)                                                             \
				break;                                                             \
			schedule();                                                                \
		}                                                                                  \
		finish_wait(wq, &__w);                                                             \
	} while (0)

/* The same, given up when the thread is killed: -EINTR, otherwise 0. */
#define wait_event_killable(wq, condition)                                                         \
	({                                                                                         \
		struct waiter __w;                                                                 \
		int __err = 0;                                                                     \
		list_init(&__w.node);                                                              \
		assert_may_sleep("wait_event_killable");                                           \
		for (;;) {                                                                         \
			prepare_to_wait(wq, &__w, true);                                           \
			if (condition)                                                             \
				break;                                                             \
			if (thread_killed(current)) {                                              \
				__err = -EINTR;                                                    \
				break;                                                             \
			}                                                                          \
			schedule();                                                                \
		}                                                                                  \
		finish_wait(wq, &__w);                                                             \
		__err;                                                                             \
	})
