/* crew.c - a number of processes that do one job together. */
#define _GNU_SOURCE
#include "user/lib/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"

struct crew {
	const char *program;
	struct barrier *barrier;
	unsigned int started;
	pid_t pid[CREW_MAX]; /* 0 once waited for */
	int worst;
};

void *shared_alloc(const char *program, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "%s: no shared memory: %s\n", program, strerror(errno));
		exit(EXIT_BROKEN);
	}
	return p;
}

static void disband(struct crew *crew)
{
	if (crew->worst == EXIT_BROKEN)
		return; /* done before */
	crew->worst = EXIT_BROKEN;
	if (crew->barrier)
		barrier_break(crew->barrier);
	for (unsigned int i = 0; i < crew->started; i++)
		if (crew->pid[i] > 0)
			kill(crew->pid[i], SIGKILL);
}

static void start_member(struct crew *crew, crew_job job, void *argument)
{
	unsigned int member = crew->started;
	pid_t pid = fork();

	if (pid == 0) {
		if (cpus_pin(member) != 0)
			fprintf(stderr, "%s: process %u is not pinned: %s\n", crew->program, member,
				strerror(errno));
		exit(job(member, argument));
	}
	if (pid < 0) {
		fprintf(stderr, "%s: cannot start process %u: %s\n", crew->program, member,
			strerror(errno));
		disband(crew);
		return;
	}
	crew->pid[crew->started++] = pid;
}

static int member_of(const struct crew *crew, pid_t pid)
{
	for (unsigned int i = 0; i < crew->started; i++)
		if (crew->pid[i] == pid)
			return (int)i;
	return -1;
}

/* Once the crew is being killed, further deaths are no news. */
static void member_ended(struct crew *crew, unsigned int member, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BROKEN;

	crew->pid[member] = 0;
	if (crew->worst == EXIT_BROKEN || code == EXIT_VERIFIED)
		return;
	if (code == EXIT_BAD_DATA) {
		crew->worst = EXIT_BAD_DATA;
		return;
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: process %u was killed by signal %d\n", crew->program, member,
			WTERMSIG(status));
	else
		fprintf(stderr, "%s: process %u failed with status %d\n", crew->program, member,
			code);
	disband(crew);
}

static void wait_for_all(struct crew *crew)
{
	unsigned int running = crew->started;

	while (running > 0) {
		int status, member;
		pid_t pid = wait4(-1, &status, 0, NULL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0) {
			fprintf(stderr, "%s: lost %u processes: %s\n", crew->program, running,
				strerror(errno));
			disband(crew);
			return;
		}
		member = member_of(crew, pid);
		if (member < 0)
			continue;
		member_ended(crew, (unsigned int)member, status);
		running--;
	}
}

int crew_run(const char *program, unsigned int members, crew_job job, void *argument,
	     struct barrier *barrier)
{
	struct crew crew = { .program = program, .barrier = barrier };

	/*
	 * Whatever happens to the file server, this process must live to see its crew end: its
	 * pages stay in memory. Where that is refused it runs all the same.
	 */
	(void)mlockall(MCL_CURRENT);
	fflush(stdout); /* or every child would print what is still buffered */
	while (crew.started < members && crew.worst != EXIT_BROKEN)
		start_member(&crew, job, argument);
	wait_for_all(&crew);
	return crew.worst;
}
