/*
 * vmstat.h - event counters, one set per CPU, with Linux's names where Linux has the event.
 * Counting is one instruction on this CPU's own word; a reader sums over CPUs.
 */
#ifndef KERNEL_VMSTAT_H
#define KERNEL_VMSTAT_H

#include "kernel/types.h"

enum vm_event {
	PGFAULT,
	PGMAJFAULT,     /* had to ask a pager */
	PGSCAN,         /* pages looked at by reclaim */
	PGSTEAL_KSWAPD, /* pages freed by the background reclaimer */
	PGSTEAL_DIRECT, /* pages freed by an allocating thread */
	PGACTIVATE,
	PGDEACTIVATE,
	PGREFILL, /* active pages looked at */
	PGPGIN,
	PGPGOUT,
	UNMAPPED_PAGES,   /* pages whose last PTE reclaim cleared */
	UNMAPPED_SHARERS, /* sum over them: other CPUs that may have held the translation */
	BATCH_ALLOCATED,
	BATCH_ALLOC_FAILED,
	BATCH_FLUSHES,
	OOM_KILL,
	UNKNOWN_SYSCALLS,
	COW_COPIES,
	NR_VM_EVENTS
};

#define count_vm_events(event, n) this_cpu_add64_at(vm_events, event, n)
#define count_vm_event(event)     count_vm_events(event, 1)

u64 vm_event_sum(enum vm_event event);

#endif
