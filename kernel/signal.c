/* signal.c - the system calls on signals (see signal.h). */
#include "kernel/signal.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "kernel/errno.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "kernel/thread.h"

#define IGNORED_BY_DEFAULT                                                                         \
	(SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))
#define STOPS                                                                                      \
	(SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))

/* ---- Sending --------------------------------------------------------------------------------- */

/* Whom a signal is for. The first that applies: */
enum target_kind { TARGET_TASK, TARGET_THREAD, TARGET_FAMILY, TARGET_ALL };

struct sending {
	enum target_kind kind;
	u32 id, tgid; /* tgid: the thread's task; 0: any */
	int signal;   /* 0: only ask whether it could be sent */
	bool control;
	bool found, sent;
};

static bool has_thread(const struct task *task, u32 tid)
{
	struct thread *t;

	list_for_each(t, &task->threads, task_node)
		if (t->tid == tid)
			return true;
	return false;
}

static bool is_target(const struct task *task, const struct sending *s)
{
	const struct task *family;

	switch (s->kind) {
	case TARGET_TASK:
		return task->pid == s->id;
	case TARGET_THREAD:
		return (!s->tgid || task->pid == s->tgid) && has_thread(task, s->id);
	case TARGET_FAMILY:
		family = task_of_pid(s->id);
		return family && (task == family || task_descends(task, family));
	case TARGET_ALL:
		return task != current->task && !task->server && !task->protected;
	}
	return false;
}

static bool may_send_to(const struct task *task, const struct sending *s)
{
	return s->control || task == current->task || task_descends(task, current->task);
}

static void deliver(struct task *task, int signal)
{
	u64 ignored = task->ignored | IGNORED_BY_DEFAULT;

	if (signal == SIGKILL || (signal && !(ignored & SIGNAL_BIT(signal))))
		task_end_locked(task, signal);
}

/* Called for each task under the tasks lock. */
static bool send_to(struct task *task, void *arg)
{
	struct sending *s = arg;

	if (!is_target(task, s))
		return true;
	s->found = true;
	if (may_send_to(task, s)) {
		s->sent = true;
		if (!task->zombie)
			deliver(task, s->signal);
	}
	return true;
}

/* A stop that nothing would end is refused: there is no job control. */
static s64 send(struct sending *s)
{
	if (s->signal < 0 || s->signal > NSIG)
		return -EINVAL;
	if (s->signal && (SIGNAL_BIT(s->signal) & STOPS))
		return -ENOSYS;
	s->control = handle_has_control(current->task);
	for_each_task(send_to, s);
	return s->sent ? 0 : s->found ? -EPERM : -ESRCH;
}

/* A process group is a task with its descendants: there is no call that makes another one. */
s64 sys_kill(u64 pid, u64 signal)
{
	s32 id = (s32)pid;
	struct sending s = {.kind = TARGET_TASK, .id = (u32)id, .signal = (int)signal};

	if (id == -1) {
		s.kind = TARGET_ALL;
	} else if (id <= 0) {
		s.kind = TARGET_FAMILY;
		s.id = id ? -(u32)id : current->task->pid;
	}
	return send(&s);
}

s64 sys_tgkill(u64 tgid, u64 tid, u64 signal)
{
	struct sending s = {TARGET_THREAD, (u32)tid, (u32)tgid, (int)signal, false, false, false};

	return (s32)tid <= 0 || (s32)tgid <= 0 ? -EINVAL : send(&s);
}

s64 sys_tkill(u64 tid, u64 signal)
{
	struct sending s = {TARGET_THREAD, (u32)tid, 0, (int)signal, false, false, false};

	return (s32)tid <= 0 ? -EINVAL : send(&s);
}

/* ---- What is ignored ------------------------------------------------------------------------- */

/* Linux's struct sigaction on x86-64. */
struct user_sigaction {
	u64 handler, flags, restorer, mask;
};

enum { SIG_DFL, SIG_IGN };

static int set_action(struct task *task, u64 signal, u64 handler)
{
	if (signal == SIGKILL || signal == SIGSTOP)
		return -EINVAL;
	if (handler > SIG_IGN)
		return -ENOSYS; /* said here, not by a handler that is never called */
	if (handler == SIG_IGN)
		(void)atomic_fetch_or(&task->ignored, SIGNAL_BIT(signal));
	else
		(void)atomic_fetch_and(&task->ignored, ~SIGNAL_BIT(signal));
	return 0;
}

s64 sys_rt_sigaction(u64 signal, u64 user_new, u64 user_old, u64 set_size)
{
	struct task *task = current->task;
	struct user_sigaction old = {0}, new;
	int err;

	if (signal < 1 || signal > NSIG || set_size != sizeof(u64))
		return -EINVAL;
	old.handler = READ_ONCE(task->ignored) & SIGNAL_BIT(signal) ? SIG_IGN : SIG_DFL;
	if (user_new) {
		err = copy_from_user(&new, user_new, sizeof(new));
		if (!err)
			err = set_action(task, signal, new.handler);
		if (err)
			return err;
	}
	return user_old ? copy_to_user(user_old, &old, sizeof(old)) : 0;
}

#define SIG_SETMASK 2

/* Nothing is ever blocked: a signal acts at once, and the old mask is always empty. */
s64 sys_rt_sigprocmask(u64 how, u64 user_set, u64 user_old, u64 set_size)
{
	u64 set;

	if (set_size != sizeof(set))
		return -EINVAL;
	if (user_set && copy_from_user(&set, user_set, sizeof(set)))
		return -EFAULT;
	if (user_set && how > SIG_SETMASK)
		return -EINVAL;
	return user_old ? clear_user(user_old, sizeof(set)) : 0;
}
