/* system.c - what the monitor asks of the kernel. */
#include "user/monitor/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refused(const char *what)
{
	printf("the kernel refuses %s: %s\n", what, strerror(errno));
	return false;
}

bool system_info(struct info_system *sys)
{
	memset(sys, 0, sizeof(*sys));
	return gather_info(INFO_SYSTEM, sys, sizeof(*sys)) >= 0 || refused("system information");
}

bool system_cpus(struct cpu_sample *sample)
{
	long bytes = gather_info(INFO_CPUS, sample->cpu, sizeof(sample->cpu));

	sample->count = bytes < 0 ? 0 : (unsigned int)((size_t)bytes / sizeof(sample->cpu[0]));
	return bytes >= 0 || refused("CPU information");
}

bool system_vmstat(struct info_vmstat *vmstat)
{
	memset(vmstat, 0, sizeof(*vmstat));
	return gather_info(INFO_VMSTAT, vmstat, sizeof(*vmstat)) >= 0 ||
	       refused("memory statistics");
}

/* A buffer that comes back full may have been too small. */
int system_tasks(const struct info_task **tasks)
{
	static struct info_task *buffer;
	static size_t room = 64;
	long bytes;

	for (;; room *= 2) {
		free(buffer);
		buffer = malloc(room * sizeof(*buffer));
		bytes = buffer ? gather_info(INFO_TASKS, buffer, room * sizeof(*buffer)) : -1;
		if (bytes < 0) {
			refused("task information");
			return -1;
		}
		if ((size_t)bytes < room * sizeof(*buffer))
			break;
	}
	*tasks = buffer;
	return (int)((size_t)bytes / sizeof(*buffer));
}

bool system_trace(struct trace_record *records, size_t bytes, size_t *count)
{
	long got = gather_info(INFO_TRACE, records, bytes);

	*count = got < 0 ? 0 : (size_t)got / sizeof(*records);
	return got >= 0 || refused("the event trace");
}

bool system_set_policy(enum control_op op, const char *name)
{
	if (gather_control(op, (uintptr_t)name, strlen(name)) == 0)
		return true;
	if (op != CONTROL_MIGRATE_POLICY || errno != EPERM)
		return refused("that policy");
	printf("migrate: %s loses data on purpose: it needs unsafe=1 on the command line\n", name);
	return false;
}

bool system_control(enum control_op op, uint64_t argument, const char *what)
{
	return gather_control(op, argument, 0) == 0 || refused(what);
}

void tlb_counters_add(struct tlb_counters *sum, const struct tlb_counters *more)
{
	sum->icr += more->icr;
	sum->targets += more->targets;
	sum->taken += more->taken;
	sum->coalesced += more->coalesced;
	sum->flushes += more->flushes;
	sum->freed += more->freed;
	sum->lazy += more->lazy;
}

struct tlb_counters tlb_counters_of(const struct cpu_sample *sample, enum tlb_reason reason)
{
	struct tlb_counters sum = { 0 };

	for (unsigned int i = 0; i < sample->count; i++)
		tlb_counters_add(&sum, &sample->cpu[i].tlb[reason]);
	return sum;
}
