/*
 * main.c - runs scenarios and says in TAP what came of them.
 *
 *   model                    all, each up to its bound
 *   model [-b N] NAME...     these; with another bound on preemptions
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

static const struct scenario *const groups[] = {llist_scenarios, shootdown_scenarios,
						batch_scenarios};

static bool wanted(const struct scenario *which, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(which->name, *names))
			return true;
	return false;
}

/* In a process of its own: a violation leaves everything as it is. */
static bool run_scenario(const struct scenario *which, unsigned number, int bound)
{
	struct timespec start, end;
	int status;
	pid_t child;

	clock_gettime(CLOCK_MONOTONIC, &start);
	printf("# %s: %s\n#   ", which->name, which->about);
	fflush(stdout);
	child = fork();
	if (!child)
		explore(which, bound < 0 ? which->bound : (unsigned)bound, false);
	if (child < 0 || waitpid(child, &status, 0) != child)
		status = -1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf(", %.1f s\n%s %u %s\n",
	       (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9,
	       status ? "not ok" : "ok", number, which->name);
	return status == 0;
}

int main(int argc, char **argv)
{
	const struct scenario *which;
	unsigned i, number = 0, failed = 0;
	int bound = -1;

	if (argc > 2 && !strcmp(argv[1], "-b")) {
		bound = atoi(argv[2]);
		argv += 2;
	}
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (which = groups[i]; which->name; which++)
			if (wanted(which, argv + 1))
				failed += !run_scenario(which, ++number, bound);
	printf("1..%u\n", number);
	return failed || !number;
}
