/*
 * fragment.c - fragments memory on purpose, and then asks for 2 MiB blocks from several processes.
 *
 * One process fills most of memory with pages of known contents and gives every second one back:
 * half of that memory is free then, and no two free frames lie side by side. The others ask for 2
 * MiB mappings (madvise MADV_HUGEPAGE), as many as could exist if all free memory were in one
 * piece. What they get, they got by compaction. Meanwhile the first keeps reading and checking the
 * pages it has left, which are the ones that must move. With --sharers, children of the first read
 * the same pages on other CPUs, so that every page that is moved must be forgotten by several.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/crew.h"
#include "user/lib/gather.h"
#include "user/lib/gen.h"

#define PROGRAM    "fragment"
#define BLOCK      ((size_t)2 << 20)
#define BLOCK_PAGES (BLOCK / GEN_PAGE_SIZE)
#define FILL_PERCENT 99 /* of the free frames above the low watermark: the rest is for page tables */

#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE 14
#endif

struct shared {
	struct barrier begin, end;
	uint64_t free_pages, blocks_each, huge_before;
	atomic_ullong bad_pages;
	atomic_uint children_left, sharers_ready;
};

static struct shared *shared;
static unsigned int procs = 4, sharers;
static const char *count_file;
#define MAX_SHARERS 64
static char *filler;
static uint64_t filler_pages;

static const char usage[] =
	"usage: fragment [-n PROCESSES] [--sharers N] [--count FILE]    (default: 4, 0)\n"
	"exit status: 0 all contents right, 1 bad contents, 2 usage, 3 could not run\n";

static bool system_of(struct info_system *sys)
{
	if (gather_info(INFO_SYSTEM, sys, sizeof(*sys)) >= 0)
		return true;
	fprintf(stderr, PROGRAM ": only Gather tells what it needs to know: %s\n", strerror(errno));
	return false;
}

static uint64_t huge_faults(void)
{
	struct info_vmstat stat;

	return gather_info(INFO_VMSTAT, &stat, sizeof(stat)) < 0 ? 0 : stat.thp_fault_alloc;
}

/* ---- The pages in the way -------------------------------------------------------------------- */

/* Page tables first: they are the kernel's and stay where they are, so they should lie together. */
static bool fill_memory(void)
{
	struct info_system sys;

	if (!system_of(&sys))
		return false;
	filler_pages = (sys.mem_free_pages - sys.watermark_low) * FILL_PERCENT / 100;
	filler = mmap(NULL, filler_pages * GEN_PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (filler == MAP_FAILED) {
		fprintf(stderr, PROGRAM ": %s\n", strerror(errno));
		return false;
	}
	for (uint64_t page = 0; page < filler_pages; page += BLOCK_PAGES)
		filler[page * GEN_PAGE_SIZE] = 1;
	for (uint64_t page = 0; page < filler_pages; page++)
		gen_fill(filler + page * GEN_PAGE_SIZE, page);
	return true;
}

static void give_every_second_page_back(void)
{
	for (uint64_t page = 1; page < filler_pages; page += 2)
		madvise(filler + page * GEN_PAGE_SIZE, GEN_PAGE_SIZE, MADV_DONTNEED);
}

static uint64_t check_filler(void)
{
	uint64_t bad = 0;

	for (uint64_t page = 0; page < filler_pages; page += 2) {
		bad += gen_mismatch(filler + page * GEN_PAGE_SIZE, page) != 0;
		__builtin_ia32_pause(); /* an emulator goes on to the next CPU here */
	}
	return bad;
}

static int share(unsigned int sharer)
{
	uint64_t bad = 0;

	if (cpus_unpin() != 0 || cpus_pin(procs + 1 + sharer) != 0)
		return EXIT_BROKEN;
	bad += check_filler();
	atomic_fetch_add(&shared->sharers_ready, 1);
	while (atomic_load(&shared->children_left))
		bad += check_filler();
	atomic_fetch_add(&shared->bad_pages, bad);
	return bad ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

static bool start_sharers(pid_t pids[])
{
	for (unsigned int i = 0; i < sharers; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			exit(share(i));
		if (pids[i] < 0)
			return false;
	}
	while (atomic_load(&shared->sharers_ready) < sharers)
		usleep(1000);
	return true;
}

static bool sharers_ended_well(const pid_t pids[])
{
	bool well = true;
	int status;

	for (unsigned int i = 0; i < sharers; i++)
		well &= waitpid(pids[i], &status, 0) == pids[i] && WIFEXITED(status) &&
			WEXITSTATUS(status) == EXIT_VERIFIED;
	return well;
}

static int filler_job(void)
{
	struct info_system sys;
	pid_t pids[MAX_SHARERS];

	if (!fill_memory())
		return EXIT_BROKEN;
	give_every_second_page_back();
	if (!start_sharers(pids) || !system_of(&sys))
		return EXIT_BROKEN;
	shared->free_pages = sys.mem_free_pages;
	shared->blocks_each = (sys.mem_free_pages - sys.watermark_low) / BLOCK_PAGES / procs;
	shared->huge_before = huge_faults();
	printf(PROGRAM ": %llu of %llu pages are free; %llu blocks of 2 MiB could exist\n",
	       (unsigned long long)sys.mem_free_pages, (unsigned long long)sys.mem_total_pages,
	       (unsigned long long)(shared->blocks_each * procs));
	if (!barrier_wait(&shared->begin))
		return EXIT_BROKEN;
	do
		atomic_fetch_add(&shared->bad_pages, check_filler());
	while (atomic_load(&shared->children_left));
	return sharers_ended_well(pids) && barrier_wait(&shared->end) ? EXIT_VERIFIED : EXIT_BROKEN;
}

/* ---- Those who want blocks ------------------------------------------------------------------- */

static int want_blocks(unsigned int member)
{
	uint64_t first = gen_first_page(member), bad = 0, i;
	size_t bytes;
	char *area, *at;

	if (!barrier_wait(&shared->begin))
		return EXIT_BROKEN;
	bytes = (shared->blocks_each + 1) * BLOCK;
	area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = (char *)(((uintptr_t)area + BLOCK - 1) & ~(BLOCK - 1));
	if (area == MAP_FAILED || madvise(at, shared->blocks_each * BLOCK, MADV_HUGEPAGE) != 0)
		return EXIT_BROKEN;
	for (i = 0; i < shared->blocks_each; i++) /* the first access asks for the block */
		gen_fill(at + i * BLOCK, first + i);
	for (i = 0; i < shared->blocks_each; i++)
		bad += gen_mismatch(at + i * BLOCK, first + i) != 0;
	atomic_fetch_add(&shared->bad_pages, bad);
	atomic_fetch_sub(&shared->children_left, 1);
	/* All keep what they have until all have asked. */
	return barrier_wait(&shared->end) ? EXIT_VERIFIED : EXIT_BROKEN;
}

static int member_job(unsigned int member, void *unused)
{
	(void)unused;
	return member == 0 ? filler_job() : want_blocks(member);
}

static int run(void)
{
	uint64_t could, got;
	int status;

	shared = shared_alloc(PROGRAM, sizeof(*shared));
	barrier_init(&shared->begin, procs + 1);
	barrier_init(&shared->end, procs + 1);
	atomic_store(&shared->children_left, procs);
	status = crew_run(PROGRAM, procs + 1, member_job, NULL, &shared->begin);
	if (status == EXIT_BROKEN)
		return status;
	got = huge_faults() - shared->huge_before;
	could = shared->blocks_each * procs;
	printf("RESULT workload=fragment procs=%u free_pages=%llu could=%llu got=%llu percent=%llu "
	       "bad_pages=%llu\n",
	       procs, (unsigned long long)shared->free_pages, (unsigned long long)could,
	       (unsigned long long)got, (unsigned long long)(could ? got * 100 / could : 0),
	       (unsigned long long)atomic_load(&shared->bad_pages));
	if (count_file && !args_write_count(PROGRAM, count_file, atomic_load(&shared->bad_pages)))
		return EXIT_BROKEN;
	return atomic_load(&shared->bad_pages) ? EXIT_BAD_DATA : status;
}

int main(int argc, char **argv)
{
	static const struct args_option options[] = {
		{ "-n", .number = &procs, .min = 1, .max = CREW_MAX - 1 },
		{ "--sharers", .number = &sharers, .max = MAX_SHARERS },
		{ "--count", .text = &count_file },
		{ 0 },
	};

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	return run();
}
