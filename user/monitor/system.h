/*
 * system.h - what the monitor asks of the kernel.
 *
 * Every function says on the console what went wrong before it reports failure.
 */
#ifndef USER_MONITOR_SYSTEM_H
#define USER_MONITOR_SYSTEM_H

#include <stdbool.h>

#include "user/lib/gather.h"

#define MAX_CPUS    64
#define MIB_OF(pages) ((pages) / 256)

typedef unsigned long long ull; /* what %llu prints */

struct cpu_sample {
	unsigned int count;
	struct info_cpu cpu[MAX_CPUS];
};

bool system_info(struct info_system *sys);
bool system_cpus(struct cpu_sample *sample);
bool system_vmstat(struct info_vmstat *vmstat);

/* All tasks, in memory that is good until the next call; their number, or -1. */
int system_tasks(const struct info_task **tasks);

/* What the rings of the event trace hold, in no order; *count of them. */
bool system_trace(struct trace_record *records, size_t bytes, size_t *count);

/* op: CONTROL_TLB_POLICY, CONTROL_MIGRATE_POLICY or CONTROL_PURGE_POLICY. */
bool system_set_policy(enum control_op op, const char *name);
bool system_control(enum control_op op, uint64_t argument, const char *what);

/* Adds the counters of *more to *sum. */
void tlb_counters_add(struct tlb_counters *sum, const struct tlb_counters *more);

/* One reason over all CPUs. */
struct tlb_counters tlb_counters_of(const struct cpu_sample *sample, enum tlb_reason reason);

#endif
