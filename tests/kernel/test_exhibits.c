/*
 * test_exhibits.c - promises that only a race can break: each test makes one likely. The faults
 * caught here are in tests/exhibits.
 */
#include "arch/cpu.h"
#include "arch/layout.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

/* What surely happens has not happened for so long: it will not. */
#define PATIENCE_NS (5 * NSEC_PER_SEC)

/* ---- A CPU comes into the address space while another unmaps --------------------------------- */

static void enter_and_read(void *addr)
{
	u32 value;

	wait_for_phase(1); /* lazy until here: no address space is ours */
	mm_switch_current(space);
	if (get_user(&value, (u64)addr) || value)
		atomic_inc(&wrong);
	end_beside();
}

/* That CPU does not leave meanwhile: if it uses the tables, it must be in the mask. */
static bool uses_tables_unseen(unsigned cpu)
{
	return READ_ONCE(cpus[cpu].tlb.loaded_mm) == space &&
	       !cpumask_test(READ_ONCE(space->cpumask), cpu);
}

/* The guest stands at the point, half inside, while another CPU unmaps a page of the space. */
static void come_in_during_an_unmap(enum sync_point point)
{
	unsigned guest = other_cpu(0), unmapper = other_cpu(1);
	u64 at;

	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	start_on(guest, enter_and_read, at, NULL);
	pause_at(point, guest);
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(paused_at(point));
	start_on(unmapper, discard_beside, at, space);
	KT_WAIT_FOR(waits_for(unmapper, guest) || READ_ONCE(ended));
	KT_EXPECT(!uses_tables_unseen(guest), "a CPU uses an address space outside its mask");
	KT_EXPECT(READ_ONCE(ended) == 0, "the unmap went on without the CPU that comes in");
	release(point);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0, "it read the page that was gone");
	end_space();
}

KTEST(a_cpu_that_comes_in_during_an_unmap_is_seen)
{
	if (cpus_online() < 3)
		return;
	come_in_during_an_unmap(SYNC_mask_set);
	come_in_during_an_unmap(SYNC_cr3_loaded);
}

/* ---- A CPU that is still there when the address space ends ----------------------------------- */

/* No longer a thread of the space, as after its last one; the CPU keeps the CR3. */
static void stay_lazily(void *unused)
{
	u64 flags = local_irq_save();

	(void)unused;
	current->mm = NULL;
	switch_mm_irqoff(NULL);
	local_irq_restore(flags);
	WRITE_ONCE(ended, 1);
	wait_for_phase(1);
	end_beside();
}

KTEST(the_tables_go_after_the_last_lazy_cpu)
{
	unsigned guest;

	if (cpus_online() < 2)
		return;
	begin_space();
	guest = other_cpu(0);
	start_on(guest, stay_lazily, 0, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	KT_EXPECT(cpumask_test(space->cpumask, guest), "it was to be lazy here");
	end_space();
	KT_EXPECT(cpus[guest].tlb.loaded_mm == &init_mm, "its CR3 leads to freed tables");
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
}

/* ---- Two requests in one interrupt ----------------------------------------------------------- */

static void flush_nobodys_addresses(void)
{
	flush_tlb_kernel_range(VMALLOC_END - PAGE_SIZE, VMALLOC_END);
}

static void take_two_at_once(void *addr)
{
	u64 flags = local_irq_save(), deadline = clock_ns() + PATIENCE_NS;
	u32 value;

	KT_EXPECT(get_user(&value, (u64)addr) == 0 && value == 1, "it was to be in this TLB");
	WRITE_ONCE(ended, 1);
	while (cpumask_weight(READ_ONCE(this_cpu()->tlb.pending)) < 2 && clock_ns() < deadline)
		cpu_relax();
	local_irq_restore(flags);
	while (READ_ONCE(cpus[smp_cpu_id()].tlb.pending))
		cpu_relax(); /* asked for, but the interrupt itself may still be on its way */
	if (get_user(&value, (u64)addr) || value)
		atomic_inc(&wrong);
	end_beside();
}

KTEST(two_requests_in_one_interrupt_are_both_served)
{
	u64 at;

	if (cpus_online() < 3)
		return;
	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	start_on(other_cpu(1), take_two_at_once, at, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	start_on(other_cpu(0), discard_beside, at, space);
	flush_nobodys_addresses();
	KT_WAIT_FOR(READ_ONCE(ended) == 3);
	KT_EXPECT(wrong == 0, "the second request was acknowledged and not served");
	end_space();
}

/* ---- A request that is still in use ---------------------------------------------------------- */

static void flush_kernel_addresses(void *arg)
{
	(void)arg;
	flush_nobodys_addresses();
	end_beside();
}

/* A more important thread on the waiting CPU wants to flush too: it must not get the request. */
KTEST(a_request_stays_as_it_is_until_its_last_answer)
{
	struct thread *second;
	u64 at;

	if (cpus_online() < 3)
		return;
	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	start_on(other_cpu(1), take_no_interrupts, 0, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	start_on(other_cpu(0), discard_beside, at, space);
	KT_WAIT_FOR(waits_for(other_cpu(0), other_cpu(1)) || READ_ONCE(ended) > 1);
	second = thread_create("second", flush_kernel_addresses, NULL, PRIO_KTHREAD, NULL, NULL);
	sched_set_affinity(second, CPU_BIT(other_cpu(0)));
	thread_start(second);
	sleep_until(clock_ns() + 2 * NSEC_PER_MSEC);
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 4);
	KT_EXPECT(wrong == 0);
	end_space();
}

/* ---- Fork ------------------------------------------------------------------------------------ */

static void store_on(void *addr)
{
	u32 i;

	for (i = 1; READ_ONCE(phase) == 0; i++) {
		if (put_user_u32((u64)addr, i))
			atomic_inc(&wrong);
		WRITE_ONCE(ended, 1);
		cpu_relax();
	}
	end_beside();
}

static u32 read_in(struct mm *mm, u64 at)
{
	u32 value = 0;

	mm_switch_current(mm);
	KT_EXPECT(get_user(&value, at) == 0);
	mm_switch_current(NULL);
	return value;
}

/* Another thread of the parent keeps storing: from the fork on, the child must not see it. */
KTEST(a_fork_is_a_copy)
{
	struct mm *child;
	u32 first;
	u64 at;

	begin_space();
	at = map_one_page();
	start_on(other_cpu(0), store_on, at, space);
	KT_WAIT_FOR(READ_ONCE(ended));
	child = mm_create(false);
	KT_EXPECT(mm_fork(child, space) == 0);
	first = read_in(child, at);
	sleep_until(clock_ns() + 2 * NSEC_PER_MSEC);
	KT_EXPECT(read_in(child, at) == first, "the parent wrote into the child");
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0);
	mm_switch_current(space);
	end_space();
	mm_put(child);
}

static void fork_and_write(void)
{
	struct mm *child;
	u64 at;

	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	child = mm_create(false);
	KT_EXPECT(mm_fork(child, space) == 0);
	KT_EXPECT(put_user_u32(at, 2) == 0);
	mm_put(child);
	end_space();
}

KTEST(copies_on_write_leave_no_page_behind)
{
	u64 before;
	int i;

	fork_and_write(); /* what is cached is cached from here on */
	before = nr_free_pages();
	for (i = 0; i < 50; i++)
		fork_and_write();
	KT_EXPECT(nr_free_pages() + 8 >= before, "%lu of %lu pages are free", nr_free_pages(),
		  before);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static struct wait_queue turn_queue;
static struct thread *sleeper;

static void wait_beside(void *arg)
{
	(void)arg;
	sleeper = current;
	pause_at(SYNC_wait, smp_cpu_id()); /* here: kernel threads wait on this CPU too */
	wait_event(&turn_queue, READ_ONCE(phase) == 1);
	end_beside();
}

/* Marked asleep and no longer on its CPU: only a wake-up brings it back. */
static bool sleeps(const struct thread *t)
{
	return READ_ONCE(t->state) == THREAD_SLEEPING && !READ_ONCE(t->on_rq);
}

/* The wake-up comes when the waiter has decided to wait and has not gone to sleep yet. */
KTEST(no_waiter_sleeps_through_its_wake_up)
{
	unsigned cpu = other_cpu(0);

	if (cpus_online() < 2)
		return;
	phase = ended = 0;
	wait_queue_init(&turn_queue);
	start_on(cpu, wait_beside, 0, NULL);
	KT_WAIT_FOR(paused_at(SYNC_wait));
	WRITE_ONCE(phase, 1);
	wake_up_all(&turn_queue);
	release(SYNC_wait);
	while (!READ_ONCE(ended) && !sleeps(sleeper))
		stay_awake();
	KT_EXPECT(READ_ONCE(ended) == 1, "the waiter slept through its wake-up");
	wake_up_all(&turn_queue);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
}
