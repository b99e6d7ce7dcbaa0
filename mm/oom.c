/* oom.c - choosing a process to end (see oom.h). */
#include "mm/oom.h"
#include "drivers/clock.h"
#include "kernel/mutex.h"
#include "kernel/signal.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/page_alloc.h"

#define MAX_DYING_NS (3 * NSEC_PER_SEC) /* a victim that is still there then is hoped for no more */

static const struct lock_class oom_class = {"out of memory", RANK_OOM, false};
static struct mutex oom_lock; /* one decision at a time: the next one sees the last one's victim */

struct victim {
	u32 pid;
	u64 pages;
	bool dying; /* one was chosen not long ago and is not gone yet */
};

void oom_init(void)
{
	mutex_init(&oom_lock, &oom_class);
}

static bool consider(struct task *task, void *arg)
{
	struct victim *best = arg;
	u64 pages;

	if (task->server || task->protected || task->zombie)
		return true;
	if (task->ending) {
		best->dying |= clock_ns() - task->ending_since_ns < MAX_DYING_NS;
		return true;
	}
	pages = task_footprint(task);
	if (pages > best->pages) {
		best->pages = pages;
		best->pid = task->pid;
	}
	return true;
}

/* Choose and end one, or see that one is ending already. */
static bool end_largest(void)
{
	struct victim best = {0};

	mutex_guard(&oom_lock);
	if (nr_free_pages() >= watermarks.low)
		return true; /* the last one ended while we waited for the lock */
	for_each_task(consider, &best);
	if (best.dying)
		return true;
	if (!best.pid)
		return false;
	pr_err("out of memory: %lu of %lu pages free; ending process %u with %lu pages\n",
	       nr_free_pages(), mem_total_pages, best.pid, best.pages);
	count_vm_event(oom_kill);
	(void)task_kill(best.pid, SIGKILL);
	return true;
}

bool out_of_memory(void)
{
	bool hope = end_largest();

	if (hope && !thread_killed(current))
		sleep_until(clock_ns() + NSEC_PER_MSEC); /* it needs time to give back its pages */
	return hope && !thread_killed(current);
}
