/*
 * churn.c - threads of one process change its address space under each other's feet.
 *
 * Each round of each thread maps, protects, discards and unmaps memory and forks, and checks what
 * the manual promises after each step. All threads run in one address space, so every change has
 * to reach the TLBs of the CPUs the others run on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/gen.h"

#define PROGRAM     "churn"
#define MAX_THREADS 256
#define PAGES       16
#define BYTES       ((size_t)PAGES * GEN_PAGE_SIZE)

struct worker {
	pthread_t thread;
	unsigned int index;
	/* One page whose contents the owner discards while the next thread reads it. */
	_Atomic(atomic_ullong *) page;
	atomic_ullong published; /* the page holds this version, or 0 while it is replaced */
};

static struct worker workers[MAX_THREADS];
static unsigned int nr_threads, nr_rounds;
static atomic_ullong errors;
static pthread_barrier_t started, ended;

static const char usage[] =
	"usage: churn [-t THREADS] [--rounds N]    (default: a thread per CPU, 50 rounds)\n"
	"exit status: 0 all verified, 1 errors, 2 usage, 3 could not start\n";

static void failed(const struct worker *w, const char *what)
{
	if (atomic_fetch_add(&errors, 1) < 10)
		fprintf(stderr, PROGRAM ": thread %u: %s\n", w->index, what);
}

/* ---- Memory with a pattern ---------------------------------------------------------------- */

static uint64_t pattern(const struct worker *w, unsigned int round, unsigned int version)
{
	return ((uint64_t)w->index << 40) + ((uint64_t)round << 8) + version;
}

static uint64_t *map_pages(const struct worker *w)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		return p;
	failed(w, "mmap failed");
	return NULL;
}

static void unmap_pages(const struct worker *w, void *p, size_t bytes)
{
	if (munmap(p, bytes) != 0)
		failed(w, "munmap failed");
}

/* First and last word of each page; [from, to) are page numbers. */
static void fill(uint64_t *p, unsigned int from, unsigned int to, uint64_t value)
{
	for (unsigned int page = from; page < to; page++) {
		p[page * GEN_WORDS] = value + page;
		p[(page + 1) * GEN_WORDS - 1] = ~(value + page);
	}
}

static bool holds(const volatile uint64_t *p, unsigned int from, unsigned int to, uint64_t value)
{
	for (unsigned int page = from; page < to; page++)
		if (p[page * GEN_WORDS] != value + page ||
		    p[(page + 1) * GEN_WORDS - 1] != ~(value + page))
			return false;
	return true;
}

/* ---- The four things done in a round ------------------------------------------------------ */

static void churn_map(const struct worker *w, unsigned int round)
{
	uint64_t *p = map_pages(w), value = pattern(w, round, 1);

	if (!p)
		return;
	for (unsigned int i = 0; i < BYTES / sizeof(*p); i += GEN_WORDS)
		if (p[i] != 0)
			failed(w, "new memory is not zero");
	fill(p, 0, PAGES, value);
	unmap_pages(w, (char *)p + 4 * GEN_PAGE_SIZE, 4 * GEN_PAGE_SIZE);
	if (!holds(p, 0, 4, value) || !holds(p, 8, PAGES, value))
		failed(w, "munmap of the middle changed the rest");
	unmap_pages(w, p, BYTES); /* a hole in the range is no error */
}

/*
 * A store to a read-only page would kill the process, so the kernel is asked to store: it must
 * answer EFAULT, also when this CPU has just used the page as a writable one.
 */
static bool kernel_can_write(void *p)
{
	return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, p) == 0 || errno != EFAULT;
}

static void churn_protect(const struct worker *w, unsigned int round)
{
	uint64_t *p = map_pages(w), value = pattern(w, round, 2);

	if (!p)
		return;
	fill(p, 0, PAGES, value);
	if (mprotect(p, BYTES / 2, PROT_READ) != 0)
		failed(w, "mprotect failed");
	if (kernel_can_write(p) || kernel_can_write((char *)p + BYTES / 2 - GEN_PAGE_SIZE))
		failed(w, "a read-only page was written");
	if (!holds(p, 0, PAGES, value))
		failed(w, "mprotect changed the contents");
	if (mprotect(p, BYTES / 2, PROT_READ | PROT_WRITE) != 0)
		failed(w, "mprotect back failed");
	fill(p, 0, PAGES, value + 1);
	if (!holds(p, 0, PAGES, value + 1))
		failed(w, "stores after mprotect were lost");
	unmap_pages(w, p, BYTES);
}

/* The child may only call what is safe after a fork of one thread among many. */
static void fork_child(uint64_t *p, uint64_t value)
{
	if (!holds(p, 0, PAGES, value))
		_exit(1);
	fill(p, 0, PAGES, value + 3);
	_exit(holds(p, 0, PAGES, value + 3) ? 0 : 2);
}

static void check_child(const struct worker *w, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		failed(w, "waitpid failed");
	else if (!WIFEXITED(status))
		failed(w, "a child was killed");
	else if (WEXITSTATUS(status) == 1)
		failed(w, "a child does not see the memory as it was at the fork");
	else if (WEXITSTATUS(status) != 0)
		failed(w, "a child lost its own stores");
}

static void churn_fork(const struct worker *w, unsigned int round)
{
	uint64_t *p = map_pages(w), value = pattern(w, round, 4);
	pid_t pid;

	if (!p)
		return;
	fill(p, 0, PAGES, value);
	pid = fork();
	if (pid == 0)
		fork_child(p, value);
	if (pid < 0)
		failed(w, "fork failed");
	fill(p, 0, PAGES / 2, value + 1); /* must not reach the child */
	if (pid > 0)
		check_child(w, pid);
	if (!holds(p, 0, PAGES / 2, value + 1) || !holds(p, PAGES / 2, PAGES, value))
		failed(w, "the parent's memory changed");
	unmap_pages(w, p, BYTES);
}

/* Discards the own page and publishes a new version; reads the neighbour's, which does the same. */
static void churn_discard(struct worker *w, unsigned int round)
{
	struct worker *next = &workers[(w->index + 1) % nr_threads];
	atomic_ullong *own = atomic_load(&w->page), *other = atomic_load(&next->page);

	if (madvise((void *)own, GEN_PAGE_SIZE, MADV_DONTNEED) != 0)
		failed(w, "madvise failed");
	if (atomic_load(own) != 0)
		failed(w, "a discarded page kept its contents");
	atomic_store(own, round + 1);
	atomic_store(&w->published, round + 1);
	for (int i = 0; i < 100; i++) {
		unsigned long long version = atomic_load(&next->published);
		unsigned long long found = atomic_load(other);

		if (found != 0 && found < version)
			failed(w, "a discarded page was read through a stale translation");
	}
}

/* ---- Threads ------------------------------------------------------------------------------ */

static void *worker_main(void *argument)
{
	struct worker *w = argument;
	void *page = map_pages(w);

	cpus_pin(w->index);
	if (!page)
		exit(EXIT_BROKEN);
	atomic_store(&w->page, page);
	pthread_barrier_wait(&started);
	for (unsigned int round = 0; round < nr_rounds; round++) {
		churn_map(w, round);
		churn_protect(w, round);
		churn_discard(w, round);
		churn_fork(w, round);
		if (w->index == 0 && nr_rounds >= 10 && (round + 1) % (nr_rounds / 10) == 0)
			printf(PROGRAM ": %u%%\n", (round + 1) * 100 / nr_rounds);
	}
	pthread_barrier_wait(&ended); /* neighbours read this thread's page until here */
	unmap_pages(w, page, BYTES);
	return NULL;
}

static int run(void)
{
	pthread_barrier_init(&started, NULL, nr_threads);
	pthread_barrier_init(&ended, NULL, nr_threads);
	for (unsigned int i = 0; i < nr_threads; i++) {
		workers[i].index = i;
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0) {
			fprintf(stderr, PROGRAM ": cannot start thread %u\n", i);
			return EXIT_BROKEN;
		}
	}
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(workers[i].thread, NULL);
	printf("RESULT workload=churn threads=%u rounds=%u errors=%llu\n", nr_threads, nr_rounds,
	       (unsigned long long)atomic_load(&errors));
	return atomic_load(&errors) ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

int main(int argc, char **argv)
{
	static const struct args_option options[] = {
		{ "-t", .number = &nr_threads, .min = 1, .max = MAX_THREADS },
		{ "--rounds", .number = &nr_rounds, .min = 1, .max = 10000000 },
		{ 0 },
	};

	nr_threads = cpus_usable();
	nr_rounds = 50;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	return run();
}
