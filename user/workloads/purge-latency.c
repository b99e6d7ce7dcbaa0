/*
 * purge-latency.c - how late a thread of the highest priority wakes while others vmalloc and vfree.
 *
 * The workload and the clock are in the kernel (tests/kernel/vmtest.c); this sets it up and prints
 * the RESULT lines. Under `-icount` with one CPU the figures repeat exactly. docs/14-vmalloc.md.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/gather.h"

#define PROGRAM "purge-latency"

typedef unsigned long long ull;

static const char usage[] =
	"usage: purge-latency [--policy NAME] [--pages N] [--threads N] [--samples N] [--purges N]\n"
	"                     [--random] [--histogram]\n"
	"  --policy   spinlock, refcount, mutex or pernode (default: all)\n"
	"  --pages    lazy_max_pages: the backlog that a purge meets (default 1024, 8192, 32768, 131072)\n"
	"  --threads  that vmalloc and vfree (default 1)\n"
	"  --samples  at least, one a millisecond (default 1000)\n"
	"  --purges   at least (default 4)\n"
	"  --random   1 to 32 pages instead of 2\n"
	"  --quiet    no RESULT lines: load for another program\n";

static const char *const all_policies[] = { "spinlock", "refcount", "mutex", "pernode", NULL };
static const uint64_t all_pages[] = { 1024, 8192, 32768, 131072, 0 };

static struct vmtest setup = { .threads = 1, .rounds = 1000, .min_purges = 4 };
static bool histogram, quiet;

static void print_histogram(const struct vmtest *t)
{
	unsigned int last = VMTEST_BUCKETS - 1;

	while (last > 0 && t->histogram[last] == 0)
		last--;
	for (unsigned int i = 0; i <= last; i++)
		if (t->histogram[i])
			printf("  %10llu ns %8llu\n", 1ull << i, (ull)t->histogram[i]);
}

static bool measure(const char *policy, uint64_t pages)
{
	struct vmtest t = setup;

	t.lazy_max_pages = pages;
	snprintf(t.policy, sizeof(t.policy), "%s", policy);
	if (gather_vmtest(&t) < 0) {
		fprintf(stderr, PROGRAM ": purge=%s: %s\n", policy, strerror(errno));
		return false;
	}
	if (quiet)
		return t.failed == 0;
	printf("RESULT exp=purge policy=%s cpus=%u backlog_pages=%llu sizes=%s threads=%u samples=%llu "
	       "avg_ns=%llu p999_ns=%llu max_ns=%llu purges=%llu flushes=%llu icr=%llu targets=%llu "
	       "lazy_peak_pages=%llu operations=%llu failed=%llu\n",
	       policy, cpus_usable(), (ull)pages,
	       t.kind == VMTEST_LATENCY ? "8KiB" : "random", t.threads, (ull)t.samples,
	       (ull)(t.sum_ns / t.samples), (ull)t.p999_ns, (ull)t.max_ns, (ull)t.purges,
	       (ull)t.flushes, (ull)t.icr, (ull)t.targets, (ull)t.lazy_peak_pages,
	       (ull)t.operations, (ull)t.failed);
	if (histogram)
		print_histogram(&t);
	return t.failed == 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", 1, NULL, 'p' },  { "pages", 1, NULL, 'n' },   { "threads", 1, NULL, 't' },
		{ "samples", 1, NULL, 's' }, { "purges", 1, NULL, 'u' },  { "random", 0, NULL, 'r' },
		{ "histogram", 0, NULL, 'h' }, { "quiet", 0, NULL, 'q' }, { 0 },
	};
	const char *one_policy[] = { NULL, NULL };
	uint64_t one_size[] = { 0, 0 };
	bool ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'p':
			one_policy[0] = optarg;
			break;
		case 'n':
			one_size[0] = args_number(PROGRAM, "--pages", optarg, 1, 1 << 22);
			break;
		case 't':
			setup.threads = (uint32_t)args_number(PROGRAM, "--threads", optarg, 1, 256);
			break;
		case 's':
			setup.rounds = args_number(PROGRAM, "--samples", optarg, 1, 30000);
			break;
		case 'u':
			setup.min_purges = args_number(PROGRAM, "--purges", optarg, 0, 1000000);
			break;
		case 'r':
			setup.kind = VMTEST_LATENCY_RANDOM;
			break;
		case 'h':
			histogram = true;
			break;
		case 'q':
			quiet = true;
			break;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	for (const char *const *p = one_policy[0] ? one_policy : (const char **)all_policies; *p; p++)
		for (const uint64_t *n = one_size[0] ? one_size : all_pages; *n; n++)
			ok &= measure(*p, *n);
	return ok ? EXIT_VERIFIED : EXIT_BROKEN;
}
