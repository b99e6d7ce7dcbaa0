/*
 * procs.c - processes, threads and signals, asked as a program asks them; Linux's answers are right.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/check.h"

#define PROGRAM    "procs"
#define NR_THREADS 3
#define EXECED_OK  42

static const char *self; /* this program's path */
static volatile int *shared; /* a page that children share */

/* The child's wait status; its stdout is not flushed twice. */
static int status_of(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int in_child(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fn();
		_exit(0);
	}
	return status_of(pid);
}

static void expect_signal(const char *what, void (*fn)(void), int signal)
{
	int status = in_child(fn);

	check_returns(what, WIFSIGNALED(status) ? WTERMSIG(status) : -1, signal);
}

static void expect_exit(const char *what, void (*fn)(void), int code)
{
	int status = in_child(fn);

	check_returns(what, WIFEXITED(status) ? WEXITSTATUS(status) : -1, code);
}

/* ---- Signals ------------------------------------------------------------------------------ */

static void do_abort(void)
{
	abort();
}

static void raise_term(void)
{
	raise(SIGTERM);
}

static void raise_last(void)
{
	kill(getpid(), 64);
}

static void raise_harmless(void)
{
	raise(SIGCHLD);
	raise(SIGWINCH);
	raise(SIGURG);
	raise(SIGCONT);
	_exit(5);
}

static void ignore_and_raise(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGABRT, SIG_IGN);
	raise(SIGTERM);
	kill(getpid(), SIGABRT);
	if (fork() == 0) { /* its children ignore it, too */
		raise(SIGTERM);
		_exit(7);
	}
	wait((int *)shared);
	_exit(WIFEXITED(*shared) ? WEXITSTATUS(*shared) : 1);
}

static void ignore_then_not(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

/* What is ignored is so for kill only: a fault ends the program all the same. */
static void ignore_and_fault(void)
{
	volatile int *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGSEGV, SIG_IGN);
	*nothing = 1;
}

static void check_signals(void)
{
	expect_signal("abort", do_abort, SIGABRT);
	expect_signal("raise of SIGTERM", raise_term, SIGTERM);
	expect_signal("signal 64", raise_last, 64);
	expect_exit("signals that do nothing", raise_harmless, 5);
	expect_exit("ignored signals", ignore_and_raise, 7);
	expect_signal("a signal no longer ignored", ignore_then_not, SIGTERM);
	expect_signal("an ignored fault", ignore_and_fault, SIGSEGV);
}

static void check_kill(void)
{
	long pid = getpid(), tid = syscall(SYS_gettid);

	check_returns("kill of self, 0", kill((pid_t)pid, 0), 0);
	check_fails("kill of nobody, 0", kill(0x3ffffff, 0), ESRCH);
	check_fails("kill of nobody", kill(0x3ffffff, SIGTERM), ESRCH);
	check_fails("kill, signal 65", kill((pid_t)pid, 65), EINVAL);
	check_fails("kill, signal -1", kill((pid_t)pid, -1), EINVAL);
	check_fails("kill of no group", kill(-0x3ffffff, 0), ESRCH);
	check_returns("kill of the own group, 0", kill(0, 0), 0);
	check_returns("tkill of self, 0", syscall(SYS_tkill, tid, 0), 0);
	check_returns("tgkill of self, 0", syscall(SYS_tgkill, pid, tid, 0), 0);
	check_returns("tkill, harmless", syscall(SYS_tkill, tid, SIGCHLD), 0);
	check_fails("tkill of thread 0", syscall(SYS_tkill, 0, 0), EINVAL);
	check_fails("tgkill of thread -1", syscall(SYS_tgkill, pid, -1, 0), EINVAL);
	check_fails("tgkill of another's thread", syscall(SYS_tgkill, 0x3ffffff, tid, 0), ESRCH);
	check_fails("tkill of nobody", syscall(SYS_tkill, 0x3ffffff, SIGTERM), ESRCH);
}

/* A zombie can be asked for, and killed in vain. */
static void check_kill_zombie(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	usleep(100000);
	check_returns("kill of a zombie, 0", kill(pid, 0), 0);
	check_returns("kill of a zombie", kill(pid, SIGKILL), 0);
	check_returns("a killed zombie's status", status_of(pid), 3 << 8);
	check_fails("wait4, no such option", syscall(SYS_wait4, -1, NULL, 0x10, NULL), EINVAL);
	check_fails("wait4, clones too", syscall(SYS_wait4, -1, NULL, (int)__WCLONE, NULL), ECHILD);
}

static void check_actions(void)
{
	struct {
		unsigned long handler, flags, restorer, mask;
	} action = {.handler = 1}, old = {.handler = 99};

	check_returns("sigaction to ignore", syscall(SYS_rt_sigaction, SIGHUP, &action, NULL, 8), 0);
	check_returns("sigaction, old", syscall(SYS_rt_sigaction, SIGHUP, NULL, &old, 8), 0);
	check_returns("the old action", (long)old.handler, 1);
	check_fails("sigaction of SIGKILL", syscall(SYS_rt_sigaction, SIGKILL, &action, NULL, 8), EINVAL);
	check_fails("sigaction of 0", syscall(SYS_rt_sigaction, 0, NULL, &old, 8), EINVAL);
	check_fails("sigaction of 65", syscall(SYS_rt_sigaction, 65, NULL, &old, 8), EINVAL);
	check_fails("sigaction, odd size", syscall(SYS_rt_sigaction, SIGHUP, NULL, &old, 4), EINVAL);
	check_fails("sigaction, bad pointer", syscall(SYS_rt_sigaction, SIGHUP, 8, NULL, 8), EFAULT);
	check_fails("sigprocmask, odd size", syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, 4), EINVAL);
	check_fails("sigprocmask, bad how", syscall(SYS_rt_sigprocmask, 9, &old, NULL, 8), EINVAL);
	check_fails("sigprocmask, bad pointer", syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, NULL, 8), EFAULT);
}

/* ---- Ids ---------------------------------------------------------------------------------- */

static void *note_tid(void *arg)
{
	*(long *)arg = syscall(SYS_gettid);
	return NULL;
}

static void check_ids(void)
{
	pthread_t thread;
	long tid = 0;
	pid_t pid;

	check_returns("gettid of the first thread", syscall(SYS_gettid), getpid());
	pthread_create(&thread, NULL, note_tid, &tid);
	pthread_join(thread, NULL);
	check_that(tid > 0 && tid != getpid(), "another thread has an id of its own");
	pid = fork();
	if (pid == 0)
		_exit(syscall(SYS_gettid) == getpid() && getpid() != tid ? 0 : 1);
	check_that(pid != tid, "tasks and threads share one space of ids");
	check_returns("gettid of a forked child", WEXITSTATUS(status_of(pid)), 0);
}

static void check_clone_ids(void)
{
	unsigned long flags = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD;
	static volatile int parent_tid, child_tid;
	long pid;

	fflush(stdout);
	pid = syscall(SYS_clone, flags, 0, &parent_tid, &child_tid, 0);
	if (pid == 0)
		_exit(child_tid == syscall(SYS_gettid) ? 0 : 1);
	check_returns("PARENT_SETTID", parent_tid, pid);
	check_returns("CHILD_SETTID in the parent", child_tid, 0);
	check_returns("CHILD_SETTID in the child", WEXITSTATUS(status_of((pid_t)pid)), 0);
}

/* ---- vfork -------------------------------------------------------------------------------- */

static volatile int order;

static int vfork_child(void *arg)
{
	(void)arg;
	usleep(20000);
	order = 1;
	_exit(9);
}

/* As posix_spawn does it. */
static void check_vfork_clone(void)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t pid;

	order = 0;
	pid = clone(vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	check_returns("what a CLONE_VM child stored, before the parent goes on", order, 1);
	check_returns("a CLONE_VM child", WEXITSTATUS(status_of(pid)), 9);
}

static void check_vfork(void)
{
	char *const argv[] = {"procs", "execed", "0", NULL}, *const envp[] = {NULL};
	pid_t pid;

	order = 0;
	pid = vfork();
	if (pid == 0) {
		order = 2;
		execve(self, argv, envp);
		_exit(1);
	}
	check_returns("what a vfork child stored before exec", order, 2);
	check_returns("a vfork child that execs", WEXITSTATUS(status_of(pid)), EXECED_OK);
	pid = vfork();
	if (pid == 0)
		_exit(4);
	check_returns("a vfork child that exits", WEXITSTATUS(status_of(pid)), 4);
}

/* ---- exec and exit with several threads ------------------------------------------------------ */

static void *spin_for_ever(void *arg)
{
	while (!arg)
		__builtin_ia32_pause();
	return arg;
}

static void *sleep_for_ever(void *arg)
{
	while (!arg)
		sleep(1000);
	return arg;
}

/* The new program checks that it has this process's id, as a process and as a thread. */
static void *exec_self(void *arg)
{
	char pid[16];
	char *const argv[] = {"procs", "execed", pid, NULL}, *const envp[] = {NULL};

	(void)arg;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	execve(self, argv, envp);
	_exit(1);
}

static void with_threads(void *(*fn)(void *), void *(*last)(void *))
{
	pthread_t thread;

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, i % 2 ? sleep_for_ever : fn, NULL);
	pthread_create(&thread, NULL, last, NULL);
	pthread_join(thread, NULL);
}

static void exec_in_a_thread(void)
{
	with_threads(spin_for_ever, exec_self);
}

static void exec_in_all_threads(void)
{
	with_threads(exec_self, exec_self);
}

static void *exit_all(void *arg)
{
	(void)arg;
	_exit(6);
}

static void exit_in_all_threads(void)
{
	with_threads(exit_all, exit_all);
}

static void exec_from_main(void)
{
	pthread_t thread;

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, i % 2 ? sleep_for_ever : spin_for_ever, NULL);
	exec_self(NULL);
}

static void check_threads(void)
{
	for (int i = 0; i < 5; i++) {
		expect_exit("exec in a thread", exec_in_a_thread, EXECED_OK);
		expect_exit("exec in the first of several threads", exec_from_main, EXECED_OK);
		expect_exit("exec in all threads at once", exec_in_all_threads, EXECED_OK);
		expect_exit("exit_group in all threads at once", exit_in_all_threads, 6);
	}
}

/* A process that is on its way out is killed: why it ended stays as it was. */
static void check_killed_at_exit(void)
{
	const size_t bytes = 24 << 20;
	int status = -1;
	pid_t pid;

	*shared = 1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1,
		       bytes);
		*shared = 0;
		syscall(SYS_exit, 8);
	}
	while (*shared)
		__builtin_ia32_pause();
	usleep(3000);
	while (waitpid(pid, &status, WNOHANG) == 0)
		kill(pid, SIGKILL);
	check_returns("the status of a process killed while it exits", status, 8 << 8);
}

/* ---- Which -------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	self = strchr(argv[0], '/') ? argv[0] : "/bin/procs";
	if (argc == 3 && strcmp(argv[1], "execed") == 0) {
		int pid = atoi(argv[2]);

		return syscall(SYS_gettid) == getpid() && (!pid || pid == getpid()) ? EXECED_OK : 1;
	}
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check_signals();
	check_kill();
	check_kill_zombie();
	check_actions();
	check_ids();
	check_clone_ids();
	check_vfork();
	check_vfork_clone();
	check_threads();
	check_killed_at_exit();
	return check_done(PROGRAM);
}
