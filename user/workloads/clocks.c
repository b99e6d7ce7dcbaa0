/*
 * clocks.c - clocks, timeouts and CPU time: which clocks there are, what is refused, what is waited
 * for, and that a process that sleeps uses no CPU time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "user/lib/check.h"

#define PROGRAM    "clocks"
#define MSEC       1000000LL
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

typedef long long ns_t;

static ns_t now(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- Clocks ------------------------------------------------------------------------------- */

static void check_clocks(void)
{
	static const clockid_t good[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
					 CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW,
					 CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME};
	static const long bad[] = {99, 64, 1L << 31, 12};
	struct timespec t;
	unsigned int i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		check_returns("clock_gettime", syscall(SYS_clock_gettime, good[i], &t), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_fails("clock_gettime of no clock", syscall(SYS_clock_gettime, bad[i], &t), EINVAL);
	check_fails("clock_gettime, bad pointer", syscall(SYS_clock_gettime, CLOCK_MONOTONIC, 8), EFAULT);
	check_fails("clock_nanosleep of no clock",
		    syscall(SYS_clock_nanosleep, 99, 0, &(struct timespec){0}, NULL), EINVAL);
	check_that(syscall(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &(struct timespec){0}, NULL) != 0,
		   "nobody sleeps by a thread's CPU time");
}

/* ---- Timeouts ----------------------------------------------------------------------------- */

static void check_bad_timeouts(void)
{
	static const struct timespec bad[] = {{-1, 0}, {0, -1}, {0, 1000000000}, {LONG_MIN, 0},
					      {0, LONG_MAX}};
	uint32_t word = 0;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_fails("futex, bad timeout", syscall(SYS_futex, &word, FUTEX_WAIT, 0, &bad[i]), EINVAL);
		check_fails("nanosleep, bad time", syscall(SYS_nanosleep, &bad[i], NULL), EINVAL);
		check_fails("clock_nanosleep, bad time",
			    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &bad[i], NULL), EINVAL);
	}
	check_fails("futex, timeout at a bad pointer", syscall(SYS_futex, &word, FUTEX_WAIT, 0, 8), EFAULT);
	check_fails("futex, time is up",
		    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &(struct timespec){0, 1000}), ETIMEDOUT);
	check_fails("futex, other value", syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL), EAGAIN);
	check_fails("futex, odd address", syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 0, NULL), EINVAL);
}

static uint32_t gate;

static void *wait_long(void *seconds)
{
	struct timespec t = {(time_t)seconds, 999999999};

	return (void *)syscall(SYS_futex, &gate, FUTEX_WAIT, 0, &t);
}

/* These times in nanoseconds are past 2^63, 2^64 or just below: nobody may wake early. */
static void check_long_timeouts(void)
{
	static const long seconds[] = {LONG_MAX, LONG_MAX / 1000000000, 18446744073, 18446744074,
				       9223372036};
	pthread_t thread;
	unsigned int i;
	void *result;

	for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		pthread_create(&thread, NULL, wait_long, (void *)seconds[i]);
		usleep(20000);
		check_returns("a wake of one that waits for centuries",
			      syscall(SYS_futex, &gate, FUTEX_WAKE, 1), 1);
		pthread_join(thread, &result);
		check_returns("a wait for centuries", (long)result, 0);
	}
}

static void check_absolute(void)
{
	ns_t begin = now(CLOCK_MONOTONIC), until = now(CLOCK_REALTIME) + 30 * MSEC;
	struct timespec t = {until / 1000000000, until % 1000000000};

	check_returns("clock_nanosleep to a time of day",
		      syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL), 0);
	check_that(now(CLOCK_MONOTONIC) - begin >= 29 * MSEC, "it sleeps until then");
	t = (struct timespec){0, 1};
	check_returns("clock_nanosleep to long ago",
		      syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), 0);
}

/* ---- CPU time ----------------------------------------------------------------------------- */

static void spin_for(ns_t cpu_ns)
{
	ns_t begin = now(CLOCK_THREAD_CPUTIME_ID);

	while (now(CLOCK_THREAD_CPUTIME_ID) - begin < cpu_ns)
		;
}

static void *spin_20_ms(void *arg)
{
	spin_for(20 * MSEC);
	return arg;
}

static void check_cpu_time(void)
{
	ns_t process = now(CLOCK_PROCESS_CPUTIME_ID), thread = now(CLOCK_THREAD_CPUTIME_ID), begin;
	pthread_t other;

	usleep(200000);
	check_that(now(CLOCK_PROCESS_CPUTIME_ID) - process < 50 * MSEC, "a process that sleeps uses no CPU");
	check_that(now(CLOCK_THREAD_CPUTIME_ID) - thread < 50 * MSEC, "a thread that sleeps uses no CPU");
	begin = now(CLOCK_MONOTONIC);
	process = now(CLOCK_PROCESS_CPUTIME_ID);
	spin_for(20 * MSEC);
	check_that(now(CLOCK_MONOTONIC) - begin >= 19 * MSEC, "CPU time is not faster than time");
	check_that(now(CLOCK_PROCESS_CPUTIME_ID) - process >= 19 * MSEC, "a process's time is its threads'");
	process = now(CLOCK_PROCESS_CPUTIME_ID);
	thread = now(CLOCK_THREAD_CPUTIME_ID);
	pthread_create(&other, NULL, spin_20_ms, NULL);
	pthread_join(other, NULL);
	check_that(now(CLOCK_PROCESS_CPUTIME_ID) - process >= 19 * MSEC, "threads that ended count");
	check_that(now(CLOCK_THREAD_CPUTIME_ID) - thread < 15 * MSEC, "another thread's time is not mine");
}

int main(void)
{
	check_clocks();
	check_bad_timeouts();
	check_long_timeouts();
	check_absolute();
	check_cpu_time();
	return check_done(PROGRAM);
}
