/* ktest.c - running the in-kernel tests and reporting them (see ktest.h). */
#include "tests/kernel/ktest.h"
#include "drivers/clock.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/thread.h"

extern const struct ktest __start_ktests[], __stop_ktests[];

static u32 failures; /* of the test that runs */

void ktest_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	atomic_inc(&failures);
	kprintf("# %s:%d: expected %s %s\n", file, line, cond, text);
}

struct pinned {
	void (*fn)(u64 cpu);
	u32 left;
};

struct pinned_arg {
	struct pinned *job;
	u64 cpu;
};

static struct pinned_arg args[NR_CPUS];

static void run_pinned(void *arg)
{
	struct pinned_arg *a = arg;
	struct pinned *job = a->job;

	sched_set_affinity(current, CPU_BIT(a->cpu));
	KT_EXPECT(smp_cpu_id() == a->cpu, "on cpu%u instead of cpu%lu", smp_cpu_id(), a->cpu);
	job->fn(a->cpu);
	atomic_dec(&job->left);
	thread_exit();
}

void ktest_on_each_cpu(void (*fn)(u64 cpu))
{
	struct pinned job = {fn, cpus_online()};
	unsigned cpu;

	for_each_online_cpu(cpu) {
		args[cpu] = (struct pinned_arg){&job, cpu};
		kthread_run("ktest", run_pinned, &args[cpu], PRIO_USER);
	}
	while (READ_ONCE(job.left))
		sleep_until(clock_ns() + NSEC_PER_MSEC);
}

u64 ktest_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ktest=NAME on the command line: that one alone. */
static char only[80];

static bool wanted(const struct ktest *t)
{
	return !only[0] || !strcmp(t->name, only);
}

static u64 nr_wanted(void)
{
	const struct ktest *t;
	u64 n = 0;

	for (t = __start_ktests; t < __stop_ktests; t++)
		n += wanted(t);
	return n;
}

unsigned ktest_run_all(void)
{
	const struct ktest *t;
	unsigned n = 0, failed = 0;

#ifdef GATHER_RELEASE
	pr_err("ktest: a release build has no sync points: build it without RELEASE=1\n");
	return 1;
#endif
	(void)cmdline_get("ktest", only, sizeof(only));
	kprintf("KTAP version 1\n1..%lu\n", nr_wanted());
	for (t = __start_ktests; t < __stop_ktests; t++) {
		if (!wanted(t))
			continue;
		failures = 0;
		t->run();
		n++;
		failed += failures > 0;
		kprintf("%s %u %s\n", failures ? "not ok" : "ok", n, t->name);
	}
	kprintf("# %u passed, %u failed\n", n - failed, failed);
	return n ? failed : 1;
}
