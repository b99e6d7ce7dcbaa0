/*
 * movers.c - threads store into pages while these pages are moved to other frames.
 *
 * All threads of one process run in one address space. Each has a counter of its own in every page
 * and remembers what it last stored there: a store that went into an old frame after the copy was
 * taken is missing at the next visit. The first words of the pages are links of one long ring: who
 * follows it must come back to the start. Thread 0 also moves the pages, all of them, again and
 * again.
 *
 * The pages are a mixture: private memory, memory shared with a child process, a mapped file, and
 * private memory that the child still shares copy-on-write; the child checks that what it has of
 * the last never changes. With pressure, a reader of a large file makes the kernel reclaim
 * meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
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
#include "user/lib/mapfile.h"

#define PROGRAM     "movers"
#define MAX_THREADS 56 /* a cache line a thread would be nice; one word each, behind the link */
#define FIRST_SLOT  8
#define RING_STEP   97 /* no divisor of usual numbers of pages: one ring */
#define SNAPSHOT    (GEN_WORDS - 1) /* the word that the child looks at */
#define FILE_NAME   "/tmp/movers"

enum kind { KIND_PRIVATE, KIND_SHARED, KIND_FILE, KIND_COW, NR_KINDS };

static const char *const kind_names[] = {"anon", "shared", "file", "cow"};

struct worker {
	pthread_t thread;
	unsigned int index;
	uint64_t *last; /* what this thread last stored in each page */
	uint64_t stores, lost;
};

struct shared {
	atomic_bool stop;
	atomic_uint helpers_ready;
	atomic_ullong snapshots_changed, bad_reads;
};

static struct worker workers[MAX_THREADS];
static struct move_result moved;
static struct shared *shared;
static volatile uint64_t **pages; /* page number -> address */
static uint64_t *regions[NR_KINDS];
static const char *count_file;
static bool wanted[NR_KINDS] = {true, true, true, true};
static unsigned int pages_per_kind;
static unsigned int nr_threads, nr_pages = 512, nr_rounds = 20, pressure_mib;
static atomic_ullong broken_rings;
static pthread_barrier_t started;

static const char usage[] =
	"usage: movers [-t THREADS] [--pages N] [--rounds N] [--kind anon|shared|file|cow] "
	"[--pressure-mib N] [--count FILE]\n"
	"(default: a thread per CPU, 512 pages of all kinds, moved 20 times, no pressure)\n"
	"exit status: 0 nothing lost, 1 stores lost, 2 usage, 3 could not run\n";

static void __attribute__((noreturn)) broken(const char *what)
{
	fprintf(stderr, PROGRAM ": %s: %s\n", what, strerror(errno));
	exit(EXIT_BROKEN);
}

/* An emulator that runs the CPUs in turn goes on to the next one here. */
static void let_others_run(void)
{
	__builtin_ia32_pause();
}

/* ---- The pages ------------------------------------------------------------------------------ */

static void *map_region(enum kind kind, size_t bytes)
{
	int flags = kind == KIND_SHARED ? MAP_SHARED | MAP_ANONYMOUS :
		    kind == KIND_FILE	? MAP_SHARED :
					  MAP_PRIVATE | MAP_ANONYMOUS;
	int fd = -1;
	void *base;

	if (kind == KIND_FILE) {
		fd = open(FILE_NAME, O_RDWR | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
			broken(FILE_NAME);
	}
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (base == MAP_FAILED)
		broken("mmap");
	if (fd >= 0)
		close(fd);
	return base;
}

/* Pages of all kinds, linked to one ring that visits them in an order of no system. */
static void make_pages(void)
{
	unsigned int kinds = 0, n = 0;

	for (int kind = 0; kind < NR_KINDS; kind++)
		kinds += wanted[kind];
	pages_per_kind = (nr_pages + kinds - 1) / kinds;
	nr_pages = pages_per_kind * kinds;
	pages = malloc(nr_pages * sizeof(*pages));
	if (!pages)
		broken("memory");
	for (int kind = 0; kind < NR_KINDS; kind++) {
		if (!wanted[kind])
			continue;
		regions[kind] = map_region(kind, (size_t)pages_per_kind * GEN_PAGE_SIZE);
		for (unsigned int i = 0; i < pages_per_kind; i++)
			pages[n++] = regions[kind] + i * GEN_WORDS;
	}
	for (unsigned int i = 0; i < nr_pages; i++) {
		pages[i][0] = (i + RING_STEP) % nr_pages;
		pages[i][SNAPSHOT] = i;
	}
}

/* nr_pages steps of any length come back to the start. */
static bool ring_closes(void)
{
	uint64_t at = 0;

	for (unsigned int i = 0; i < nr_pages; i++) {
		at = pages[at][0];
		let_others_run();
		if (at >= nr_pages)
			return false;
	}
	return at == 0;
}

/* ---- Helpers: processes beside --------------------------------------------------------------- */

/* Has a copy of everything, as it was: the copy must not change, whoever moves and writes. */
static int watch_snapshot(void)
{
	/* The last kind's pages are the last ones. */
	unsigned int first = wanted[KIND_COW] ? nr_pages - pages_per_kind : nr_pages, changed = 0;

	atomic_fetch_add(&shared->helpers_ready, 1);
	for (; !atomic_load(&shared->stop); let_others_run())
		for (unsigned int i = first; i < nr_pages; i++) {
			changed += pages[i][SNAPSHOT] != i || pages[i][FIRST_SLOT] != 0;
			let_others_run();
		}
	atomic_fetch_add(&shared->snapshots_changed, changed);
	return changed ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

static int read_file(void)
{
	char path[64];
	uint64_t bad = 0;
	struct mapfile m;

	snprintf(path, sizeof(path), "/gen/%u", pressure_mib);
	if (!mapfile_open(&m, PROGRAM, path, false))
		return EXIT_BROKEN;
	atomic_fetch_add(&shared->helpers_ready, 1);
	for (uint64_t page = 0; !atomic_load(&shared->stop); page = (page + 1) % m.pages)
		bad += gen_mismatch(mapfile_page(&m, page), page) != 0;
	atomic_fetch_add(&shared->bad_reads, bad);
	return bad ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

static pid_t start_helper(int (*job)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		broken("fork");
	if (pid == 0)
		_exit(job());
	return pid;
}

static bool helper_ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == EXIT_VERIFIED;
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* A plain load and a plain store: nothing hides a store that went elsewhere. */
static void store_everywhere(struct worker *w)
{
	for (unsigned int i = 0; i < nr_pages; i++) {
		volatile uint64_t *slot = &pages[i][FIRST_SLOT + w->index];
		uint64_t found = *slot;

		if (found != w->last[i]) {
			if (w->lost++ == 0)
				fprintf(stderr, PROGRAM ": page %u, thread %u: stored %llu, found %llu\n",
					i, w->index, (unsigned long long)w->last[i],
					(unsigned long long)found);
		}
		*slot = w->last[i] = found + 1;
		w->stores++;
		let_others_run();
	}
}

static void move_everything(void)
{
	for (int kind = 0; kind < NR_KINDS; kind++) {
		struct move_result result;

		if (!wanted[kind])
			continue;
		if (gather_move_range(regions[kind], (size_t)pages_per_kind * GEN_PAGE_SIZE,
				      MOVE_ANY_NODE, &result) != 0)
			broken("moving pages (only Gather can)");
		moved.moved += result.moved;
		moved.failed += result.failed;
		if (result.passes > moved.passes)
			moved.passes = result.passes;
	}
}

static void *worker_main(void *argument)
{
	struct worker *w = argument;

	cpus_pin(w->index);
	pthread_barrier_wait(&started);
	for (unsigned int round = 0; w->index == 0 ? round < nr_rounds : !atomic_load(&shared->stop);
	     round++) {
		store_everywhere(w);
		if (w->index == 0)
			move_everything();
		if (!ring_closes())
			atomic_fetch_add(&broken_rings, 1);
		if (w->index == 0 && nr_rounds >= 10 && (round + 1) % (nr_rounds / 10) == 0)
			printf(PROGRAM ": %u%%\n", (round + 1) * 100 / nr_rounds);
	}
	if (w->index == 0)
		atomic_store(&shared->stop, true);
	return NULL;
}

static void start_threads(void)
{
	pthread_barrier_init(&started, NULL, nr_threads);
	for (unsigned int i = 0; i < nr_threads; i++) {
		workers[i].index = i;
		workers[i].last = calloc(nr_pages, sizeof(uint64_t));
		if (!workers[i].last ||
		    pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			broken("starting a thread");
	}
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int report(bool helpers_well)
{
	uint64_t lost = 0, stores = 0, rings = atomic_load(&broken_rings);
	uint64_t changed = atomic_load(&shared->snapshots_changed);
	uint64_t bad_reads = atomic_load(&shared->bad_reads);

	for (unsigned int i = 0; i < nr_threads; i++) {
		lost += workers[i].lost;
		stores += workers[i].stores;
	}
	printf("RESULT workload=movers threads=%u pages=%u rounds=%u moved=%llu failed=%llu "
	       "passes=%llu stores=%llu lost_stores=%llu broken_rings=%llu snapshots_changed=%llu "
	       "bad_reads=%llu\n",
	       nr_threads, nr_pages, nr_rounds, (unsigned long long)moved.moved,
	       (unsigned long long)moved.failed, (unsigned long long)moved.passes,
	       (unsigned long long)stores, (unsigned long long)lost, (unsigned long long)rings,
	       (unsigned long long)changed, (unsigned long long)bad_reads);
	if (count_file &&
	    !args_write_count(PROGRAM, count_file, lost + rings + changed + bad_reads))
		return EXIT_BROKEN;
	return lost || rings || changed || bad_reads ? EXIT_BAD_DATA :
	       helpers_well			     ? EXIT_VERIFIED :
						       EXIT_BROKEN;
}

static int run(void)
{
	unsigned int helpers = 1 + (pressure_mib > 0);
	pid_t watcher, reader = 0;
	bool well;

	shared = shared_alloc(PROGRAM, sizeof(*shared));
	make_pages();
	watcher = start_helper(watch_snapshot);
	if (pressure_mib)
		reader = start_helper(read_file);
	while (atomic_load(&shared->helpers_ready) < helpers)
		usleep(1000);
	start_threads();
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(workers[i].thread, NULL);
	well = helper_ended_well(watcher);
	if (reader)
		well &= helper_ended_well(reader);
	unlink(FILE_NAME);
	return report(well);
}

/* ---- Options --------------------------------------------------------------------------------- */

static void take_kind(const char *name)
{
	bool known = false;

	for (int kind = 0; kind < NR_KINDS; kind++) {
		wanted[kind] = strcmp(name, kind_names[kind]) == 0;
		known |= wanted[kind];
	}
	if (!known) {
		fprintf(stderr, PROGRAM ": --kind takes anon, shared, file or cow, not '%s'\n", name);
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	const char *kind = NULL;
	const struct args_option options[] = {
		{ "-t", .number = &nr_threads, .min = 1, .max = MAX_THREADS },
		{ "--pages", .number = &nr_pages, .min = 4, .max = 1 << 20 },
		{ "--rounds", .number = &nr_rounds, .min = 1, .max = 100000000 },
		{ "--kind", .text = &kind },
		{ "--pressure-mib", .number = &pressure_mib, .max = GEN_MAX_MIB },
		{ "--count", .text = &count_file },
		{ 0 },
	};

	nr_threads = cpus_usable() < MAX_THREADS ? cpus_usable() : MAX_THREADS;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	if (kind)
		take_kind(kind);
	return run();
}
