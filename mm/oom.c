/* oom.c - choosing a process to end (see oom.h). */
#include "mm/oom.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"

#define SIGKILL 9

struct victim {
	struct task *task;
	u64 rss;
	bool dying; /* one was chosen before and is not gone yet */
};

static bool consider(struct task *task, void *arg)
{
	struct victim *best = arg;
	u64 rss = task->mm ? READ_ONCE(task->mm->rss_pages) : 0;

	if (task->server || task->protected || !task->mm)
		return true;
	if (task->killed)
		best->dying = true;
	else if (rss > best->rss) {
		best->rss = rss;
		best->task = task;
	}
	return true;
}

bool out_of_memory(void)
{
	struct victim best = {0};
	u32 pid;

	for_each_task(consider, &best);
	if (best.dying) {
		sleep_until(clock_ns() + NSEC_PER_MSEC);
		return !thread_killed(current);
	}
	if (!best.task)
		return false;
	pid = best.task->pid; /* it may be gone by now; then the kill below does nothing */
	pr_err("out of memory: %lu of %lu pages free; ending process %u with %lu pages\n",
	       nr_free_pages(), mem_total_pages, pid, best.rss);
	count_vm_event(oom_kill);
	task_kill(pid, SIGKILL);
	return !thread_killed(current);
}
