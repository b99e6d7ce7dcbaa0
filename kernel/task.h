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
	bool privileged; /* may use SYS_control; inherited */
	struct mm *mm;   /* exec replaces it, from the only thread */
	char name[TASK_NAME_LEN];
	/* Under the tasks lock. */
	u32 ppid; /* 0: nobody will wait for it */
	struct list_head node;
	struct list_head threads;
	u32 nr_threads;
	bool zombie; /* ended, not waited for */
	bool killed;
	s32 exit_status; /* as wait4 reports it */
	/* Under handle_lock. */
	spinlock_t handle_lock;
	struct cap_table handles;
	struct cap_table files; /* descriptors */
	/* Under the IPC lock. */
	struct list_head endpoints;
	struct list_head received_calls;

	struct endpoint *fs; /* the file server; a reference, constant */
	struct wait_queue child_wait;
};

/* A task without threads; takes over mm. parent may be NULL. NULL when memory is short. */
struct task *task_create(const char *name, struct mm *mm, struct task *parent);
/* Undo task_create; it never ran. */
void task_destroy(struct task *task);
/* Add a thread that will return to user mode through frame. NULL when memory is short. */
struct thread *task_add_thread(struct task *task, const struct trap_frame *frame);

/* A thread made by thread_create becomes one of the task's. */
void task_attach_thread(struct task *task, struct thread *thread);

/* End the current thread; the last one of its task ends the task with that status. */
void __noreturn task_exit_thread(s32 exit_status);
/* End all threads of the current task: exit_group, or death by signal. */
void __noreturn task_exit_group(s32 exit_status);
/* As kill(2) with a deadly signal. -ESRCH. Any sleeping context. */
int task_kill(u32 pid, int signal);
/* As wait4 for a child (pid, or any if -1): its pid and status; 0 with nohang; -ECHILD, -EINTR. */
s64 task_wait(s64 pid, s32 *status, bool nohang);

/*
 * A user thread did what only its death can answer: say so in one line and kill its task. Context:
 * interrupts on.
 */
void task_fault(const struct trap_frame *tf, const char *what, u64 address, int signal);

/* Call fn for each task under the tasks lock until it returns false. fn must not sleep. */
void for_each_task(bool (*fn)(struct task *task, void *arg), void *arg);

/* Call after something may have left dead threads: frees them. May sleep. */
void thread_free_dead(void);
/* A dead thread is off its CPU. Context: interrupts off. */
void thread_reap(struct thread *thread);
