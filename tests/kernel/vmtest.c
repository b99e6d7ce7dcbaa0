/*
 * vmtest.c - SYS_vmtest: vmalloc measured from inside (docs/14-vmalloc.md).
 *
 * Latency is the experiment of the patch that took the spinlock out of the purge (2016): a thread
 * of the highest priority wakes every millisecond while others vmalloc and vfree 8 KiB in a loop;
 * how late is it? Throughput: the cases of Linux's lib/test_vmalloc.c. Under `-icount` both are
 * exact: time is instructions. Frames are freed early here, so that a backlog of addresses needs no
 * memory.
 */
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/lib.h"
#include "kernel/sched.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"
#include "tests/kernel/ktest.h"

#define PRIO_SAMPLER (NR_PRIORITIES - 1)
#define PRIO_WORKER  (PRIO_USER - 1) /* so that a program's own sampler comes first, too */
#define PERIOD_NS    NSEC_PER_MSEC
#define MAX_TOP      32 /* the largest samples, for p99.9 of up to so many thousand */
#define BUSY_AREAS   400

_Static_assert(VMTEST_MAX_SAMPLES / 1000 < MAX_TOP, "p99.9 is among the largest");

struct run {
	struct vmtest t; /* what was asked for, and results that begin with 0 */
	u64 top[MAX_TOP]; /* in descending order */
	u32 running;
	u64 end_ns; /* when the last of them ended */
	bool stop;
};

/* ---- Counting -------------------------------------------------------------------------------- */

/* Adds sign times what all CPUs have counted. */
static void count(struct vmtest *t, u64 sign)
{
	unsigned cpu;

	for_each_online_cpu(cpu) {
		const struct tlb_counters *c = &cpus[cpu].stat.tlb[TLB_VMALLOC];

		t->icr += sign * c->icr;
		t->targets += sign * c->targets;
		t->flushes += sign * c->flushes;
	}
	t->purges += sign * vm_event_sum(VM_vmap_purges);
}

static struct wait_queue ended; /* of the one run there is; outlives it */

static void __noreturn end(struct run *run)
{
	WRITE_ONCE(run->end_ns, clock_ns());
	atomic_dec(&run->running);
	wake_up_all(&ended);
	thread_exit();
}

/* ---- Latency --------------------------------------------------------------------------------- */

static void add_sample(struct run *run, u64 ns)
{
	unsigned i = MAX_TOP;

	run->t.samples++;
	run->t.sum_ns += ns;
	run->t.histogram[MIN(63 - (unsigned)__builtin_clzl(ns | 1), VMTEST_BUCKETS - 1u)]++;
	for (; i > 0 && run->top[i - 1] < ns; i--)
		if (i < MAX_TOP)
			run->top[i] = run->top[i - 1];
	if (i < MAX_TOP)
		run->top[i] = ns;
}

static bool enough(const struct run *run, u64 purges_before)
{
	if (READ_ONCE(run->stop))
		return true;
	return run->t.samples >= run->t.rounds &&
	       (run->t.samples >= VMTEST_MAX_SAMPLES ||
		vm_event_sum(VM_vmap_purges) - purges_before > run->t.min_purges);
}

static void sample(void *arg)
{
	u64 purges = vm_event_sum(VM_vmap_purges), next = clock_ns() + PERIOD_NS, now;
	struct run *run = arg;

	/* Until the first purge areas are made and no backlog is met. */
	for (; vm_event_sum(VM_vmap_purges) == purges && run->t.min_purges && !READ_ONCE(run->stop);
	     next += PERIOD_NS)
		sleep_until(next);
	next = clock_ns() + PERIOD_NS;
	while (!enough(run, purges)) {
		sleep_until(next);
		now = clock_ns();
		add_sample(run, now - next);
		next += (now - next) / PERIOD_NS * PERIOD_NS + PERIOD_NS;
	}
	ASSERT(run->t.samples / 1000 < MAX_TOP, "%lu samples", run->t.samples);
	run->t.max_ns = run->top[0];
	run->t.p999_ns = run->top[run->t.samples / 1000];
	WRITE_ONCE(run->stop, true);
	end(run);
}

static void work(void *arg)
{
	struct run *run = arg;
	u64 seed = smp_cpu_id() + 1, operations = 0;
	size_t size = 2 * PAGE_SIZE;
	void *area;

	while (!READ_ONCE(run->stop)) {
		if (run->t.kind == VMTEST_LATENCY_RANDOM)
			size = (1 + ktest_random(&seed) % 32) * PAGE_SIZE;
		area = vmalloc(size);
		if (!area)
			atomic_inc(&run->t.failed);
		vfree(area);
		operations++;
	}
	(void)atomic_add_fetch(&run->t.operations, operations);
	end(run);
}

/* ---- Throughput ------------------------------------------------------------------------------ */

static bool once(size_t size, size_t align)
{
	void *area = vmalloc_align(size, align);

	vfree(area);
	return area;
}

static bool fix_size_alloc(u64 *seed)
{
	(void)seed;
	return once(3 * PAGE_SIZE, 1);
}

static bool full_fit_alloc(u64 *seed)
{
	(void)seed;
	return once(PAGE_SIZE, 1);
}

static bool long_busy_list_alloc(u64 *seed)
{
	void *large = vmalloc(100 * PAGE_SIZE), *small = vmalloc(PAGE_SIZE);

	(void)seed;
	vfree(large);
	vfree(small);
	return large && small;
}

static bool random_size_alloc(u64 *seed)
{
	return once((1 + ktest_random(seed) % 100) * PAGE_SIZE, 1);
}

static bool fix_align_alloc(u64 *seed)
{
	(void)seed;
	return once(5 * PAGE_SIZE, 32 * KIB);
}

static bool random_size_align_alloc(u64 *seed)
{
	u64 random = ktest_random(seed) % 23;

	return once((random % 10 + 1) * PAGE_SIZE, BIT(random));
}

/* Linux goes up to 2^63, where it fails. Here up to 1 GiB: 64 such places for all threads. */
static bool align_shift_alloc(u64 *seed)
{
	return once(PAGE_SIZE, BIT((*seed)++ % 31));
}

static bool (*const cases[])(u64 *seed) = {
#define X(name) [VMTEST_##name] = name,
	VMTEST_CASES(X)
#undef X
};

/* Areas that stay meanwhile; with holes of one page and its guard, or without. */
static u32 make_busy(void **busy, bool holes)
{
	u32 i;

	for (i = 0; i < BUSY_AREAS && (busy[i] = vmalloc(PAGE_SIZE)); i++)
		;
	for (; holes && i > 1; i -= MIN(i, 2u)) {
		vfree(busy[i - 1]);
		busy[i - 1] = NULL;
	}
	return BUSY_AREAS;
}

static void measure(void *arg)
{
	struct run *run = arg;
	u64 seed = smp_cpu_id() + 1, done;
	u32 kind = run->t.kind, n = 0, i;
	void **busy = NULL;

	if (kind == VMTEST_full_fit_alloc || kind == VMTEST_long_busy_list_alloc)
		busy = vzalloc(BUSY_AREAS * sizeof(*busy));
	if (busy)
		n = make_busy(busy, kind == VMTEST_full_fit_alloc);
	for (done = 0; done < run->t.rounds && !READ_ONCE(run->stop); done++)
		if (!cases[kind](&seed))
			atomic_inc(&run->t.failed);
	for (i = 0; i < n; i++)
		vfree(busy[i]);
	vfree(busy);
	(void)atomic_add_fetch(&run->t.operations, done);
	end(run);
}

/* ---- Around them ----------------------------------------------------------------------------- */

/* Without one of them the others would run for ever, or measure something else: all stop. */
static void start(struct run *run, const char *name, void (*fn)(void *), u8 prio, unsigned cpu)
{
	struct thread *t = thread_create(name, fn, run, prio, NULL, NULL);

	if (!t) {
		atomic_inc(&run->t.failed);
		WRITE_ONCE(run->stop, true);
		return;
	}
	atomic_inc(&run->running);
	sched_set_affinity(t, CPU_BIT(cpu));
	thread_start(t);
}

/* Thread n's CPU: all online ones in turn. */
static unsigned cpu_of(unsigned n)
{
	cpumask_t left = READ_ONCE(cpu_online_mask);

	for (n %= cpus_online(); n; n--)
		left &= left - 1;
	return cpumask_first(left);
}

static void run_threads(struct run *run)
{
	bool latency = run->t.kind <= VMTEST_LATENCY_RANDOM;
	u64 begin = clock_ns();
	unsigned i;

	count(&run->t, -1ul);
	for (i = 0; i < run->t.threads; i++)
		start(run, "vmtest", latency ? work : measure, PRIO_WORKER, cpu_of(i));
	if (latency)
		start(run, "sampler", sample, PRIO_SAMPLER, cpu_of(0));
	if (wait_event_killable(&ended, !READ_ONCE(run->running))) {
		WRITE_ONCE(run->stop, true);
		wait_event(&ended, !READ_ONCE(run->running));
	}
	run->t.elapsed_ns = run->end_ns - begin;
	count(&run->t, 1);
	run->t.lazy_peak_pages = vmap_lazy_peak;
}

/* With the settings it asks for; afterwards they are as before. */
static s64 run_with_settings(struct run *run)
{
	const char *policy = purge_policy_name();
	u64 max = lazy_max_pages;
	bool held = vmap_frames_held;

	if (run->t.policy[0] && purge_policy_set(run->t.policy))
		return -EINVAL;
	vm_unmap_aliases();
	if (run->t.lazy_max_pages)
		lazy_max_pages = run->t.lazy_max_pages;
	vmap_frames_held = false;
	vmap_lazy_peak = 0;
	run_threads(run);
	vmap_frames_held = held;
	lazy_max_pages = max;
	vm_unmap_aliases();
	return purge_policy_set(policy);
}

static bool within_limits(const struct vmtest *t)
{
	bool latency = t->kind <= VMTEST_LATENCY_RANDOM;

	return t->kind < NR_VMTESTS && t->threads && t->threads <= VMTEST_MAX_THREADS &&
	       t->lazy_max_pages <= VMTEST_MAX_PAGES && t->min_purges <= VMTEST_MAX_PURGES &&
	       t->rounds && t->rounds <= (latency ? VMTEST_MAX_SAMPLES : VMTEST_MAX_ROUNDS);
}

/* Of the caller's struct only what it asks for is read: all results begin with 0. */
static int read_request(struct vmtest *t, u64 buf)
{
	struct vmtest asked;

	if (copy_from_user(&asked, buf, offsetof(struct vmtest, samples)))
		return -EFAULT;
	*t = (struct vmtest){
		.kind = asked.kind,
		.threads = asked.threads,
		.lazy_max_pages = asked.lazy_max_pages,
		.rounds = asked.rounds,
		.min_purges = asked.min_purges,
	};
	memcpy(t->policy, asked.policy, sizeof(t->policy) - 1);
	return within_limits(t) ? 0 : -EINVAL;
}

static s64 run_as_asked(u64 buf)
{
	struct run *run = kzalloc(sizeof(*run));
	s64 err;

	if (!run)
		return -ENOMEM;
	err = read_request(&run->t, buf);
	if (!err)
		err = run_with_settings(run);
	if (!err && copy_to_user(buf, &run->t, sizeof(run->t)))
		err = -EFAULT;
	kfree(run);
	return err;
}

/* One at a time: they share the settings, and refcount's defect would be the others'. */
s64 sys_vmtest(u64 buf)
{
	static bool running;
	s64 err;

	if (!handle_has_control(current->task))
		return -EPERM;
	if (xchg(&running, true))
		return -EBUSY;
	wait_queue_init(&ended);
	err = run_as_asked(buf);
	store_release(&running, false);
	return err;
}
