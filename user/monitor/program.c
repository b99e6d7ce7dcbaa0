/* program.c - runs a program from /bin and waits for it. */
#include "user/monitor/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#define NOT_STARTED 127 /* the shell's status for a command it cannot find */

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

bool program_run(char *const argv[])
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become(argv);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("run: %s: %s\n", argv[0], strerror(errno));
		return false;
	}
	if (WIFSIGNALED(status))
		printf("run: %s: killed by signal %d\n", argv[0], WTERMSIG(status));
	else
		printf("run: %s: exit %d\n", argv[0], WEXITSTATUS(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
