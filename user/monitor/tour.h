/*
 * tour.h - the figures of the tour: what one policy cost, and what must hold for it.
 *
 * Pure, but for printing.
 */
#ifndef USER_MONITOR_TOUR_H
#define USER_MONITOR_TOUR_H

#include <stdbool.h>

#include "user/monitor/policy.h"
#include "user/monitor/system.h"

struct tour_setup {
	unsigned int cpus;
	unsigned int file_mib;
	unsigned int mem_mib; /* managed memory */
	unsigned int batch_capacity;
};

/* What happened between two samples, over all CPUs, for the reason TLB_RECLAIM. */
struct tour_figures {
	const struct policy *policy;
	struct tlb_counters tlb;
	uint64_t pages;   /* unmapped by reclaim */
	uint64_t sharers; /* sum over them of other CPUs that had them mapped */
	int64_t bad_pages; /* as the workload counted them; -1: it did not finish */
};

/* Pages that one flush of the policy can serve. */
unsigned int tour_capacity(const struct tour_setup *setup, const struct policy *policy);

/* a * scale / b, rounded; 0 when b is 0. For decimals without floating point. */
uint64_t tour_ratio(uint64_t a, uint64_t b, uint64_t scale);

/* What was counted for one reason between two samples. */
struct tlb_counters tour_difference(const struct cpu_sample *a, const struct cpu_sample *b,
				    enum tlb_reason reason);

/* The number in a file that a workload has written; -1: none. */
int64_t tour_read_count(const char *path);

/* The RESULT line. */
void tour_print_result(const struct tour_setup *setup, const struct tour_figures *f);

/* Says which check failed, if any, and returns whether all hold. */
bool tour_check(const struct tour_setup *setup, const struct tour_figures *f);

/* The table over the policies, and what it shows. */
void tour_print_table(const struct tour_setup *setup, const struct tour_figures f[NR_POLICIES]);

/* Freed kernel addresses under each purge policy, with a table. false: something failed. */
bool tour_purge(unsigned int cpus);

#endif
