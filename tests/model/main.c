/*
 * main.c - runs scenarios and says in TAP what came of them.
 *
 *   model                    all, each up to its bound
 *   model [-b N] NAME...     these; with another bound on preemptions
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

static const struct scenario *const groups[] = {llist_scenarios, shootdown_scenarios,
						batch_scenarios};
static u64 *explored; /* in all scenarios; shared with the processes that run them */

static bool wanted(const struct scenario *which, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(which->name, *names))
			return true;
	return false;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In a process of its own: a violation leaves everything as it is. */
static bool run_scenario(const struct scenario *which, unsigned number, int bound)
{
	double start = seconds();
	int status = 1;
	pid_t child;

	printf("# %s: %s\n", which->name, which->about);
	fflush(stdout);
	child = fork();
	if (!child) {
		*explored += explore(which, bound < 0 ? which->bound : (unsigned)bound);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		status = 1;
	printf("%s %u %s # %.1f s\n", status ? "not ok" : "ok", number, which->name,
	       seconds() - start);
	return status == 0;
}

int main(int argc, char **argv)
{
	const struct scenario *which;
	unsigned i, number = 0, failed = 0;
	double start = seconds();
	int bound = -1;

	explored = mmap(NULL, sizeof(*explored), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (explored == MAP_FAILED)
		return 1;
	if (argc > 2 && !strcmp(argv[1], "-b")) {
		bound = atoi(argv[2]);
		argv += 2;
	}
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (which = groups[i]; which->name; which++)
			if (wanted(which, argv + 1))
				failed += !run_scenario(which, ++number, bound);
	printf("# total: %lu interleavings of %u scenarios, %.0f s\n1..%u\n", *explored, number,
	       seconds() - start, number);
	return failed || !number;
}
