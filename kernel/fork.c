/* fork.c - new tasks and threads from old ones: clone, fork and vfork. */
#include "arch/fpu.h"
#include "arch/switch.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "kernel/user_range.h"
#include "mm/mm.h"

#define CLONE_VM             0x00000100u
#define CLONE_VFORK          0x00004000u
#define CLONE_THREAD         0x00010000u
#define CLONE_SETTLS         0x00080000u
#define CLONE_PARENT_SETTID  0x00100000u
#define CLONE_CHILD_CLEARTID 0x00200000u
#define CLONE_CHILD_SETTID   0x01000000u

/* The arguments of clone, under its names. */
struct clone_args {
	u64 flags, stack, parent_tid, child_tid, tls;
};

/* What the new thread has in common with the one that made it. */
static struct thread *add_copy(struct task *task, struct mm *mm, const struct trap_frame *tf,
			       const struct clone_args *args)
{
	struct trap_frame frame = *tf;
	struct thread *t;

	frame.rax = 0;
	if (args->stack)
		frame.rsp = args->stack;
	t = task_add_thread(task, mm, &frame);
	if (!t)
		return NULL;
	fpu_copy_current(t->fpu);
	arch_read_selectors(&t->selectors);
	t->fs_base = current->fs_base;
	if (args->flags & CLONE_SETTLS) {
		t->fs_base = args->tls;
		t->selectors.fs = 0;
	}
	t->gs_base = current->gs_base;
	t->affinity = current->affinity;
	if (args->flags & CLONE_CHILD_CLEARTID)
		t->clear_child_tid = args->child_tid;
	if (args->flags & CLONE_CHILD_SETTID)
		t->set_child_tid = args->child_tid;
	if (args->flags & CLONE_PARENT_SETTID)
		(void)put_user_u32(args->parent_tid, t->tid);
	return t;
}

static s64 clone_thread(const struct trap_frame *tf, const struct clone_args *args)
{
	struct thread *t = add_copy(current->task, current->mm, tf, args);
	u32 tid;

	if (!t)
		return -EAGAIN;
	tid = t->tid;
	thread_start(t);
	return tid;
}

/* The child's address space: the parent's own, or a copy. */
static struct mm *child_mm(u64 flags)
{
	struct mm *mm;

	if (flags & CLONE_VM)
		return mm_get(current->mm);
	mm = mm_create(false);
	if (mm && mm_fork(mm, current->mm)) {
		mm_put(mm);
		mm = NULL;
	}
	return mm;
}

static s64 clone_task(const struct trap_frame *tf, const struct clone_args *args)
{
	struct task *child;
	struct thread *t;
	struct mm *mm;
	u32 pid;

	if (tasks_full())
		return -EAGAIN;
	mm = child_mm(args->flags);
	child = mm ? task_create(current->task->name, mm, current->task) : NULL;
	if (!child) {
		mm_put(mm);
		return -ENOMEM;
	}
	child->borrows_mm = (args->flags & CLONE_VM) && (args->flags & CLONE_VFORK);
	t = handle_copy_all(child, current->task) ? NULL : add_copy(child, mm, tf, args);
	if (!t) {
		task_destroy(child);
		return -EAGAIN;
	}
	pid = child->pid;
	thread_start(t);
	if (args->flags & CLONE_VFORK)
		task_wait_for_vfork(pid);
	return pid;
}

s64 sys_fork(struct trap_frame *tf)
{
	return clone_task(tf, &(struct clone_args){0});
}

s64 sys_vfork(struct trap_frame *tf)
{
	return clone_task(tf, &(struct clone_args){.flags = CLONE_VFORK | CLONE_VM});
}

/* flags, stack, parent_tid, child_tid, tls */
s64 sys_clone(struct trap_frame *tf)
{
	struct clone_args args = {tf->rdi, tf->rsi, tf->rdx, tf->r10, tf->r8};

	if ((args.flags & CLONE_SETTLS) && args.tls >= USER_END)
		return -EPERM; /* the FS base would not be canonical, or a kernel address */
	if (!(args.flags & CLONE_THREAD))
		return clone_task(tf, &args);
	return (args.flags & CLONE_VM) && args.stack ? clone_thread(tf, &args) : -EINVAL;
}
