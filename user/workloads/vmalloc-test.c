/*
 * vmalloc-test.c - the cases of Linux's lib/test_vmalloc.c by name, under each purge policy.
 *
 * The cases run in the kernel (tests/kernel/vmtest.c). ns_per_op is time over operations of all
 * threads: under `-icount shift=0` an instruction takes a nanosecond, so it is instructions per
 * operation, waiting included. docs/14-vmalloc.md.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/gather.h"

#define PROGRAM "vmalloc-test"

typedef unsigned long long ull;

static const char usage[] = "usage: vmalloc-test [OPERATIONS [THREADS]]    per thread, 500; threads: "
			    "as many as CPUs\n";

static const char *const policies[] = { "spinlock", "refcount", "mutex", "pernode" };
static const struct {
	const char *name;
	enum vmtest_kind kind;
} cases[] = {
#define X(name) { #name, VMTEST_##name },
	VMTEST_CASES(X)
#undef X
};

static bool measure(unsigned int i, const char *policy, uint64_t rounds, uint32_t threads,
		    bool print)
{
	struct vmtest t = { .kind = cases[i].kind, .threads = threads, .rounds = rounds };

	snprintf(t.policy, sizeof(t.policy), "%s", policy);
	if (gather_vmtest(&t) < 0) {
		fprintf(stderr, PROGRAM ": purge=%s: %s\n", policy, strerror(errno));
		return false;
	}
	if (!print)
		return true;
	printf("RESULT exp=vmalloc case=%s policy=%s cpus=%u threads=%u operations=%llu failed=%llu "
	       "ns_per_op=%llu purges=%llu icr=%llu targets=%llu lazy_peak_pages=%llu\n",
	       cases[i].name, policy, cpus_usable(), threads, (ull)t.operations, (ull)t.failed,
	       (ull)(t.elapsed_ns / t.operations), (ull)t.purges, (ull)t.icr, (ull)t.targets,
	       (ull)t.lazy_peak_pages);
	return t.failed == 0;
}

int main(int argc, char **argv)
{
	uint64_t rounds = 500, threads = cpus_usable();
	bool ok = true;

	if (argc > 3) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (argc > 1)
		rounds = args_number(PROGRAM, "operations", argv[1], 1, 1 << 24);
	if (argc > 2)
		threads = args_number(PROGRAM, "threads", argv[2], 1, 256);
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ok &= measure(i, policies[0], rounds, (uint32_t)threads, false); /* makes page tables */
		for (unsigned int p = 0; p < 4; p++)
			ok &= measure(i, policies[p], rounds, (uint32_t)threads, true);
	}
	return ok ? EXIT_VERIFIED : EXIT_BAD_DATA;
}
