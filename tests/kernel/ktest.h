/*
 * ktest.h - tests that run inside the kernel, on all CPUs, and report in KTAP.
 *
 * KTEST(name) { ... } registers a test; KT_EXPECT checks and goes on, so that one run shows every
 * failure. The command line word `ktest` runs them all instead of starting user programs;
 * `ktest=NAME` runs one.
 */
#pragma once

#include "kernel/types.h"

struct ktest {
	const char *name;
	void (*run)(void);
};

#define KTEST(test_name)                                                                           \
	static void test_name(void);                                                               \
	static const struct ktest ktest_##test_name __attribute__((used, section("ktests"))) = {   \
		#test_name, test_name};                                                            \
	static void test_name(void)

#define KT_EXPECT(cond, ...)                                                                       \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ktest_fail(__FILE__, __LINE__, #cond, " " __VA_ARGS__);                     \
	} while (0)

void ktest_fail(const char *file, int line, const char *cond, const char *fmt, ...) __printf(4, 5);

/*
 * A numbered kernel thread per online CPU runs fn(cpu), pinned there; returns when all have ended.
 */
void ktest_on_each_cpu(void (*fn)(u64 cpu));

/*
 * Wait, asleep, until cond holds; for conditions that other threads surely bring about. The
 * sleep grows until it is longer than what waking costs on the slowest emulator: else nobody below
 * this priority gets on.
 */
#define KT_WAIT_FOR(cond)                                                                          \
	for (u64 ns_ = 20 * NSEC_PER_USEC; !(cond); ns_ = MIN(2 * ns_, NSEC_PER_MSEC))             \
	sleep_until(clock_ns() + ns_)

/* A small generator with a fixed seed per caller: the same numbers in every run. */
u64 ktest_random(u64 *state);

unsigned ktest_run_all(void);
