/* rights.c - what a program may not do without the handle for it. Gather only. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/check.h"
#include "user/lib/gather.h"

#define PROGRAM "rights"

static int exit_code(pid_t pid)
{
	int status = 0;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* A child runs fn(arg), whose failures are counted in its exit status. */
static int in_child(int (*fn)(int arg), int arg)
{
	pid_t pid;
	int code;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		code = fn(arg);
		fflush(stdout);
		_exit(code);
	}
	return exit_code(pid);
}

static void pause_for_ever(void)
{
	for (;;)
		sleep(1000);
}

/*
 * A pager receives calls with the kernel's badge: who only calls the endpoint could bring them
 * about for pages and offsets that the receiver never heard of.
 */
static int make_object(int endpoint)
{
	check_fails("object_create without the receiving end", gather_object_create(endpoint, 1, 4096),
		    EPERM);
	check_fails("ipc_recv without the receiving end",
		    gather_ipc_recv(endpoint, &(struct ipc_msg){.handle = IPC_NO_HANDLE}), EPERM);
	return check_done(PROGRAM);
}

static void check_pagers(void)
{
	int endpoint = (int)syscall(SYS_endpoint_create);
	int minted = (int)syscall(SYS_handle_mint, endpoint, 7);
	int object = gather_object_create(endpoint, 1, 4096);

	check_that(object >= 0, "a receiver makes objects");
	check_fails("object_create with a minted handle", gather_object_create(minted, 1, 4096), EPERM);
	check_fails("minting the kernel's badge", syscall(SYS_handle_mint, endpoint, IPC_BADGE_KERNEL),
		    EPERM);
	check_fails("object_create with an object", gather_object_create(object, 1, 4096), EBADF);
	check_returns("a child that inherited an endpoint", in_child(make_object, endpoint), 0);
}

/*
 * Control of the machine is a handle, and nobody gave us one. Last what would succeed otherwise: it
 * would end the run.
 */
static void check_control(void)
{
	struct vmtest t = {.kind = VMTEST_fix_size_alloc, .threads = 1, .rounds = 1};
	pid_t parent = getppid();

	check_fails("handle_inherit of nothing", gather_handle_inherit(63, true), EBADF);
	check_fails("handle_inherit of an endpoint",
		    gather_handle_inherit((int)syscall(SYS_endpoint_create), true), EINVAL);
	check_fails("a vmtest without control", gather_vmtest(&t), EPERM);
	check_fails("a policy without control", gather_control(CONTROL_TLB_POLICY, (uintptr_t)"full", 4),
		    EPERM);
	check_fails("tracing without control", gather_control(CONTROL_TRACE, 1, 0), EPERM);
	check_fails("no operation without control", gather_control(99, 0, 0), EPERM);
	check_fails("kill of the parent, 0", kill(parent, 0), EPERM);
	check_fails("kill of the file server", kill(1, SIGTERM), EPERM);
	check_fails("tkill of the parent", syscall(SYS_tkill, parent, SIGTERM), EPERM);
	check_fails("tgkill of the parent", syscall(SYS_tgkill, parent, parent, SIGTERM), EPERM);
	check_fails("kill of all there are, and none is ours", kill(-1, SIGTERM), ESRCH);
	check_fails("kill of the parent", kill(parent, SIGKILL), EPERM);
	check_fails("power off without control", gather_control(CONTROL_POWEROFF, 0, 0), EPERM);
}

static int kill_sibling(int sibling)
{
	check_fails("kill of a sibling", kill(sibling, SIGKILL), EPERM);
	return check_done(PROGRAM);
}

/* A child's child, whose own parent lives, is ours to kill. */
static void check_family(void)
{
	volatile int *grandchild = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		pid_t pid = fork();

		if (pid == 0)
			pause_for_ever();
		*grandchild = pid;
		wait(NULL);
		_exit(11);
	}
	check_returns("a child that kills its sibling", in_child(kill_sibling, child), 0);
	while (!*grandchild)
		usleep(1000);
	check_returns("kill of a grandchild", kill(*grandchild, SIGTERM), 0);
	check_returns("its parent goes on", exit_code(child), 11);
}

int main(void)
{
	check_pagers();
	check_family();
	check_control();
	return check_done(PROGRAM);
}
