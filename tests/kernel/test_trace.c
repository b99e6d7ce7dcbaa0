/* test_trace.c - reading a ring of the event trace while its CPU writes it. */
#include "kernel/trace.h"
#include "arch/cpu.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/perturb.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define RECORDS 50000

static void record_many(void *unused)
{
	u64 i;

	(void)unused;
	for (i = 1; i <= RECORDS; i++) {
		TRACE(migrate, i, ~i);
		SYNC_POINT(trace_write);
	}
	end_beside();
}

/*
 * The reader is always at the slot that is written next: where a record can be caught half-way.
 * With a seed (tests/system/test_replay.py) writer and reader stop in the middle for that.
 */
KTEST(a_reader_never_sees_half_a_record)
{
	struct trace_record record;
	u64 last = 0, last_a = 0, seen = 0;
	unsigned slot = 0, cpu;
	bool was_on = trace_on;

	begin_space();
	cpu = other_cpu(0);
	KT_EXPECT(trace_set(true) == 0);
	start_on(cpu, record_many, 0, NULL);
	while (!READ_ONCE(ended)) {
		if (!trace_read(cpu, slot, &record)) {
			stay_awake();
			continue;
		}
		if (record.event == TRACE_migrate)
			wrong += record.b != ~record.a || (record.order > last) != (record.a > last_a);
		if (record.order <= last) {
			stay_awake();
			continue;
		}
		if (record.event == TRACE_migrate)
			last_a = record.a;
		last = record.order;
		slot = (slot + 1) % TRACE_RING_RECORDS;
		seen++;
	}
	KT_EXPECT(wrong == 0, "%u of %lu", wrong, seen);
	KT_EXPECT(cpu == smp_cpu_id() || seen > 10, "only %lu", seen);
	(void)trace_set(was_on);
	end_space();
}

KTEST(text_in_an_argument)
{
	KT_EXPECT(trace_text("") == 0);
	KT_EXPECT(trace_text("fs") == ('f' | 's' << 8));
	KT_EXPECT(trace_text("run queue") == trace_text("run queu"));
}
