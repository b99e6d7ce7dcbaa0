/*
 * test_tlb.c - shootdowns, seen from the CPUs that must forget.
 *
 * Kernel threads borrow one address space and look at its user pages with copy_from_user. A reader
 * per CPU keeps looking while the test changes the mapping; what it reads after the change was
 * announced must be new, or nothing.
 */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/lib.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"
#include "tests/kernel/ktest.h"

#define RW (VMA_READ | VMA_WRITE | VMA_MAYWRITE)

#define MAX_PHASES 3

static struct mm *test_mm;
static u64 address;
static u32 phase, nr_phases, looked, ended, wrong;

/* What a reader must find at `address` in each phase: a value, or a fault. */
static u64 expected[MAX_PHASES];
static bool faults[MAX_PHASES];
static bool evicted[MAX_PHASES]; /* or zeroes: this TLB may have lost the entry by itself */
static bool writes; /* phases after the first try to write instead */
static bool sleepy; /* readers sleep between the phases: their CPUs are idle and lazy */
static struct wait_queue phase_queue;

static void look(u32 when)
{
	u64 value = 0;
	int err = writes && when ? put_user_u32(address, 7) : get_user(&value, address);

	bool right = err == (faults[when] ? -EFAULT : 0);

	if (right && !err && !writes)
		right = value == expected[when] || (evicted[when] && value == 0);
	if (!right)
		atomic_inc(&wrong);
}

static void reader(void *arg)
{
	u32 p;

	sched_set_affinity(current, CPU_BIT((u64)arg));
	for (p = 0; p < nr_phases; p++) {
		if (sleepy)
			wait_event(&phase_queue, READ_ONCE(phase) >= p);
		while (READ_ONCE(phase) < p)
			cpu_relax(); /* busy: the CPU is not lazy and must be interrupted */
		look(p); /* phase 0 brings the translation into this CPU's TLB */
		atomic_inc(&looked);
	}
	mm_switch_current(NULL);
	atomic_inc(&ended);
	thread_exit();
}

/* Every reader looks once more; they then wait for the next phase. */
static void next_phase(unsigned readers)
{
	WRITE_ONCE(phase, phase + 1);
	wake_up_all(&phase_queue);
	KT_WAIT_FOR(READ_ONCE(looked) == readers * (phase + 1));
}

static unsigned start_readers(void)
{
	unsigned cpu, n = 0;

	for_each_online_cpu(cpu) {
		struct thread *t;

		if (cpu == smp_cpu_id())
			continue;
		t = thread_create("reader", reader, (void *)(u64)cpu, PRIO_USER, NULL, test_mm);
		thread_start(t);
		n++;
	}
	KT_WAIT_FOR(READ_ONCE(looked) == n);
	return n;
}

static void begin(void)
{
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	test_mm = mm_create(false);
	address = (u64)mm_map(test_mm, 0, 4 * PAGE_SIZE, RW, NULL, 0, NULL, MAP_NEAR);
	mm_switch_current(test_mm);
	memset(faults, 0, sizeof(faults));
	memset(expected, 0, sizeof(expected));
	memset(evicted, 0, sizeof(evicted));
	writes = sleepy = false;
	phase = looked = ended = wrong = 0;
	nr_phases = 2;
	wait_queue_init(&phase_queue);
}

/* The last phase; then everything is put away. */
static void finish(unsigned readers)
{
	if (readers)
		next_phase(readers);
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

/* What reclaim does with a clean page up to limbo: unmapped, gathered, owned by the batch. */
static void put_in_limbo(u64 addr)
{
	struct page *page = pfn_to_page(pte_pfn(pte_read(pte_lookup(test_mm->pml4, addr))));
	struct unmap_result unmapped;

	get_page(page);
	lru_del_page(page);
	lock_page(page);
	try_to_unmap(page, false, &unmapped);
	tlb_ubc_gather(unmapped.cpus, false, TLB_RECLAIM);
	unlock_page(page);
	KT_EXPECT(page_refs(page) == 1, "%u", page_refs(page));
	object_put(page->object); /* as put_page would have done: the page had a reference */
	(void)atomic_sub_fetch(&page->refcount, 1);
	KT_EXPECT(tlb_ubc_add_frame(page) == 0, "a batch of one does not flush yet");
}

static unsigned begin_limbo(void)
{
	u64 value = 0x1234;

	begin();
	KT_EXPECT(copy_to_user(address, &value, sizeof(value)) == 0);
	/* Like a page of a file that nobody writes: only those may wait in limbo. */
	KT_EXPECT(mm_protect(test_mm, address, PAGE_SIZE, VMA_READ) == 0);
	expected[0] = expected[1] = value; /* phase 1: read while the frame is in limbo */
	evicted[1] = true;
	nr_phases = 3;
	return start_readers();
}

KTEST(a_frame_in_limbo_is_untouched_until_the_flush)
{
	unsigned n = begin_limbo();
	u64 before = nr_free_pages();

	put_in_limbo(address);
	KT_EXPECT(nr_free_pages() <= before, "the frame is free before its flush");
	if (n)
		next_phase(n);
	KT_EXPECT(try_to_unmap_flush() == 1);
	finish(n); /* a fault brings a new page of zeroes */
}

KTEST(munmap_waits_for_a_flush_that_a_batch_still_owes)
{
	unsigned n = begin_limbo();

	faults[2] = true;
	put_in_limbo(address);
	if (n)
		next_phase(n);
	/* The PTE is clear already: there is nothing to zap, but a flush is due all the same. */
	KT_EXPECT(mm_unmap(test_mm, address, PAGE_SIZE) == 0);
	finish(n);
	KT_EXPECT(try_to_unmap_flush() == 1);
}

/* All CPUs flush at the same time: requests meet, coalesce, and none is lost. */
static void flush_often(u64 cpu)
{
	u64 at, i;

	(void)cpu;
	mm_switch_current(test_mm);
	at = (u64)mm_map(test_mm, 0, PAGE_SIZE, RW, NULL, 0, NULL, MAP_NEAR);
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
