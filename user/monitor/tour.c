/* tour.c - measures what reclaim costs under each TLB flush policy, and migration under two. */
#include "user/monitor/tour.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/gen.h"
#include "user/monitor/commands.h"
#include "user/monitor/program.h"
#include "user/monitor/tour_compact.h"
#include "user/monitor/tour_migrate.h"

#define ROUND_MIB 4 /* file sizes are multiples of this */

static struct cpu_sample before, after;

/* ---- The plan ----------------------------------------------------------------------------- */

/* Four times memory: each page is reclaimed long before it is read to the end of the file. */
static unsigned int default_file_mib(const struct info_system *sys)
{
	uint64_t pages = 4 * sys->mem_boot_pages, unit = ROUND_MIB * GEN_PAGES_PER_MIB;
	uint64_t mib = (pages + unit - 1) / unit * ROUND_MIB;

	return mib < GEN_MAX_MIB ? (unsigned int)mib : GEN_MAX_MIB;
}

static void print_machine(const struct info_system *sys)
{
	char model[CPU_MODEL_SIZE];

	cpu_model(model);
	printf("Gather on %u CPUs (%s, %s), %llu MiB of memory managed of %llu MiB.\n",
	       sys->cpus_online, model, sys->apic_mode,
	       (ull)MIB_OF(sys->mem_total_pages), (ull)MIB_OF(sys->mem_boot_pages));
	printf("Watermarks: min %llu, low %llu, high %llu pages. A batch holds %u frame numbers.\n",
	       (ull)sys->watermark_min, (ull)sys->watermark_low, (ull)sys->watermark_high,
	       sys->batch_capacity);
}

static void print_plan(const struct tour_setup *setup)
{
	printf("Plan: for each of %u policies, %u processes, one per CPU, read a file of %u MiB in "
	       "lockstep\nand verify every word, while reclaim takes the pages away behind them.\n",
	       NR_POLICIES, setup->cpus, setup->file_mib);
	if (setup->file_mib > 1024)
		puts("That takes long; `tour MiB` reads less (choose more than the memory).");
}

/* ---- One policy --------------------------------------------------------------------------- */

/* Targets and interrupts are counted on different CPUs: equal samples mean none is on its way. */
static bool sample_at_rest(struct cpu_sample *sample)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct tlb_counters last = { 0 };

	for (int tries = 0; tries < 100; tries++) {
		struct info_system sys;
		struct tlb_counters now;

		if (!system_cpus(sample) || !system_info(&sys))
			return false;
		now = tlb_counters_of(sample, TLB_RECLAIM);
		if (tries > 0 && sys.limbo_pages == 0 && memcmp(&now, &last, sizeof(now)) == 0)
			return true;
		last = now;
		nanosleep(&pause, NULL);
	}
	puts("tour: the flush counters do not come to rest; the figures may be a little off");
	return true;
}

struct tlb_counters tour_difference(const struct cpu_sample *a, const struct cpu_sample *b,
				    enum tlb_reason reason)
{
	struct tlb_counters from = tlb_counters_of(a, reason), to = tlb_counters_of(b, reason);

	return (struct tlb_counters){
		.icr = to.icr - from.icr,
		.targets = to.targets - from.targets,
		.taken = to.taken - from.taken,
		.coalesced = to.coalesced - from.coalesced,
		.flushes = to.flushes - from.flushes,
		.freed = to.freed - from.freed,
		.lazy = to.lazy - from.lazy,
	};
}

#define COUNT_FILE "/tmp/tour.bad_pages"

int64_t tour_read_count(const char *path)
{
	FILE *file = fopen(path, "r");
	long long bad;

	if (!file || fscanf(file, "%lld", &bad) != 1)
		bad = -1;
	if (file)
		fclose(file);
	return bad;
}

/* How many bad pages the readers found; -1: they did not finish. */
static int64_t run_readers(const struct tour_setup *setup)
{
	char cpus[16], mib[16];
	char *argv[] = { "lru-read", "--lockstep", "-n", cpus, "--mib", mib,
			 "--count", COUNT_FILE, NULL };
	int64_t bad;

	snprintf(cpus, sizeof(cpus), "%u", setup->cpus);
	snprintf(mib, sizeof(mib), "%u", setup->file_mib);
	unlink(COUNT_FILE);
	if (program_run(argv))
		return tour_read_count(COUNT_FILE);
	bad = tour_read_count(COUNT_FILE);
	return bad > 0 ? bad : -1;
}

/* False only when it could not be measured; a bad page is in the figures. */
static bool measure(const struct tour_setup *setup, struct tour_figures *f)
{
	struct info_vmstat vm_before, vm_after;

	printf("\ntlb=%s: %s\n", f->policy->name, f->policy->meaning);
	if (!system_set_policy(CONTROL_TLB_POLICY, f->policy->name) ||
	    !system_control(CONTROL_DROP_CACHES, 0, "to drop caches") ||
	    !sample_at_rest(&before) || !system_vmstat(&vm_before))
		return false;
	f->bad_pages = run_readers(setup);
	if (!sample_at_rest(&after) || !system_vmstat(&vm_after))
		return false;
	f->tlb = tour_difference(&before, &after, TLB_RECLAIM);
	f->pages = vm_after.unmapped_pages - vm_before.unmapped_pages;
	f->sharers = vm_after.unmapped_sharers - vm_before.unmapped_sharers;
	tour_print_result(setup, f);
	return true;
}

/* ---- The tour ----------------------------------------------------------------------------- */

static bool measure_all(const struct tour_setup *setup)
{
	struct tour_figures figures[NR_POLICIES] = { 0 };
	bool ok = true;

	for (unsigned int i = 0; i < NR_POLICIES; i++) {
		figures[i].policy = &policies[i];
		if (!measure(setup, &figures[i]))
			return false;
	}
	tour_print_table(setup, figures);
	for (unsigned int i = 0; i < NR_POLICIES; i++)
		ok &= tour_check(setup, &figures[i]);
	if (!system_set_policy(CONTROL_TLB_POLICY, "pfn"))
		return false;
	ok &= tour_migrate(setup);
	ok &= tour_compact(setup);
	ok &= tour_purge(setup->cpus);
	puts(ok ? "tour: all checks passed" : "tour: FAILED");
	return ok;
}

bool command_tour(int argc, char **argv)
{
	struct info_system sys;
	struct tour_setup setup;
	uint64_t mib;
	bool ok;

	if (!system_info(&sys))
		return false;
	mib = default_file_mib(&sys);
	if (argc > 1 && !args_parse(argv[1], 1, GEN_MAX_MIB, &mib)) {
		printf("tour: a size is a number of MiB from 1 to %u\n", GEN_MAX_MIB);
		return false;
	}
	setup = (struct tour_setup){
		.cpus = sys.cpus_online < MAX_CPUS ? sys.cpus_online : MAX_CPUS,
		.file_mib = (unsigned int)mib,
		.mem_mib = (unsigned int)MIB_OF(sys.mem_total_pages),
		.batch_capacity = sys.batch_capacity,
	};
	print_machine(&sys);
	print_plan(&setup);
	ok = measure_all(&setup);
	return system_set_policy(CONTROL_TLB_POLICY, sys.tlb_policy) &&
	       system_set_policy(CONTROL_MIGRATE_POLICY, sys.migrate_policy) && ok;
}
