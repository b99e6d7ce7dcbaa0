/* task.c - tasks: creation, end, waiting, killing (see task.h). */
#include "kernel/task.h"
#include "arch/cpu.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "kernel/futex.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/tlb_batch.h"

static const struct lock_class tasks_class = {"tasks", RANK_TASKS, false};
static const struct lock_class handles_class = {"handles", RANK_HANDLES, false};
static spinlock_t tasks_lock = SPINLOCK_INIT(tasks_class);
static struct list_head tasks = LIST_HEAD_INIT(tasks);
static u32 next_pid;

#define TASK_ORDER 0
_Static_assert(sizeof(struct task) <= PAGE_SIZE << TASK_ORDER, "a task fits its pages");

struct task *task_create(const char *name, struct mm *mm, struct task *parent)
{
	struct task *task = kpage_alloc(TASK_ORDER);

	if (!task)
		return NULL;
	strlcpy(task->name, name, sizeof(task->name));
	task->mm = mm;
	list_init(&task->threads);
	list_init(&task->endpoints);
	list_init(&task->received_calls);
	spin_init(&task->handle_lock, &handles_class);
	handle_init(task);
	wait_queue_init(&task->child_wait);
	if (parent) {
		task->privileged = parent->privileged;
		task->fs = endpoint_get(parent->fs);
		task->ppid = parent->pid;
	}
	spin_guard(&tasks_lock);
	task->pid = ++next_pid;
	list_add_tail(&task->node, &tasks);
	return task;
}

/* What a task holds, given back. Context: none of its threads runs, may sleep. */
static void task_release(struct task *task)
{
	struct mm *mm;

	ipc_task_exit(task);
	handle_close_all(task);
	spin_lock(&tasks_lock); /* others look at its size */
	mm = task->mm;
	task->mm = NULL;
	spin_unlock(&tasks_lock);
	mm_put(mm);
	endpoint_put(task->fs);
	task->fs = NULL;
}

void task_destroy(struct task *task)
{
	task_release(task);
	spin_lock(&tasks_lock);
	list_del(&task->node);
	spin_unlock(&tasks_lock);
	kpage_free(task, TASK_ORDER);
}

static void enter_user_mode(void *arg)
{
	(void)arg;
	return_to_user(thread_user_frame(current));
}

struct thread *task_add_thread(struct task *task, const struct trap_frame *frame)
{
	struct thread *t = thread_create(task->name, enter_user_mode, NULL,
					 task->server ? PRIO_SERVER : PRIO_USER, task, task->mm);

	if (!t)
		return NULL;
	*thread_user_frame(t) = *frame;
	task_attach_thread(task, t);
	return t;
}

void task_attach_thread(struct task *task, struct thread *t)
{
	if (task->server)
		t->flags |= PF_MEMALLOC;
	spin_guard(&tasks_lock);
	t->killed = task->killed; /* a kill that is under way must not miss it */
	list_add_tail(&t->task_node, &task->threads);
	task->nr_threads++;
}

void for_each_task(bool (*fn)(struct task *task, void *arg), void *arg)
{
	struct task *task;

	spin_guard(&tasks_lock);
	list_for_each(task, &tasks, node)
		if (!fn(task, arg))
			break;
}

/* Context: tasks lock held. */
static struct task *find_task(u32 pid)
{
	struct task *task;

	list_for_each(task, &tasks, node)
		if (task->pid == pid)
			return task;
	return NULL;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Children of a task that is gone: nobody waits for them. Context: tasks lock held. */
static void orphan_children(u32 pid, struct list_head *reap)
{
	struct task *task, *next;

	list_for_each_safe(task, next, &tasks, node)
		if (task->ppid == pid) {
			task->ppid = 0;
			if (task->zombie)
				list_move(&task->node, reap);
		}
}

/* The last thread of task is here: it becomes a zombie, or goes away if nobody will wait. */
static void task_ended(struct task *task)
{
	struct list_head reap = LIST_HEAD_INIT(reap);
	struct task *parent;

	spin_lock(&tasks_lock);
	orphan_children(task->pid, &reap);
	task->zombie = true;
	parent = task->ppid ? find_task(task->ppid) : NULL;
	if (parent && !parent->zombie)
		wake_up_all(&parent->child_wait);
	else
		list_move(&task->node, &reap);
	spin_unlock(&tasks_lock);
	while ((task = list_pop(&reap, struct task, node)))
		kpage_free(task, TASK_ORDER);
}

/* pthread_join waits on this word. */
static void clear_child_tid(struct thread *self)
{
	if (!self->clear_child_tid || !self->mm)
		return;
	if (put_user_u32(self->clear_child_tid, 0) == 0)
		(void)futex_wake(self->clear_child_tid, 1);
}

void task_exit_thread(s32 exit_status)
{
	struct thread *self = current;
	struct task *task = self->task;
	bool last;

	clear_child_tid(self);
	mm_switch_current(NULL);
	spin_lock(&tasks_lock);
	list_del(&self->task_node);
	last = --task->nr_threads == 0;
	if (last && !task->killed)
		task->exit_status = exit_status;
	spin_unlock(&tasks_lock);
	if (last) {
		task_release(task);
		if (task->server)
			pr_warn("server %s (pid %u) has ended: its clients get errors\n", task->name,
				task->pid);
		self->task = NULL; /* the struct may go as soon as a parent looks */
		task_ended(task);
	}
	self->task = NULL;
	thread_exit();
}

/* Context: tasks lock held. The first cause of death counts. */
static void kill_threads(struct task *task, s32 exit_status)
{
	struct thread *t;

	if (!task->killed) {
		task->killed = true;
		task->exit_status = exit_status;
	}
	list_for_each(t, &task->threads, task_node)
		thread_kill(t);
}

void task_exit_group(s32 exit_status)
{
	spin_lock(&tasks_lock);
	kill_threads(current->task, exit_status);
	spin_unlock(&tasks_lock);
	task_exit_thread(exit_status);
}

int task_kill(u32 pid, int signal)
{
	struct task *task;

	spin_guard(&tasks_lock);
	task = find_task(pid);
	if (task && !task->zombie)
		kill_threads(task, signal & 0x7f);
	return task ? 0 : -ESRCH;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* A zombie child that matches, unlinked; or NULL, *any telling whether one may still come. */
static struct task *take_zombie(u32 parent, s64 pid, bool *any)
{
	struct task *task, *next;

	*any = false;
	spin_guard(&tasks_lock);
	list_for_each_safe(task, next, &tasks, node) {
		if (task->ppid != parent || (pid > 0 && task->pid != (u32)pid))
			continue;
		*any = true;
		if (task->zombie) {
			list_del(&task->node);
			return task;
		}
	}
	return NULL;
}

s64 task_wait(s64 pid, s32 *status, bool nohang)
{
	struct task *self = current->task, *child = NULL;
	bool any = true;
	int err = 0;

	if (nohang)
		child = take_zombie(self->pid, pid, &any);
	else
		err = wait_event_killable(&self->child_wait,
					  (child = take_zombie(self->pid, pid, &any)) || !any);
	thread_free_dead();
	if (child) {
		*status = child->exit_status;
		pid = child->pid;
		kpage_free(child, TASK_ORDER);
		return pid;
	}
	return err ? err : any ? 0 : -ECHILD;
}

/* ---- From the trap --------------------------------------------------------------------------- */

#define SIGILL  4
#define SIGFPE  8
#define SIGSEGV 11

void task_fault(const struct trap_frame *tf, const char *what, u64 address, int signal)
{
	struct task *task = current->task;

	pr_warn("%s (pid %u): %s at address %lx, rip %lx: ended\n", task->name, task->pid, what,
		address, tf->rip);
	(void)task_kill(task->pid, signal);
}

/* Exceptions other than page faults. */
void user_fault(struct trap_frame *tf, const char *what, u64 address)
{
	bool arithmetic = tf->vector == 0 || tf->vector == 16 || tf->vector == 19;

	task_fault(tf, what, address, arithmetic ? SIGFPE : tf->vector == 6 ? SIGILL : SIGSEGV);
}

void exit_to_user_mode(struct trap_frame *tf)
{
	(void)tf;
	for (;;) {
		if (thread_killed(current)) {
			local_irq_enable();
			task_exit_thread(0);
		}
		if (!this_cpu_read(need_resched))
			break;
		preempt_schedule_irq();
	}
	ASSERT(tlb_ubc_empty(current), "%s returns to user mode with frames in limbo",
	       current->name);
	ASSERT(this_cpu_read(preempt_count) == 0, "%s returns to user mode with preempt count %u",
	       current->name, this_cpu_read(preempt_count));
}
