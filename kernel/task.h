/*
 * task.h - tasks (processes): an address space, capabilities, files, and threads that share them.
 */
#pragma once

#include "kernel/handle.h"
#include "kernel/list.h"
#include "kernel/lock.h"
#include "kernel/types.h"
#include "kernel/wait.h"

struct endpoint;
struct mm;
struct thread;
struct trap_frame;

#define TASK_NAME_LEN 28

struct task {
	/* Constant after creation. */
	u32 pid;
	bool server;     /* pinned memory, PF_MEMALLOC threads: others wait for it */
	bool protected;  /* the out-of-memory killer leaves it alone */
	/* Under the tasks lock. */
	char name[TASK_NAME_LEN];
	/*
	 * A reference. Its own threads use current->mm, which is the same; everybody else looks here,
	 * under the lock, because exec and the task's end replace it.
	 */
	struct mm *mm;
	bool borrows_mm; /* vfork: the parent sleeps until this task has another or none */
	u32 ppid; /* 0: nobody will wait for it */
	struct list_head node;
	struct list_head threads;
	u32 nr_threads;
	struct thread *execer; /* it ends all other threads, to exec */
	bool ending; /* why it ends has been decided, once: exit_status does not change any more */
	bool zombie; /* ended, not waited for */
	s32 exit_status;  /* as wait4 reports it */
	u64 ending_since_ns;
	u64 ended_run_ns; /* CPU time of threads that have ended */
	/* Under handle_lock. */
	spinlock_t handle_lock;
	struct cap_table handles;
	struct cap_table files; /* descriptors */
	/* Under the IPC lock. */
	struct list_head endpoints;
	struct list_head received_calls;

	u64 ignored; /* signals that do nothing: SIGNAL_BIT(signal); atomic */
	struct endpoint *fs; /* the file server; a reference, constant */
	struct wait_queue child_wait;  /* a child has ended, or has given back a borrowed mm */
	struct wait_queue thread_wait; /* a thread has ended */
};

/* A task without threads; takes over mm. parent may be NULL. NULL when memory is short. */
struct task *task_create(const char *name, struct mm *mm, struct task *parent);
/* There are as many as there may be (threads_max), zombies included: who forks gets -EAGAIN. */
bool tasks_full(void);
/* Undo task_create; it never ran. */
void task_destroy(struct task *task);
/*
 * Add a thread that will return to user mode through frame; mm: the task's. NULL when memory is
 * short.
 */
struct thread *task_add_thread(struct task *task, struct mm *mm, const struct trap_frame *frame);

/* A thread made by thread_create becomes one of the task's. */
void task_attach_thread(struct task *task, struct thread *thread);

/*
 * exec: mm takes the place of the task's address space in its only thread, the current one, which
 * drops the old one and, where it was borrowed, wakes the parent. May sleep.
 */
void task_replace_mm(struct mm *mm);
/* The name of task and current thread, from a path. */
void task_set_name(const char *path);
/* Pages mapped in a task's address space. Context: tasks lock held. */
u64 task_rss_pages(const struct task *task);
/*
 * All that the kernel keeps on the task's behalf, in pages: what its end would give back. Context:
 * tasks lock held.
 */
u64 task_footprint(struct task *task);
/*
 * exec: all other threads of the current task end; then the current one has the task's id. -EINTR:
 * the caller is to end itself, because of a kill or another thread's exec. May sleep.
 */
int task_end_other_threads(void);
/* vfork: sleep until the child has an address space of its own or has ended. May sleep. */
void task_wait_for_vfork(u32 child);

/* CPU time that the threads of a task have used, ended ones too. Any sleeping context. */
u64 task_run_ns(struct task *task);

/* End the current thread; the last one of its task ends the task with that status. */
void __noreturn task_exit_thread(s32 exit_status);
/* End all threads of the current task: exit_group, or death by signal. */
void __noreturn task_exit_group(s32 exit_status);
/* End a task as by a signal, whatever it ignores. -ESRCH. Any sleeping context. */
int task_kill(u32 pid, int signal);
/* The same under the tasks lock. The first cause of an end counts. */
void task_end_locked(struct task *task, s32 exit_status);
/* As wait4 for a child (pid, or any if -1): its pid and status; 0 with nohang; -ECHILD, -EINTR. */
s64 task_wait(s64 pid, s32 *status, bool nohang);

/*
 * A user thread did what only its death can answer: say so in one line and kill its task. Context:
 * interrupts on.
 */
void task_fault(const struct trap_frame *tf, const char *what, u64 address, int signal);

/* Call fn for each task under the tasks lock until it returns false. fn must not sleep. */
void for_each_task(bool (*fn)(struct task *task, void *arg), void *arg);
/* How many there are, zombies too. They come and go. */
u32 task_count(void);
/* NULL: there is none. Context: tasks lock held. */
struct task *task_of_pid(u32 pid);
/* task is a child of ancestor, or a child's child. Context: tasks lock held. */
bool task_descends(const struct task *task, const struct task *ancestor);

/* Call after something may have left dead threads: frees them. May sleep. */
void thread_free_dead(void);
/* A dead thread is off its CPU. Context: interrupts off. */
void thread_reap(struct thread *thread);
