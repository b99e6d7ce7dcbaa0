/*
 * test_tlb.c - shootdowns, seen from the CPUs that must forget.
 *
 * Kernel threads borrow one address space and look at its user pages with copy_from_user. A reader
 * per CPU keeps looking while the test changes the mapping; what it reads after the change was
 * announced must be new, or nothing.
 */
#include "arch/cpu.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "tests/kernel/ktest.h"

#define RW (VMA_READ | VMA_WRITE | VMA_MAYWRITE)

static struct mm *test_mm;
static u64 address;
static u32 phase, arrived, ended, wrong;

/* What a reader must find at `address`: a value, or a fault. */
static u64 expected[2];
static bool faults[2];
static bool writes; /* phase 1 tries to write instead */
static bool sleepy; /* readers sleep between the phases: their CPUs are idle and lazy */
static struct wait_queue phase_queue;

static void look(u32 when)
{
	u64 value = 0;
	int err = writes && when == 1 ? put_user_u32(address, 7) : get_user_u64(&value, address);

	if (err != (faults[when] ? -EFAULT : 0) || (!err && !writes && value != expected[when]))
		atomic_inc(&wrong);
}

static void reader(void *arg)
{
	sched_set_affinity(current, CPU_BIT((u64)arg));
	look(0); /* the translation is in this CPU's TLB now */
	atomic_inc(&arrived);
	if (sleepy)
		wait_event(&phase_queue, READ_ONCE(phase));
	while (READ_ONCE(phase) == 0)
		cpu_relax(); /* busy: the CPU is not lazy and must be interrupted */
	look(1);
	mm_switch_current(NULL);
	atomic_inc(&ended);
	thread_exit();
}

static unsigned start_readers(void)
{
	unsigned cpu, n = 0;

	phase = arrived = ended = wrong = 0;
	for_each_online_cpu(cpu) {
		struct thread *t;

		if (cpu == smp_cpu_id())
			continue;
		t = thread_create("reader", reader, (void *)(u64)cpu, PRIO_USER, NULL, test_mm);
		thread_start(t);
		n++;
	}
	KT_WAIT_FOR(READ_ONCE(arrived) == n);
	return n;
}

static void begin(void)
{
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	test_mm = mm_create(false);
	address = (u64)mm_map(test_mm, 0, 4 * PAGE_SIZE, RW, NULL, 0, NULL, false);
	mm_switch_current(test_mm);
	faults[0] = faults[1] = writes = sleepy = false;
	wait_queue_init(&phase_queue);
	expected[0] = expected[1] = 0;
}

static void finish(unsigned readers)
{
	WRITE_ONCE(phase, 1);
	wake_up_all(&phase_queue);
	KT_WAIT_FOR(READ_ONCE(ended) == readers);
	KT_EXPECT(wrong == 0, "%u of %u CPUs saw what they must not see", wrong, readers);
	mm_switch_current(NULL);
	mm_put(test_mm);
	sched_set_affinity(current, CPUMASK_ALL);
}

static u64 sum(size_t offset)
{
	u64 total = 0;
	unsigned cpu, reason;

	for_each_online_cpu(cpu)
		for (reason = 0; reason < NR_TLB_REASONS; reason++)
			total += *(u64 *)((u8 *)&cpus[cpu].stat.tlb[reason] + offset);
	return total;
}

#define TOTAL(field) sum(offsetof(struct tlb_counters, field))

KTEST(munmap_is_seen_by_every_cpu)
{
	unsigned n;
	u64 targets;

	begin();
	KT_EXPECT(put_user_u32(address, 0) == 0);
	faults[1] = true;
	n = start_readers();
	targets = TOTAL(targets);
	KT_EXPECT(mm_unmap(test_mm, address, PAGE_SIZE) == 0);
	KT_EXPECT(TOTAL(targets) - targets == n, "%lu targets for %u busy CPUs",
		  TOTAL(targets) - targets, n);
	finish(n);
}

KTEST(mprotect_takes_the_right_to_write_everywhere)
{
	unsigned n;

	begin();
	KT_EXPECT(put_user_u32(address, 0) == 0);
	writes = faults[1] = true;
	n = start_readers();
	KT_EXPECT(mm_protect(test_mm, address, PAGE_SIZE, VMA_READ) == 0);
	finish(n);
}

KTEST(madvise_dontneed_gives_a_new_page_everywhere)
{
	u64 old = 0x1234;
	unsigned n;

	begin();
	KT_EXPECT(copy_to_user(address, &old, sizeof(old)) == 0);
	expected[0] = old;
	n = start_readers();
	KT_EXPECT(mm_discard(test_mm, address, PAGE_SIZE) == 0);
	finish(n);
}

KTEST(copy_on_write_reaches_every_cpu)
{
	u64 old = 0x1234, new = 0x5678;
	struct mm *child;
	unsigned n;

	begin();
	KT_EXPECT(copy_to_user(address, &old, sizeof(old)) == 0);
	child = mm_create(false);
	KT_EXPECT(mm_fork(child, test_mm) == 0);
	expected[0] = old;
	expected[1] = new;
	n = start_readers();
	KT_EXPECT(copy_to_user(address, &new, sizeof(new)) == 0); /* breaks the sharing */
	finish(n);
	mm_put(child);
}

static unsigned lazy_on_test_mm(void)
{
	unsigned cpu, n = 0;

	for_each_online_cpu(cpu)
		n += READ_ONCE(cpus[cpu].tlb.lazy) && READ_ONCE(cpus[cpu].tlb.loaded_mm) == test_mm;
	return n;
}

KTEST(lazy_cpus_are_skipped_and_catch_up)
{
	u64 lazy, targets;
	unsigned n;

	begin();
	KT_EXPECT(put_user_u32(address, 0) == 0);
	faults[1] = sleepy = true;
	n = start_readers();
	KT_WAIT_FOR(lazy_on_test_mm() == n); /* all asleep, their CPUs idle on this CR3 */
	targets = TOTAL(targets);
	lazy = TOTAL(lazy);
	KT_EXPECT(mm_unmap(test_mm, address, PAGE_SIZE) == 0);
	KT_EXPECT(TOTAL(targets) == targets, "%lu idle CPUs were interrupted",
		  TOTAL(targets) - targets);
	KT_EXPECT(TOTAL(lazy) - lazy == n, "%lu of %u skipped", TOTAL(lazy) - lazy, n);
	finish(n); /* each wakes and must not find the old page */
}

/* All CPUs flush at the same time: requests meet, coalesce, and none is lost. */
static void flush_often(u64 cpu)
{
	u64 at, i;

	(void)cpu;
	mm_switch_current(test_mm);
	at = (u64)mm_map(test_mm, 0, PAGE_SIZE, RW, NULL, 0, NULL, false);
	for (i = 0; i < 50; i++) {
		if (put_user_u32(at, 1) || mm_discard(test_mm, at, PAGE_SIZE))
			atomic_inc(&wrong);
	}
	mm_switch_current(NULL);
}

KTEST(requests_of_all_cpus_meet_and_none_is_lost)
{
	begin();
	mm_switch_current(NULL);
	wrong = 0;
	ktest_on_each_cpu(flush_often);
	KT_EXPECT(wrong == 0, "%u", wrong);
	KT_EXPECT(TOTAL(taken) + TOTAL(coalesced) == TOTAL(targets), "%lu + %lu, %lu",
		  TOTAL(taken), TOTAL(coalesced), TOTAL(targets));
	KT_EXPECT(TOTAL(icr) == TOTAL(taken), "%lu, %lu", TOTAL(icr), TOTAL(taken));
	finish(0);
}
