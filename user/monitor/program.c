/* program.c - runs a program from /bin and waits for it. */
#include "user/monitor/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "user/lib/gather.h"

#define NOT_STARTED 127 /* the shell's status for a command it cannot find */

/* Programs that measure the kernel from inside get control of the machine from us; no other does. */
static const char *const controllers[] = {"purge-latency", "vmalloc-test", "vmtest-args", NULL};

static bool gets_control(const char *name)
{
	for (int i = 0; controllers[i]; i++)
		if (strcmp(name, controllers[i]) == 0)
			return true;
	return false;
}

static pid_t fork_for(const char *name)
{
	bool control = gets_control(name);
	pid_t pid;

	if (control)
		gather_handle_inherit(BOOT_HANDLE_CONTROL, true);
	pid = fork();
	if (control && pid != 0)
		gather_handle_inherit(BOOT_HANDLE_CONTROL, false);
	return pid;
}

static void become(char *const argv[])
{
	static char *const environment[] = { NULL };
	char path[256];

	snprintf(path, sizeof(path), "%s%s", strchr(argv[0], '/') ? "" : "/bin/", argv[0]);
	execve(path, argv, environment);
	printf("run: %s: %s (try `ls /bin`)\n", path, strerror(errno));
	fflush(stdout);
	_exit(NOT_STARTED);
}

#define MAX_BACKGROUND 16

/* Programs that were started with & and not reported yet. */
static struct {
	pid_t pid;
	char name[32];
} background[MAX_BACKGROUND];

static bool report(const char *name, int status)
{
	if (WIFSIGNALED(status))
		printf("run: %s: killed by signal %d\n", name, WTERMSIG(status));
	else
		printf("run: %s: exit %d\n", name, WEXITSTATUS(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool remember(pid_t pid, const char *name)
{
	for (int i = 0; i < MAX_BACKGROUND; i++) {
		if (background[i].pid)
			continue;
		background[i].pid = pid;
		snprintf(background[i].name, sizeof(background[i].name), "%s", name);
		printf("run: %s: pid %d in the background\n", name, (int)pid);
		return true;
	}
	printf("run: %s: already %d programs in the background\n", name, MAX_BACKGROUND);
	return false;
}

bool program_reap(bool wait)
{
	bool ok = true;
	int status;

	for (int i = 0; i < MAX_BACKGROUND; i++) {
		pid_t pid = background[i].pid;

		if (!pid || waitpid(pid, &status, wait ? 0 : WNOHANG) != pid)
			continue;
		background[i].pid = 0;
		ok &= report(background[i].name, status);
	}
	return ok;
}

static int count(char *const argv[])
{
	int n = 0;

	while (argv[n])
		n++;
	return n;
}

bool program_run(char *argv[])
{
	int last = count(argv) - 1, status;
	bool stay = last < 1 || strcmp(argv[last], "&") != 0;
	pid_t pid;

	if (!stay)
		argv[last] = NULL;
	fflush(stdout);
	pid = fork_for(argv[0]);
	if (pid == 0)
		become(argv);
	if (pid > 0 && !stay)
		return remember(pid, argv[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("run: %s: %s\n", argv[0], strerror(errno));
		return false;
	}
	return report(argv[0], status);
}
