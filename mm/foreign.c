/* foreign.c - kpageout, and how many pages it may have to care for (see foreign.h). */
#include "mm/foreign.h"
#include "arch/atomic.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/reclaim.h"

#define PASSES_WITHOUT_ROOM 2

u64 foreign_patience_ns = 10 * NSEC_PER_SEC;

static struct wait_queue work_wait, room_wait;
static bool wanted;
static u64 nr_pages; /* in the cache */
static u64 nr_gone;  /* ever */
static u64 nr_passes;

static u64 limit(void)
{
	return mem_total_pages / 4;
}

void foreign_page_added(void)
{
	atomic_inc(&nr_pages);
}

void foreign_page_gone(void)
{
	atomic_inc(&nr_gone);
	atomic_dec(&nr_pages);
}

bool foreign_pages_have_room(void)
{
	return READ_ONCE(nr_pages) < limit() - limit() / 8;
}

void wake_kpageout(void)
{
	WRITE_ONCE(wanted, true);
	wake_up_all(&work_wait);
}

int wait_for_foreign_room(void)
{
	u64 first = READ_ONCE(nr_passes), seen = first;
	int err = 0;

	while (!err && READ_ONCE(nr_pages) >= limit()) {
		if (seen > first + PASSES_WITHOUT_ROOM) /* one may have been under way */
			return -ENOMEM;
		wake_kpageout();
		err = wait_event_killable(&room_wait, READ_ONCE(nr_passes) != seen);
		seen = READ_ONCE(nr_passes);
	}
	return err;
}

bool wait_for_foreign_pages(void)
{
	u64 before = READ_ONCE(nr_gone);

	if (!READ_ONCE(nr_pages))
		return false;
	wake_kpageout();
	sleep_until(clock_ns() + 10 * NSEC_PER_MSEC);
	return READ_ONCE(nr_gone) != before;
}

static void kpageout(void *arg)
{
	(void)arg;
	for (;;) {
		wait_event(&work_wait, READ_ONCE(wanted));
		WRITE_ONCE(wanted, false);
		if (!reclaim_foreign_pages())
			sleep_until(clock_ns() + 10 * NSEC_PER_MSEC); /* all in use: let them get on */
		atomic_inc(&nr_passes);
		wake_up_all(&room_wait);
	}
}

void foreign_init(void)
{
	wait_queue_init(&work_wait);
	wait_queue_init(&room_wait);
	kthread_run("kpageout", kpageout, NULL, PRIO_KTHREAD);
}
