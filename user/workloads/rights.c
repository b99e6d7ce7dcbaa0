/* rights.c - what a program may not do without the handle for it. Gather only. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/check.h"
#include "user/lib/gather.h"

#define PROGRAM "rights"

/* A child runs fn(arg), whose failures are counted in its exit status. */
static int in_child(int (*fn)(int arg), int arg)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fflush(stdout);
		_exit(fn(arg));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
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

int main(void)
{
	check_pagers();
	return check_done(PROGRAM);
}
