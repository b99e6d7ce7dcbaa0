/*
 * cyclic.c - how late a thread wakes from a sleep until a given time, in cyclictest's manner: seen
 * from user mode, with the system calls that Linux has. The same source runs there.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/lib/args.h"

#define PROGRAM   "cyclic"
#define PERIOD_NS 1000000LL
#define SECOND_NS 1000000000LL

static const char usage[] = "usage: cyclic [SAMPLES]    one a millisecond, 1000\n";

static long long ns_of(const struct timespec *t)
{
	return (long long)t->tv_sec * SECOND_NS + t->tv_nsec;
}

/* Linux runs it above all others if it may; Gather does so anyway. */
static void ask_for_priority(void)
{
	struct sched_param highest = { .sched_priority = 99 };

	if (sched_setscheduler(0, SCHED_FIFO, &highest) && errno != ENOSYS)
		fprintf(stderr, PROGRAM ": without real-time priority: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	uint64_t samples = 1000;
	long long sum = 0, max = 0, next, late;
	struct timespec t;

	if (argc > 2) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (argc > 1)
		samples = args_number(PROGRAM, "samples", argv[1], 1, 1 << 24);
	ask_for_priority();
	clock_gettime(CLOCK_MONOTONIC, &t);
	next = ns_of(&t) + PERIOD_NS;
	for (uint64_t i = 0; i < samples; i++) {
		t = (struct timespec){ .tv_sec = next / SECOND_NS, .tv_nsec = next % SECOND_NS };
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) {
			fprintf(stderr, PROGRAM ": clock_nanosleep fails\n");
			return EXIT_BROKEN;
		}
		clock_gettime(CLOCK_MONOTONIC, &t);
		late = ns_of(&t) - next;
		sum += late;
		max = late > max ? late : max;
		next += (late / PERIOD_NS + 1) * PERIOD_NS;
	}
	printf("RESULT exp=cyclic samples=%llu avg_ns=%lld max_ns=%lld\n",
	       (unsigned long long)samples, sum / (long long)samples, max);
	return EXIT_VERIFIED;
}
