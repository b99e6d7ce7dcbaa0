/*
 * trace.h - what happened, in which order, on which CPU: a ring of the last events for every CPU.
 *
 *     TRACE(icr, cpu, seq)              cpu2's ring                        a reader
 *       order = ++last_order      ... | 41 | 44 | 0 | 17 | 20 | ...         order before == after,
 *       slot  = next_slot[2]++                   ^    ^                     and not 0: a record
 *       slot.order = 0                    half-written    the oldest
 *       the rest, then slot.order = order
 *
 * Events are ordered over all CPUs by one counter, because clocks of different CPUs need not agree:
 * what is counted first happened first, and a cause is traced before it can have its effect (the
 * ICR write before it is done, the acknowledgement before its bit is cleared). The time is there to
 * look at. Nobody waits for anybody: a slot is reserved by one atomic addition, so an event of an
 * NMI in the middle of another gets a slot of its own; the order is cleared first and written last,
 * so a reader knows a record that changed under its eyes. Interrupts are off meanwhile: the CPU in
 * the record is the one where it happened.
 *
 * `trace=on` on the command line records from the start, and so does the sanitizer's `tlbsan=on`
 * unless there is a `trace=off`; `trace=port` also sends every record to QEMU's debug console
 * (drivers/debugcon.h), behind a header of text: GATHER-TRACE, version and bytes per record; a line
 * `event argument argument` for each of TRACE_EVENTS (user/abi.h); an empty line. A panic prints
 * the last TRACE_PANIC_EVENTS. Off, every place is one test of a variable.
 */
#pragma once

#include "user/abi.h"
#include "kernel/types.h"

#define TRACE_PANIC_EVENTS 64

extern bool trace_on;
#ifdef GATHER_RELEASE /* records nothing */
#define TRACING false
#else
#define TRACING trace_on
#endif

/* TRACE(icr, target, seq): one of TRACE_EVENTS with its two arguments. Any context. */
#define TRACE(event, a, b)                                                                         \
	do {                                                                                       \
		if (unlikely(TRACING))                                                             \
			__trace(TRACE_##event, (u64)(a), (u64)(b));                                \
	} while (0)

void __trace(enum trace_event event, u64 a, u64 b);

/* The first 8 characters, as an argument called `name`. */
u64 trace_text(const char *text);

/* Reads trace= from the command line. Boot only, all CPUs online. */
void trace_init(void);

/* Start or stop recording; the rings are made when first needed. 0 or -ENOMEM. May sleep. */
int trace_set(bool on);

/* Copies one slot of a CPU's ring; false if it is empty or was written meanwhile. Any context. */
bool trace_read(unsigned cpu, unsigned slot, struct trace_record *record);
