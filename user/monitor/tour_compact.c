/* tour_compact.c - the tour's part on compaction (see tour_compact.h). */
#include "user/monitor/tour_compact.h"

#include <stdio.h>
#include <unistd.h>

#include "user/monitor/commands.h"
#include "user/monitor/program.h"

#define FILE_FACTOR 2 /* times memory */
#define COUNT_FILE  "/tmp/tour.compact"

struct compact_figures {
	const char *what, *tlb, *migrate;
	uint64_t reclaimed, moved, blocks;
	struct tlb_counters reclaim, migration;
	int64_t bad_pages;
};

static int64_t run_counted(char *argv[])
{
	unlink(COUNT_FILE);
	return program_run(argv) ? tour_read_count(COUNT_FILE) : -1;
}

static int64_t run_both(const struct tour_setup *setup)
{
	unsigned int procs = setup->cpus > 2 ? 2 : 1;
	unsigned int sharers = setup->cpus > procs + 1 ? setup->cpus - procs - 1 : 0;
	char cpus[16], mib[16], n[16], others[16];
	char *read[] = { "lru-read", "--lockstep", "-n", cpus, "--mib", mib, "--count", COUNT_FILE,
			 NULL };
	char *fragment[] = { "fragment", "-n", n, "--sharers", others, "--count", COUNT_FILE, NULL };
	int64_t bad;

	snprintf(cpus, sizeof(cpus), "%u", setup->cpus);
	snprintf(mib, sizeof(mib), "%u", FILE_FACTOR * setup->mem_mib / 4 * 4);
	snprintf(n, sizeof(n), "%u", procs);
	snprintf(others, sizeof(others), "%u", sharers);
	bad = run_counted(read);
	if (bad != 0 || !system_control(CONTROL_DROP_CACHES, 0, "to drop caches"))
		return bad ? bad : -1;
	return run_counted(fragment);
}

static void print_result(const struct tour_setup *setup, const struct compact_figures *f)
{
	printf("RESULT exp=compact tlb=%s migrate=%s cpus=%u reclaimed=%llu moved=%llu blocks=%llu "
	       "reclaim_targets=%llu migrate_targets=%llu targets=%llu bad_pages=%lld\n",
	       f->tlb, f->migrate, setup->cpus, (ull)f->reclaimed, (ull)f->moved, (ull)f->blocks,
	       (ull)f->reclaim.targets, (ull)f->migration.targets,
	       (ull)(f->reclaim.targets + f->migration.targets), (long long)f->bad_pages);
}

static bool measure(const struct tour_setup *setup, struct compact_figures *f)
{
	static struct cpu_sample before, after;
	struct info_vmstat vm_before, vm_after;

	printf("\ntlb=%s migrate=%s: %s\n", f->tlb, f->migrate, f->what);
	if (!system_set_policy(CONTROL_TLB_POLICY, f->tlb) ||
	    !system_set_policy(CONTROL_MIGRATE_POLICY, f->migrate) ||
	    !system_control(CONTROL_DROP_CACHES, 0, "to drop caches") || !system_cpus(&before) ||
	    !system_vmstat(&vm_before))
		return false;
	f->bad_pages = run_both(setup);
	if (!system_cpus(&after) || !system_vmstat(&vm_after))
		return false;
	f->reclaim = tour_difference(&before, &after, TLB_RECLAIM);
	f->migration = tour_difference(&before, &after, TLB_MIGRATE);
	f->reclaimed = vm_after.unmapped_pages - vm_before.unmapped_pages;
	f->moved = vm_after.pgmigrate_success - vm_before.pgmigrate_success;
	f->blocks = vm_after.thp_fault_alloc - vm_before.thp_fault_alloc;
	print_result(setup, f);
	return true;
}

static void print_table(const struct compact_figures *f, unsigned int n)
{
	printf("\n%-26s %10s %8s %8s %16s %18s\n", "", "reclaimed", "moved", "blocks",
	       "reclaim targets", "migration targets");
	for (; n > 0; n--, f++)
		printf("%-26s %10llu %8llu %8llu %16llu %18llu\n", f->what, (ull)f->reclaimed,
		       (ull)f->moved, (ull)f->blocks, (ull)f->reclaim.targets,
		       (ull)f->migration.targets);
}

bool tour_compact(const struct tour_setup *setup)
{
	struct compact_figures f[] = {
		{ .what = "page by page", .tlb = "page", .migrate = "page" },
		{ .what = "only reclaim in batches", .tlb = "pfn", .migrate = "page" },
		{ .what = "reclaim and migration", .tlb = "pfn", .migrate = "batch" },
	};
	bool ok = true;

	printf("\nCompaction: a file is read by %u processes and reclaimed; then memory is fragmented on "
	       "purpose,\nand as many 2 MiB blocks are asked for as could exist.\n", setup->cpus);
	for (unsigned int i = 0; i < 3; i++)
		if (!measure(setup, &f[i]))
			return false;
	print_table(f, 3);
	for (unsigned int i = 0; i < 3; i++)
		if (f[i].bad_pages != 0 || f[i].blocks == 0) {
			printf("tour: FAILED: compaction, %s: %s\n", f[i].what,
			       f[i].blocks ? "contents were wrong" : "no block was obtained");
			ok = false;
		}
	return ok;
}
