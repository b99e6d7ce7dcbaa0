/* task.c - tasks: creation, end, waiting, killing (see task.h). */
#include "kernel/task.h"
#include "arch/cpu.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/futex.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/signal.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/tlb_batch.h"

static const struct lock_class tasks_class = {"tasks", RANK_TASKS, false};
static const struct lock_class handles_class = {"handles", RANK_HANDLES, false};
static spinlock_t tasks_lock = SPINLOCK_INIT(tasks_class);
static struct list_head tasks = LIST_HEAD_INIT(tasks);
static u32 nr_tasks;

#define TASK_ORDER 0
_Static_assert(sizeof(struct task) <= PAGE_SIZE << TASK_ORDER, "a task fits its pages");

bool tasks_full(void)
{
	return READ_ONCE(nr_tasks) >= threads_max();
}

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
	wait_queue_init(&task->thread_wait);
	task->pid = thread_new_id();
	if (parent) {
		task->fs = endpoint_get(parent->fs);
		task->ppid = parent->pid;
		task->ignored = READ_ONCE(parent->ignored);
	}
	spin_guard(&tasks_lock);
	list_add_tail(&task->node, &tasks);
	nr_tasks++;
	return task;
}

/* Off the list for good. Context: tasks lock held; the caller frees it. */
static void unlink_task(struct task *task)
{
	list_del(&task->node);
	nr_tasks--;
}

struct task *task_of_pid(u32 pid)
{
	struct task *task;

	spin_assert_held(&tasks_lock);
	list_for_each(task, &tasks, node)
		if (task->pid == pid)
			return task;
	return NULL;
}

/* ---- The address space ----------------------------------------------------------------------- */

/* The only place where a task gets another address space; the old one is the caller's to drop. */
static struct mm *exchange_mm(struct task *task, struct mm *mm)
{
	struct mm *old;
	struct task *parent = NULL;

	spin_guard(&tasks_lock);
	old = task->mm;
	task->mm = mm;
	if (task->borrows_mm)
		parent = task_of_pid(task->ppid);
	task->borrows_mm = false;
	if (parent)
		wake_up_all(&parent->child_wait);
	return old;
}

void task_replace_mm(struct mm *mm)
{
	struct task *task = current->task;
	struct mm *old;

	ASSERT(READ_ONCE(task->nr_threads) == 1, "%s has %u threads and replaces their memory",
	       task->name, task->nr_threads);
	old = exchange_mm(task, mm);
	ASSERT(old == current->mm, "%s runs in another address space than its task", task->name);
	mm_switch_current(mm);
	mm_put(old);
}

u64 task_rss_pages(const struct task *task)
{
	spin_assert_held(&tasks_lock);
	return task->mm ? READ_ONCE(task->mm->rss_pages) : 0;
}

/* Its memory, the objects that its handles name, its threads' stacks and the rest of them, itself. */
#define PAGES_PER_THREAD (KERNEL_STACK_SIZE / PAGE_SIZE + 2)

u64 task_footprint(struct task *task)
{
	spin_assert_held(&tasks_lock);
	return (task->mm ? mm_footprint(task->mm) : 0) + handle_footprint(task) +
	       task->nr_threads * PAGES_PER_THREAD + 1;
}

void task_set_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/' && path[1])
			base = path + 1;
	spin_guard(&tasks_lock);
	strlcpy(current->task->name, base, sizeof(current->task->name));
	strlcpy(current->name, base, sizeof(current->name));
}

/* What a task holds, given back. Context: none of its threads runs, may sleep. */
static void task_release(struct task *task)
{
	ipc_task_exit(task);
	handle_close_all(task);
	mm_put(exchange_mm(task, NULL));
	endpoint_put(task->fs);
	task->fs = NULL;
}

void task_destroy(struct task *task)
{
	task_release(task);
	spin_lock(&tasks_lock);
	unlink_task(task);
	spin_unlock(&tasks_lock);
	kpage_free(task, TASK_ORDER);
}

/* CLONE_CHILD_SETTID: the word is the child's, so the child writes it. */
static void enter_user_mode(void *arg)
{
	(void)arg;
	if (current->set_child_tid)
		(void)put_user_u32(current->set_child_tid, current->tid);
	return_to_user(thread_user_frame(current));
}

struct thread *task_add_thread(struct task *task, struct mm *mm, const struct trap_frame *frame)
{
	struct thread *t = thread_create(task->name, enter_user_mode, NULL,
					 task->server ? PRIO_SERVER : PRIO_USER, task, mm);

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
	t->killed = task->ending || task->execer; /* what is under way must not miss it */
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

u32 task_count(void)
{
	return READ_ONCE(nr_tasks);
}

bool task_descends(const struct task *task, const struct task *ancestor)
{
	for (; task && task->ppid; task = task_of_pid(task->ppid))
		if (task->ppid == ancestor->pid)
			return true;
	return false;
}

u64 task_run_ns(struct task *task)
{
	struct thread *t;
	u64 sum;

	spin_guard(&tasks_lock);
	sum = task->ended_run_ns;
	list_for_each(t, &task->threads, task_node)
		sum += thread_run_ns(t);
	return sum;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void reap_later(struct task *task, struct list_head *reap)
{
	unlink_task(task);
	list_add(&task->node, reap);
}

/* Children of a task that is gone: nobody waits for them. Context: tasks lock held. */
static void orphan_children(u32 pid, struct list_head *reap)
{
	struct task *task, *next;

	list_for_each_safe(task, next, &tasks, node)
		if (task->ppid == pid) {
			task->ppid = 0;
			if (task->zombie)
				reap_later(task, reap);
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
	parent = task->ppid ? task_of_pid(task->ppid) : NULL;
	if (parent && !parent->zombie)
		wake_up_all(&parent->child_wait);
	else
		reap_later(task, &reap);
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

/* A task ends for one reason, the first. Context: tasks lock held. */
static void decide_end(struct task *task, s32 exit_status)
{
	spin_assert_held(&tasks_lock);
	if (task->ending)
		return;
	task->ending = true;
	task->exit_status = exit_status;
	task->ending_since_ns = clock_ns();
}

/*
 * Only the thread itself could make another, so the only one is also the last. It decides here:
 * what comes while the task gives back what it holds comes too late.
 */
static void begin_exit(struct task *task, s32 exit_status)
{
	spin_guard(&tasks_lock);
	if (task->nr_threads == 1)
		decide_end(task, exit_status);
}

/* Leave the task. true: it has no thread any more. */
static bool leave_task(struct task *task, s32 exit_status)
{
	struct thread *self = current;

	spin_guard(&tasks_lock);
	task->ended_run_ns += thread_run_ns(self);
	list_del(&self->task_node);
	wake_up_all(&task->thread_wait);
	if (--task->nr_threads)
		return false;
	decide_end(task, exit_status);
	return true;
}

void task_exit_thread(s32 exit_status)
{
	struct thread *self = current;
	struct task *task = self->task;

	begin_exit(task, exit_status);
	clear_child_tid(self);
	mm_switch_current(NULL);
	if (leave_task(task, exit_status)) {
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

void task_end_locked(struct task *task, s32 exit_status)
{
	struct thread *t;

	decide_end(task, exit_status);
	list_for_each(t, &task->threads, task_node)
		thread_kill(t);
}

void task_exit_group(s32 exit_status)
{
	spin_lock(&tasks_lock);
	task_end_locked(current->task, exit_status);
	spin_unlock(&tasks_lock);
	task_exit_thread(exit_status);
}

/* false: somebody else has ended us first. */
static bool begin_exec(struct task *task)
{
	struct thread *t;

	spin_guard(&tasks_lock);
	if (task->ending || task->execer)
		return false;
	task->execer = current;
	list_for_each(t, &task->threads, task_node)
		if (t != current)
			thread_kill(t);
	return true;
}

int task_end_other_threads(void)
{
	struct task *task = current->task;
	int err;

	if (!begin_exec(task))
		return -EINTR;
	err = wait_event_killable(&task->thread_wait, READ_ONCE(task->nr_threads) == 1);
	spin_guard(&tasks_lock);
	task->execer = NULL;
	if (!err)
		current->tid = task->pid;
	return err;
}

int task_kill(u32 pid, int signal)
{
	struct task *task;

	spin_guard(&tasks_lock);
	task = task_of_pid(pid);
	if (task && !task->zombie)
		task_end_locked(task, signal & 0x7f);
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
			unlink_task(task);
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

static bool borrows_mm(u32 pid)
{
	struct task *task;

	spin_guard(&tasks_lock);
	task = task_of_pid(pid);
	return task && task->borrows_mm;
}

/* A killed parent goes without: the reference keeps the memory for the child. */
void task_wait_for_vfork(u32 child)
{
	(void)wait_event_killable(&current->task->child_wait, !borrows_mm(child));
}

/* ---- From the trap --------------------------------------------------------------------------- */

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
