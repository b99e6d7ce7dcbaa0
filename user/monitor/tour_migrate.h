/*
 * tour_migrate.h - the part of the tour on page migration: what one page moved costs in interrupts.
 *
 * Pure, but for printing and for tour_migrate itself.
 */
#ifndef USER_MONITOR_TOUR_MIGRATE_H
#define USER_MONITOR_TOUR_MIGRATE_H

#include "user/monitor/tour.h"

struct migrate_figures {
	const char *policy;
	bool reclaim;   /* a reader of a large file beside */
	uint64_t pages; /* moved */
	uint64_t failed, passes;
	struct tlb_counters tlb; /* for the reason TLB_MIGRATE */
	int64_t lost_stores;     /* -1: the workload did not finish */
};

void tour_migrate_print(const struct tour_setup *setup, const struct migrate_figures *f);

/* Says which check failed, if any, and returns whether all hold. */
bool tour_migrate_check(const struct tour_setup *setup, const struct migrate_figures *f);

/* Moves pages under 8 threads that store into them, page by page and in batches; checks. */
bool tour_migrate(const struct tour_setup *setup);

#endif
