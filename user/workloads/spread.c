/*
 * spread.c - many processes that only spin: each gets about the same share of the CPUs. How many
 * there are on each CPU, where the kernel tells (Gather), is printed too.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/gather.h"

#define PROGRAM  "spread"
#define MAX      1000
#define MAX_CPUS 64

static const char usage[] =
	"usage: spread [-n N] [--ms N] [--idle]\n"
	"  N processes (4 for each CPU) that spin, or only sleep, for N ms (500)\n";

static volatile int *stop;
static bool idle;
static struct info_task tasks[2 * MAX];

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

static void spin(double *result)
{
	while (!*stop)
		if (idle)
			usleep(100000);
		else
			__builtin_ia32_pause();
	*result = cpu_ms();
	_exit(0);
}

/* The largest and the smallest number of our children on a CPU; false where nobody tells. */
static int count_on_cpus(unsigned int cpus, unsigned int *least, unsigned int *most)
{
	unsigned int on[MAX_CPUS] = {0}, i;
	long bytes = gather_info(INFO_TASKS, tasks, sizeof(tasks));

	if (bytes < 0)
		return 0;
	for (i = 0; i < (unsigned long)bytes / sizeof(tasks[0]); i++)
		if (tasks[i].ppid == (unsigned int)getpid() && tasks[i].cpu < MAX_CPUS)
			on[tasks[i].cpu]++;
	*least = MAX;
	*most = 0;
	for (i = 0; i < cpus; i++) {
		*least = on[i] < *least ? on[i] : *least;
		*most = on[i] > *most ? on[i] : *most;
	}
	return 1;
}

int main(int argc, char **argv)
{
	unsigned int cpus = cpus_usable(), n = 4 * cpus, ms = 500, i, least = 0, most = 0;
	const struct args_option options[] = {
		{.name = "-n", .number = &n, .min = 1, .max = MAX},
		{.name = "--ms", .number = &ms, .min = 1, .max = 100000},
		{.name = "--idle", .flag = &idle},
		{0},
	};
	double *used, low = 1e9, high = 0;

	args_take_all(PROGRAM, usage, options, argc, argv);
	stop = mmap(NULL, 4096 + MAX * sizeof(*used), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	used = (double *)((char *)stop + 4096);
	fflush(stdout);
	for (i = 0; i < n; i++)
		if (fork() == 0)
			spin(&used[i]);
	usleep(ms * 1000);
	count_on_cpus(cpus, &least, &most);
	*stop = 1;
	while (wait(NULL) > 0)
		;
	for (i = 0; i < n; i++) {
		low = used[i] < low ? used[i] : low;
		high = used[i] > high ? used[i] : high;
	}
	printf("RESULT workload=spread cpus=%u processes=%u least_on_a_cpu=%u most_on_a_cpu=%u "
	       "least_cpu_ms=%.1f most_cpu_ms=%.1f\n", cpus, n, least, most, low, high);
	return EXIT_VERIFIED;
}
