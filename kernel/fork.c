/* fork.c - new tasks and threads from old ones: clone and fork. */
#include "arch/fpu.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/mm.h"

#define CLONE_VM             0x00000100u
#define CLONE_THREAD         0x00010000u
#define CLONE_SETTLS         0x00080000u
#define CLONE_PARENT_SETTID  0x00100000u
#define CLONE_CHILD_CLEARTID 0x00200000u
#define CLONE_CHILD_SETTID   0x01000000u

/* What the new thread has in common with the one that made it. */
static struct thread *add_copy(struct task *task, struct trap_frame *tf, u64 stack)
{
	struct trap_frame frame = *tf;
	struct thread *t;

	frame.rax = 0;
	if (stack)
		frame.rsp = stack;
	t = task_add_thread(task, &frame);
	if (!t)
		return NULL;
	fpu_copy_current(t->fpu);
	t->fs_base = current->fs_base;
	t->gs_base = current->gs_base;
	t->affinity = current->affinity;
	return t;
}

static s64 clone_thread(struct trap_frame *tf)
{
	struct thread *t = add_copy(current->task, tf, tf->rsi);
	u64 flags = tf->rdi;
	u32 tid;

	if (!t)
		return -EAGAIN;
	tid = t->tid;
	if (flags & CLONE_SETTLS)
		t->fs_base = tf->r8;
	if (flags & CLONE_CHILD_CLEARTID)
		t->clear_child_tid = tf->r10;
	if (flags & CLONE_PARENT_SETTID)
		(void)put_user_u32(tf->rdx, tid);
	if (flags & CLONE_CHILD_SETTID)
		(void)put_user_u32(tf->r10, tid);
	thread_start(t);
	return tid;
}

static s64 fork_task(struct trap_frame *tf, u64 stack)
{
	struct task *self = current->task, *child;
	struct mm *mm = mm_create(false);
	struct thread *t;
	u32 pid;

	if (!mm)
		return -ENOMEM;
	child = mm_fork(mm, self->mm) ? NULL : task_create(self->name, mm, self);
	if (!child) {
		mm_put(mm);
		return -ENOMEM;
	}
	t = handle_copy_all(child, self) ? NULL : add_copy(child, tf, stack);
	if (!t) {
		task_destroy(child);
		return -EAGAIN;
	}
	pid = child->pid;
	thread_start(t);
	return pid;
}

s64 sys_fork(struct trap_frame *tf)
{
	return fork_task(tf, 0);
}

/* flags, stack, parent_tid, child_tid, tls. CLONE_VFORK: a copy serves as well. */
s64 sys_clone(struct trap_frame *tf)
{
	if (!(tf->rdi & CLONE_THREAD))
		return fork_task(tf, tf->rsi);
	return (tf->rdi & CLONE_VM) && tf->rsi ? clone_thread(tf) : -EINVAL;
}
