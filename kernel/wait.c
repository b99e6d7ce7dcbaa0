/* wait.c - wait queues (see wait.h). */
#include "kernel/wait.h"
#include "kernel/perturb.h"

static const struct lock_class wait_class = {"wait queue", RANK_WAIT, true};

void wait_queue_init(struct wait_queue *wq)
{
	spin_init(&wq->lock, &wait_class);
	list_init(&wq->waiters);
}

void prepare_to_wait(struct wait_queue *wq, struct waiter *waiter, bool killable)
{
	u64 flags;

	SYNC_POINT(wait);
	flags = spin_lock_irqsave(&wq->lock);
	waiter->thread = current;
	if (list_empty(&waiter->node))
		list_add_tail(&waiter->node, &wq->waiters);
	set_current_state(killable ? THREAD_KILLABLE : THREAD_SLEEPING);
	spin_unlock_irqrestore(&wq->lock, flags);
}

void finish_wait(struct wait_queue *wq, struct waiter *waiter)
{
	u64 flags = spin_lock_irqsave(&wq->lock);

	set_current_state(THREAD_RUNNING);
	list_del(&waiter->node);
	spin_unlock_irqrestore(&wq->lock, flags);
}

void wake_up_nr(struct wait_queue *wq, unsigned max)
{
	u64 flags = spin_lock_irqsave(&wq->lock);
	struct waiter *w;

	if (perturb_coin() && !list_empty(&wq->waiters)) /* the longest waits a little longer */
		list_move_tail(wq->waiters.next, &wq->waiters);
	while (max-- && (w = list_pop(&wq->waiters, struct waiter, node)))
		wake_up_thread(w->thread);
	spin_unlock_irqrestore(&wq->lock, flags);
}
