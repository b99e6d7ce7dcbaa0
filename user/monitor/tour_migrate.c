/* tour_migrate.c - the tour's part on page migration (see tour_migrate.h). */
#include "user/monitor/tour_migrate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/monitor/program.h"

#define FOUR_DECIMALS 10000
#define BATCHES       2 /* pages of one call, in batches of the kernel's */
#define ROUNDS_PAGE   2
#define ROUNDS_BATCH  10
#define PRESSURE_MIB  4 /* times memory: the file that is read beside */

void tour_migrate_print(const struct tour_setup *setup, const struct migrate_figures *f)
{
	uint64_t per_page = tour_ratio(f->tlb.targets, f->pages, FOUR_DECIMALS);

	printf("RESULT exp=migrate policy=%s cpus=%u reclaim=%s pages=%llu passes=%llu failed=%llu "
	       "icr=%llu targets=%llu taken=%llu coalesced=%llu flushes=%llu lazy=%llu "
	       "targets_per_page=%llu.%04llu lost_stores=%lld\n",
	       f->policy, setup->cpus, f->reclaim ? "on" : "off", (ull)f->pages, (ull)f->passes,
	       (ull)f->failed, (ull)f->tlb.icr, (ull)f->tlb.targets, (ull)f->tlb.taken,
	       (ull)f->tlb.coalesced, (ull)f->tlb.flushes, (ull)f->tlb.lazy,
	       (ull)(per_page / FOUR_DECIMALS), (ull)(per_page % FOUR_DECIMALS),
	       (long long)f->lost_stores);
}

static bool failed(const struct migrate_figures *f, const char *what)
{
	printf("tour: FAILED: migrate=%s reclaim=%s: %s\n", f->policy, f->reclaim ? "on" : "off", what);
	return false;
}

/*
 * The bounds are those of 8 CPUs: 7 others may hold each page. The lower one is far below: a CPU
 * that waits in a fault, or runs the reader beside, has left the address space and need not be
 * told.
 */
static bool check_bounds(const struct tour_setup *setup, const struct migrate_figures *f)
{
	uint64_t others = setup->cpus - 1, told = f->tlb.targets + f->tlb.lazy;

	if (setup->cpus < 8)
		return true;
	if (strcmp(f->policy, "page") == 0)
		return told >= f->pages * others * 3 / 7 ||
		       failed(f, "fewer than 3 targets a page: is it really page by page?");
	return f->tlb.targets * 256 <= f->pages * others ||
	       failed(f, "more than 7/256 targets a page: batches are not full");
}

bool tour_migrate_check(const struct tour_setup *setup, const struct migrate_figures *f)
{
	bool ok = true;

	if (f->lost_stores != 0)
		ok = failed(f, "stores were lost, or the workload did not finish");
	if (f->pages == 0)
		ok = failed(f, "no page was moved");
	if (f->tlb.taken + f->tlb.coalesced != f->tlb.targets)
		ok = failed(f, "interrupts taken and coalesced do not add up to the targets");
	return check_bounds(setup, f) && ok;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

#define COUNT_FILE "/tmp/tour.lost_stores"

static int64_t run_movers(const struct tour_setup *setup, const struct migrate_figures *f)
{
	char threads[16], pages[16], rounds[16], mib[16];
	char *argv[] = { "movers", "--kind", "anon", "-t", threads, "--pages", pages,
			 "--rounds", rounds, "--count", COUNT_FILE, "--pressure-mib", mib, NULL };
	bool batched = strcmp(f->policy, "batch") == 0;

	snprintf(threads, sizeof(threads), "%u", setup->cpus < 56 ? setup->cpus : 56);
	snprintf(pages, sizeof(pages), "%u", BATCHES * setup->batch_capacity);
	snprintf(rounds, sizeof(rounds), "%u", batched ? ROUNDS_BATCH : ROUNDS_PAGE);
	snprintf(mib, sizeof(mib), "%u", f->reclaim ? PRESSURE_MIB * setup->mem_mib : 0);
	unlink(COUNT_FILE);
	if (!program_run(argv))
		return -1;
	return tour_read_count(COUNT_FILE);
}

static bool measure(const struct tour_setup *setup, struct migrate_figures *f)
{
	static struct cpu_sample before, after;
	struct info_vmstat vm_before, vm_after;

	printf("\nmigrate=%s, reclaim %s\n", f->policy, f->reclaim ? "on" : "off");
	if (!system_set_policy(CONTROL_MIGRATE_POLICY, f->policy) || !system_cpus(&before) ||
	    !system_vmstat(&vm_before))
		return false;
	f->lost_stores = run_movers(setup, f);
	if (!system_cpus(&after) || !system_vmstat(&vm_after))
		return false;
	f->tlb = tour_difference(&before, &after, TLB_MIGRATE);
	f->pages = vm_after.pgmigrate_success - vm_before.pgmigrate_success;
	f->failed = vm_after.pgmigrate_fail - vm_before.pgmigrate_fail;
	f->passes = vm_after.migrate_passes - vm_before.migrate_passes;
	tour_migrate_print(setup, f);
	return true;
}

static void print_lesson(const struct migrate_figures *page, const struct migrate_figures *batch)
{
	uint64_t gain = tour_ratio(page->tlb.targets * batch->pages, batch->tlb.targets * page->pages, 1);

	if (page->tlb.targets && batch->tlb.targets)
		printf("\nMoved in batches a page costs %llu times fewer targets: all are unmapped, one "
		       "flush\ntells every CPU, and only then are they copied and mapped again. No store "
		       "was lost.\n", (ull)gain);
}

bool tour_migrate(const struct tour_setup *setup)
{
	struct migrate_figures f[] = { { .policy = "page" }, { .policy = "batch" },
				       { .policy = "page", .reclaim = true },
				       { .policy = "batch", .reclaim = true } };
	bool ok = true;

	printf("\nMigration: %u threads store into %u pages, and one of them moves all pages to other "
	       "frames\nagain and again; with reclaim on, a file larger than memory is read beside.\n",
	       setup->cpus, BATCHES * setup->batch_capacity);
	for (unsigned int i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		if (!measure(setup, &f[i]))
			return false;
	for (unsigned int i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		ok &= tour_migrate_check(setup, &f[i]);
	if (ok)
		print_lesson(&f[0], &f[1]);
	return ok;
}
