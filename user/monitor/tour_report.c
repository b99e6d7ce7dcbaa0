/* tour_report.c - the figures of the tour: printing and checking them. */
#include <stdio.h>
#include <string.h>

#include "user/monitor/tour.h"

#define FOUR_DECIMALS 10000
#define TWO_DECIMALS  100

unsigned int tour_capacity(const struct tour_setup *setup, const struct policy *policy)
{
	return policy->capacity == POLICY_BATCH_PAGE ? setup->batch_capacity : policy->capacity;
}

uint64_t tour_ratio(uint64_t a, uint64_t b, uint64_t scale)
{
	return b == 0 ? 0 : (a * scale + b / 2) / b;
}

static uint64_t targets_per_page(const struct tour_figures *f)
{
	return tour_ratio(f->tlb.targets, f->pages, FOUR_DECIMALS);
}

/* Writes value / scale as a decimal number; scale is a power of ten with `digits` zeroes. */
static const char *decimal(char *out, size_t size, uint64_t value, uint64_t scale, int digits)
{
	snprintf(out, size, "%llu.%0*llu", (ull)(value / scale), digits, (ull)(value % scale));
	return out;
}

void tour_print_result(const struct tour_setup *setup, const struct tour_figures *f)
{
	uint64_t sharers = tour_ratio(f->sharers, f->pages, TWO_DECIMALS);
	char per_page[32], mean[32];

	printf("RESULT exp=reclaim tlb=%s cpus=%u mem_mib=%u file_mib=%u pages=%llu icr=%llu "
	       "targets=%llu taken=%llu coalesced=%llu flushes=%llu freed=%llu sharers=%s "
	       "lazy=%llu targets_per_page=%s bad_pages=%lld\n",
	       f->policy->name, setup->cpus, setup->mem_mib, setup->file_mib, (ull)f->pages,
	       (ull)f->tlb.icr, (ull)f->tlb.targets, (ull)f->tlb.taken, (ull)f->tlb.coalesced,
	       (ull)f->tlb.flushes, (ull)f->tlb.freed,
	       decimal(mean, sizeof(mean), sharers, TWO_DECIMALS, 2), (ull)f->tlb.lazy,
	       decimal(per_page, sizeof(per_page), targets_per_page(f), FOUR_DECIMALS, 4),
	       (long long)f->bad_pages);
}

/* ---- Checks ------------------------------------------------------------------------------- */

static bool failed(const struct tour_figures *f, const char *what)
{
	printf("tour: FAILED: tlb=%s: %s\n", f->policy->name, what);
	return false;
}

/*
 * The bounds are those of 8 CPUs, in ten-thousandths; with more CPUs there are more targets, in
 * proportion to the other CPUs.
 */
static bool below(const struct tour_setup *setup, const struct tour_figures *f, uint64_t bound)
{
	return targets_per_page(f) <= bound * (setup->cpus - 1) / 7;
}

static bool check_bounds(const struct tour_setup *setup, const struct tour_figures *f)
{
	const char *name = f->policy->name;
	bool shared = f->sharers >= 6 * f->pages;

	if (setup->cpus < 8)
		return true;
	/* An idle CPU that was skipped is as good as interrupted: it flushes before it goes on. */
	if (strcmp(name, "page") == 0 && shared && f->tlb.targets + f->tlb.lazy < 6 * f->pages)
		return failed(f, "fewer than 6 targets a page: is it really page by page?");
	if (strcmp(name, "batch32") == 0 && !below(setup, f, 2300))
		return failed(f, "more than 0.23 targets a page (8 CPUs): batches are not full");
	if (strcmp(name, "pfn") == 0 && !below(setup, f, 160))
		return failed(f, "more than 0.016 targets a page (8 CPUs): batches are not full");
	return true;
}

bool tour_check(const struct tour_setup *setup, const struct tour_figures *f)
{
	bool ok = true;

	if (f->bad_pages != 0)
		ok = failed(f, "the workload did not find every page right");
	if (f->pages == 0)
		ok = failed(f, "reclaim has not unmapped a page");
	if (f->tlb.taken + f->tlb.coalesced != f->tlb.targets)
		ok = failed(f, "interrupts taken and coalesced do not add up to the targets");
	return check_bounds(setup, f) && ok;
}

/* ---- The table ---------------------------------------------------------------------------- */

static void print_row(const struct tour_setup *setup, const struct tour_figures *f)
{
	uint64_t sharers = tour_ratio(f->sharers, f->pages, TWO_DECIMALS);
	unsigned int capacity = tour_capacity(setup, f->policy);
	uint64_t bound = tour_ratio(f->sharers, f->pages * capacity, FOUR_DECIMALS);
	char per_page[32], mean[32], lower[32];

	printf("%-8s %8llu %10llu %8llu %10llu %9llu %8llu %8llu %12s %10s   %s = n/%u\n",
	       f->policy->name, (ull)f->pages, (ull)f->tlb.icr, (ull)f->tlb.targets,
	       (ull)f->tlb.taken, (ull)f->tlb.coalesced, (ull)f->tlb.flushes, (ull)f->tlb.freed,
	       decimal(per_page, sizeof(per_page), targets_per_page(f), FOUR_DECIMALS, 4),
	       decimal(mean, sizeof(mean), sharers, TWO_DECIMALS, 2),
	       decimal(lower, sizeof(lower), bound, FOUR_DECIMALS, 4), capacity);
}

/* How many times fewer targets a page b needs than a, and why. Silent when it gains nothing. */
static void print_gain(const struct tour_figures *a, const struct tour_figures *b, const char *why)
{
	uint64_t gain = tour_ratio(a->tlb.targets * b->pages, b->tlb.targets * a->pages, 10);
	char times[32];

	if (gain > 10)
		printf("%s needs %s times fewer targets a page than %s: %s.\n", b->policy->name,
		       decimal(times, sizeof(times), gain, 10, 1), a->policy->name, why);
}

static const struct tour_figures *figures_of(const struct tour_figures f[], const char *name)
{
	while (strcmp(f->policy->name, name) != 0)
		f++;
	return f;
}

static void print_lesson(const struct tour_setup *setup, const struct tour_figures f[])
{
	const struct tour_figures *page = figures_of(f, "page"), *pfn = figures_of(f, "pfn");
	uint64_t others = tour_ratio(page->sharers, page->pages, TWO_DECIMALS);
	char n[32], targets[32], why[128];

	if (page->tlb.targets == 0) {
		puts("\nNo other CPU had to be told of anything: there is nothing to batch.");
		return;
	}
	printf("\nA page was mapped by n = %s other CPUs on average, and each of them may hold its "
	       "translation.\nFlushed page by page, that cost %s targets a page.\n",
	       decimal(n, sizeof(n), others, TWO_DECIMALS, 2),
	       decimal(targets, sizeof(targets), targets_per_page(page), FOUR_DECIMALS, 4));
	if (page->tlb.lazy > page->tlb.targets / 10)
		printf("Of the CPUs to tell, %llu were idle and skipped: they catch up before they "
		       "run user code.\n", (ull)page->tlb.lazy);
	print_gain(page, figures_of(f, "batch32"), "32 pages share a round of interrupts");
	snprintf(why, sizeof(why), "frames wait in limbo over scan rounds, and %u share a round",
		 setup->batch_capacity);
	print_gain(page, pfn, why);
	print_gain(figures_of(f, "full"), pfn,
		   "without frame numbers, a flush must end each scan round of 32 pages");
}

void tour_print_table(const struct tour_setup *setup, const struct tour_figures f[NR_POLICIES])
{
	printf("\n%-8s %8s %10s %8s %10s %9s %8s %8s %12s %10s   %s\n", "policy", "pages",
	       "ICR writes", "targets", "interrupts", "coalesced", "flushes", "freed",
	       "targets/page", "n: others*", "lower bound");
	for (unsigned int i = 0; i < NR_POLICIES; i++)
		print_row(setup, &f[i]);
	puts("* other CPUs that mapped the page, on average");
	print_lesson(setup, f);
}
