/* test_trace.c - reading a ring of the event trace while its CPU writes it. */
#include "kernel/trace.h"
#include "arch/cpu.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

static u32 rounds; /* of the writer, done */
static bool got;

/* In each phase as many records as a ring holds: every slot is written anew. */
static void fill_ring(void *unused)
{
	u64 round, i, n = 0;

	(void)unused;
	for (round = 1; round <= 3; round++) {
		wait_for_phase((u32)round);
		for (i = 0; i < TRACE_RING_RECORDS; i++, n++)
			TRACE(migrate, n, ~n);
		WRITE_ONCE(rounds, (u32)round);
	}
	end_beside();
}

static void read_slot(void *cpu)
{
	struct trace_record record;

	got = trace_read((unsigned)(u64)cpu, 0, &record);
	end_beside();
}

/* What can be read fits together, and the newest contents have the newest order. */
static void check_ring(unsigned cpu)
{
	struct trace_record record, newest = {0}, last = {0};
	unsigned slot;

	for (slot = 0; slot < TRACE_RING_RECORDS; slot++) {
		if (!trace_read(cpu, slot, &record) || record.event != TRACE_migrate)
			continue;
		KT_EXPECT(record.b == ~record.a, "%lx, %lx", record.a, record.b);
		if (record.order > last.order)
			last = record;
		if (record.a >= newest.a)
			newest = record;
	}
	KT_EXPECT(last.order && newest.order == last.order, "%lu, %lu", newest.order, last.order);
}

static void next_round(u32 round)
{
	WRITE_ONCE(phase, round);
	KT_WAIT_FOR(READ_ONCE(rounds) == round);
}

KTEST(a_reader_never_sees_half_a_record)
{
	unsigned cpu = other_cpu(0), reader = other_cpu(1);
	bool was_on = trace_on;

	if (cpus_online() < 3)
		return;
	begin_space();
	rounds = 0;
	KT_EXPECT(trace_set(true) == 0);
	start_on(cpu, fill_ring, 0, NULL);
	next_round(1);
	pause_at(SYNC_trace_write, cpu); /* a record is half written */
	WRITE_ONCE(phase, 2);
	KT_WAIT_FOR(paused_at(SYNC_trace_write));
	check_ring(cpu);
	release(SYNC_trace_write);
	next_round(2);
	pause_at(SYNC_trace_read, reader); /* a record is half read, and written again */
	start_on(reader, read_slot, cpu, NULL);
	KT_WAIT_FOR(paused_at(SYNC_trace_read));
	next_round(3);
	release(SYNC_trace_read);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(!got, "half of one record and half of another");
	(void)trace_set(was_on);
	end_space();
}

KTEST(text_in_an_argument)
{
	KT_EXPECT(trace_text("") == 0);
	KT_EXPECT(trace_text("fs") == ('f' | 's' << 8));
	KT_EXPECT(trace_text("run queue") == trace_text("run queu"));
}
