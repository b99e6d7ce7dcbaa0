/*
 * test_ipi.c - the IPI protocol, one order of events at a time: a CPU is held at a sync point of
 * the handler (kernel/perturb.h) while others go on. The faults caught here are in tests/exhibits.
 */
#include "arch/cpu.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "mm/tlb.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

static u32 steps; /* of the guest, with interrupts on */

/* Has the page in its TLB and is never idle, until phase 1. */
static void stay_in_space(void *addr)
{
	u32 value;

	if (get_user(&value, (u64)addr))
		atomic_inc(&wrong);
	for (steps = 1; READ_ONCE(phase) == 0; WRITE_ONCE(steps, steps + 1))
		cpu_relax();
	end_beside();
}

static void flush_beside(void *unused)
{
	(void)unused;
	flush_tlb_cpus(READ_ONCE(space->cpumask), TLB_UNMAP);
	end_beside();
}

/* A guest CPU in `space` that has the page at the address it returns. */
static u64 begin_with_guest(void)
{
	u64 at;

	begin_space();
	at = map_one_page();
	KT_EXPECT(put_user_u32(at, 1) == 0);
	WRITE_ONCE(steps, 0);
	start_on(other_cpu(0), stay_in_space, at, space);
	KT_WAIT_FOR(READ_ONCE(steps));
	return at;
}

static void end_with_guest(u32 threads)
{
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == threads);
	KT_EXPECT(wrong == 0);
	end_space();
}

KTEST(an_unmap_does_not_go_on_before_every_target_has_flushed)
{
	unsigned guest = other_cpu(0), initiator = other_cpu(1);
	u64 at;

	if (cpus_online() < 3)
		return;
	at = begin_with_guest();
	pause_at(SYNC_ipi_taken, guest);
	start_on(initiator, discard_beside, at, space);
	KT_WAIT_FOR(paused_at(SYNC_ipi_taken));
	KT_WAIT_FOR(waits_for(initiator, guest) || READ_ONCE(ended));
	KT_EXPECT(READ_ONCE(ended) == 0, "a CPU that has not flushed yet was not waited for");
	release(SYNC_ipi_taken);
	end_with_guest(2);
}

/*
 * The guest flushes everything; a page is unmapped after that flush and before the guest notes
 * which generation it has caught up with. It must still flush for that page.
 */
KTEST(a_cpu_has_caught_up_with_what_came_before_its_flush)
{
	unsigned guest = other_cpu(0), unmapper = other_cpu(2);
	u64 at;

	if (cpus_online() < 4)
		return;
	at = begin_with_guest();
	pause_at(SYNC_user_flushed, guest);
	start_on(other_cpu(1), flush_beside, 0, space);
	KT_WAIT_FOR(paused_at(SYNC_user_flushed));
	start_on(unmapper, discard_beside, at, space);
	KT_WAIT_FOR(waits_for(unmapper, guest));
	release(SYNC_user_flushed);
	end_with_guest(3);
}

/* The second request comes when the first is acknowledged and its handler not yet left. */
KTEST(a_request_that_comes_at_the_handlers_end_is_served)
{
	unsigned guest = other_cpu(0), second = other_cpu(2);
	u64 at;
	u32 seen;

	if (cpus_online() < 4)
		return;
	at = begin_with_guest();
	pause_at(SYNC_ipi_done, guest);
	start_on(other_cpu(1), flush_beside, 0, space);
	KT_WAIT_FOR(paused_at(SYNC_ipi_done));
	start_on(second, discard_beside, at, space);
	KT_WAIT_FOR(waits_for(second, guest));
	release(SYNC_ipi_done);
	seen = READ_ONCE(steps);
	KT_WAIT_FOR(READ_ONCE(steps) > seen + 1000); /* it has taken every interrupt there was */
	KT_EXPECT(!waits_for(second, guest), "the request was forgotten");
	end_with_guest(3);
}
