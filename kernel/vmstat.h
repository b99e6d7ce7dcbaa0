/*
 * vmstat.h - event counters (the list is in user/abi.h), one set per CPU. Counting is one
 * instruction on this CPU's own word; a reader sums over CPUs.
 */
#pragma once

#include "user/abi.h"
#include "kernel/types.h"

enum vm_event {
#define X(name) VM_##name,
	VM_EVENTS(X)
#undef X
	NR_VM_EVENTS
};

#define count_vm_events(event, n) this_cpu_add64_at(vm_events, VM_##event, n)
#define count_vm_event(event)     count_vm_events(event, 1)

u64 vm_event_sum(unsigned event);
