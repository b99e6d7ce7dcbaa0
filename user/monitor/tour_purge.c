/*
 * tour_purge.c - the last stop of the tour: how freed kernel addresses are purged
 * (docs/14-vmalloc.md).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/monitor/tour.h"

#define BACKLOG_PAGES 4096
#define PURGES        20

static const char *const names[] = { "spinlock", "refcount", "mutex", "pernode" };

static bool measure(const char *name, unsigned int cpus, struct vmtest *t)
{
	*t = (struct vmtest){ .kind = VMTEST_LATENCY, .threads = cpus, .rounds = 1,
			      .min_purges = PURGES, .lazy_max_pages = BACKLOG_PAGES };
	snprintf(t->policy, sizeof(t->policy), "%s", name);
	if (gather_vmtest(t) == 0)
		return true;
	printf("tour: FAILED: purge=%s: %s\n", name, strerror(errno));
	return false;
}

static bool check(const char *name, const struct vmtest *t)
{
	if (t->failed || t->purges == 0)
		printf("tour: FAILED: purge=%s: %llu allocations failed, %llu purges\n", name,
		       (ull)t->failed, (ull)t->purges);
	return !t->failed && t->purges > 0;
}

bool tour_purge(unsigned int cpus)
{
	struct vmtest t;
	bool ok = true;

	printf("\nKernel addresses: on each CPU a thread vmallocs and vfrees 8 KiB; nothing is flushed "
	       "until %u pages\nwait, then all of them at once.\n", BACKLOG_PAGES);
	printf("%-10s %10s %8s %10s %8s %14s\n", "purge", "areas", "purges", "ICR writes",
	       "targets", "pages waiting*");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!measure(names[i], cpus, &t))
			return false;
		printf("%-10s %10llu %8llu %10llu %8llu %14llu\n", names[i], (ull)t.operations,
		       (ull)t.purges, (ull)t.icr, (ull)t.targets, (ull)t.lazy_peak_pages);
		ok &= check(names[i], &t);
	}
	printf("* at most; %u may. Only pernode has those who free wait at twice that.\n", BACKLOG_PAGES);
	puts("How late a purge makes others, and what refcount gets wrong: docs/14-vmalloc.md.");
	return ok;
}
