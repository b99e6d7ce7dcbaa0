/*
 * test_purge.c - purges that meet: each other, those who need what they hold, those who free
 * faster. `purge=refcount` on the command line shows what the patch of 2016 got wrong: two of these
 * tests fail then, and in the third the sanitizer stops the kernel. The faults caught here are in
 * tests/exhibits.
 */
#include "arch/cpu.h"
#include "drivers/clock.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/page_alloc.h"
#include "mm/vmalloc.h"
#include "mm/vmap.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

static void purge_beside(void *unused)
{
	(void)unused;
	vm_unmap_aliases();
	end_beside();
}

/* A purge on another CPU has got to the point. */
static void hold_purge(enum sync_point point)
{
	pause_at(point, other_cpu(0));
	start_on(other_cpu(0), purge_beside, 0, NULL);
	KT_WAIT_FOR(paused_at(point));
}

static void allocate_beside(void *bytes)
{
	struct vmap_area *area = alloc_vmap_area((u64)bytes, PAGE_SIZE);

	if (!area)
		atomic_inc(&wrong);
	else
		free_vmap_area_lazy(area);
	end_beside();
}

/*
 * One purge stands with the list taken and nothing flushed. Another, that must be sure, has to wait
 * for it; refcount's finds an empty list and returns. (Exhibit 21.)
 */
static void meet_unflushed(void)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);

	ended = 0;
	vunmap(vmap(&page, 1));
	hold_purge(SYNC_purge_taken);
	start_on(other_cpu(1), purge_beside, 0, NULL);
	sleep_until(clock_ns() + NSEC_PER_MSEC / 4);
	KT_EXPECT(READ_ONCE(ended) == 0, "purge=%s: it returned, and nothing is flushed",
		  purge_policy_name());
	release(SYNC_purge_taken);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	free_pages(page, 0);
}

KTEST(who_must_be_sure_waits_for_another_purge)
{
	if (cpus_online() >= 4)
		for_each_policy_pinned(meet_unflushed);
}

/* The same, but the other has something that was queued after the first took its list. */
static void meet_too_late(void)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);

	ended = 0;
	vunmap(vmap(&page, 1));
	hold_purge(SYNC_purge_taken);
	vunmap(vmap(&page, 1));
	start_on(other_cpu(1), purge_beside, 0, NULL); /* the sanitizer looks when it returns */
	sleep_until(clock_ns() + NSEC_PER_MSEC / 4);
	release(SYNC_purge_taken);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	free_pages(page, 0);
}

KTEST(a_purge_that_began_before_does_not_count)
{
	if (cpus_online() >= 4)
		for_each_policy_pinned(meet_too_late);
}

/*
 * The same with all addresses in the list of the first: they are about to come back. (Exhibit 23.)
 */
static void meet_hungry(void)
{
	struct vmap_area *most = take_nearly_all(0);

	wrong = ended = 0;
	most->state = VMAP_LAZY;
	purge_queue(most);
	hold_purge(SYNC_purge_flushed);
	start_on(other_cpu(1), allocate_beside, GIB, NULL);
	sleep_until(clock_ns() + NSEC_PER_MSEC / 4);
	release(SYNC_purge_flushed);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0, "purge=%s: no addresses, and all were about to come back",
		  purge_policy_name());
}

KTEST(an_allocation_waits_for_addresses_that_come_back)
{
	if (cpus_online() >= 4)
		for_each_policy_pinned(meet_hungry);
}

/* ---- Another policy -------------------------------------------------------------------------- */

static void change_beside(void *to)
{
	KT_EXPECT(purge_policy_set(to) == 0);
	vm_unmap_aliases();
	end_beside();
}

/* Each excludes others of its kind only. (Exhibit 78.) */
KTEST(a_policy_changes_when_nobody_purges)
{
	const char *before = purge_policy_name();
	struct page *page;

	if (cpus_online() < 4 || purge_policy_set("mutex"))
		return;
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	page = alloc_pages(0, GFP_KERNEL);
	ended = 0;
	vunmap(vmap(&page, 1));
	hold_purge(SYNC_purge_taken);
	start_on(other_cpu(1), change_beside, (u64)"spinlock", NULL);
	sleep_until(clock_ns() + NSEC_PER_MSEC / 4);
	KT_EXPECT(READ_ONCE(ended) == 0, "purge=%s: it returned, and nothing is flushed",
		  purge_policy_name());
	release(SYNC_purge_taken);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(purge_policy_set(before) == 0);
	free_pages(page, 0);
	sched_set_affinity(current, CPUMASK_ALL);
}

/* ---- A purger that gets little time ---------------------------------------------------------- */

#define LIMIT  300  /* lazy pages */
#define BURSTS 40   /* of 30 areas of 2 pages */

static void free_a_little(void *unused)
{
	(void)unused;
	while (READ_ONCE(phase) == 0)
		vfree(vmalloc(PAGE_SIZE));
	atomic_inc(&ended);
	thread_exit();
}

/*
 * Above the other, on its CPU: as soon as that one has begun a purge it leaves it hardly any time.
 */
static void free_in_bursts(void *unused)
{
	unsigned burst, i;

	(void)unused;
	for (burst = 0; burst < BURSTS; burst++) {
		sleep_until(clock_ns() + 10 * NSEC_PER_USEC);
		for (i = 0; i < 30; i++)
			vfree(vmalloc(PAGE_SIZE));
	}
	WRITE_ONCE(phase, 1);
	atomic_inc(&ended);
	thread_exit();
}

static void start_freeing(unsigned cpu, void (*fn)(void *), u8 prio)
{
	struct thread *t = thread_create("freeing", fn, NULL, prio, NULL, NULL);

	sched_set_affinity(t, CPU_BIT(cpu));
	thread_start(t);
}

/* The bursts begin when the other has just flushed. */
static void starve(void)
{
	unsigned cpu = other_cpu(0);
	u64 max = lazy_max_pages;

	lazy_max_pages = LIMIT;
	vmap_lazy_peak = phase = ended = 0;
	if (cpus_online() > 1)
		pause_at(SYNC_purge_flushed, cpu);
	start_freeing(cpu, free_a_little, PRIO_USER);
	KT_WAIT_FOR(cpus_online() == 1 || paused_at(SYNC_purge_flushed));
	start_freeing(cpu, free_in_bursts, PRIO_KTHREAD - 1);
	release(SYNC_purge_flushed);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	lazy_max_pages = max;
	KT_EXPECT(vmap_lazy_peak < 3 * LIMIT, "purge=%s: %lu pages wait where %u may",
		  purge_policy_name(), vmap_lazy_peak, LIMIT);
}

/*
 * Only in virtual time (QEMU's -icount: a TSC of exactly 1 GHz). Elsewhere the host decides how
 * much a thread gets done in 10 us, and with it who wins.
 */
KTEST(a_purger_catches_up_with_those_who_free)
{
	if (clock_tsc_khz() == 1000000)
		for_each_policy_pinned(starve);
}
