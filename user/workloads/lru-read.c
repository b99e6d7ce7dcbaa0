/*
 * lru-read.c - processes on all CPUs read a file larger than memory and verify every word.
 *
 * All map the same file (or, with --own, each its own), so that reclaim has to unmap pages that
 * other CPUs have in their TLBs. The contents are those of gen.h: a page that comes back with
 * another's contents, or is read through a translation that should be gone, is counted as bad.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/crew.h"
#include "user/lib/gen.h"
#include "user/lib/mapfile.h"

#define PROGRAM     "lru-read"
#define LOCKSTEP    64 /* pages between two meetings */
#define PATH_LENGTH 256

struct tally {
	uint64_t pages; /* in the file this process read */
	uint64_t bad;
} __attribute__((aligned(64))); /* own cache line each: all processes write theirs */

struct shared {
	struct barrier barrier;
	struct tally tally[CREW_MAX];
};

struct options {
	unsigned int procs;
	unsigned int mib;
	unsigned int passes;
	bool lockstep;
	bool own;
	const char *file;
	const char *dir;
	const char *make;
	const char *count;
	struct shared *shared;
};

static const char usage[] =
	"usage: lru-read [options]            read and verify\n"
	"       lru-read --make DIR MiB [-n N]  make the files to read, where there is no /gen\n"
	"  -n PROCS      processes, pinned to CPUs in turn (default: one per CPU)\n"
	"  --mib N       size of the file: /gen/N (default 64)\n"
	"  --file PATH   read this file instead; it must hold what /gen files hold\n"
	"  --dir DIR     where the files are (default /gen)\n"
	"  --own         each process reads a file of its own: DIR/N, DIR/N.1, DIR/N.2, ...\n"
	"  --passes N    times each process reads its file (default 1)\n"
	"  --count PATH  also write the number of bad pages to this file\n"
	"  --lockstep    all meet every 64 pages, so that each page is mapped by all of them\n"
	"exit status: 0 all verified, 1 bad pages, 2 usage, 3 could not finish\n";

static void file_name(const struct options *o, const char *dir, unsigned int file, char *path)
{
	if (file == 0)
		snprintf(path, PATH_LENGTH, "%s/%u", dir, o->mib);
	else
		snprintf(path, PATH_LENGTH, "%s/%u.%u", dir, o->mib, file);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static void show_progress(unsigned int member, uint64_t done, uint64_t total)
{
	if (member == 0 && done * 10 / total != (done - 1) * 10 / total)
		printf(PROGRAM ": %u%%\n", (unsigned int)(done * 100 / total));
}

static bool must_meet(const struct options *o, uint64_t page, uint64_t pages)
{
	return o->lockstep && ((page + 1) % LOCKSTEP == 0 || page + 1 == pages);
}

/* False when the barrier was broken. */
static bool read_once(const struct options *o, const struct mapfile *m, unsigned int member,
		      unsigned int pass)
{
	uint64_t first = gen_first_page(o->own ? member : 0);
	struct tally *tally = &o->shared->tally[member];

	for (uint64_t page = 0; page < m->pages; page++) {
		if (gen_mismatch(mapfile_page(m, page), first + page)) {
			if (tally->bad++ == 0)
				fprintf(stderr, PROGRAM ": process %u: page %llu is bad\n", member,
					(unsigned long long)page);
		}
		if (must_meet(o, page, m->pages) && !barrier_wait(&o->shared->barrier))
			return false;
		show_progress(member, pass * m->pages + page + 1, o->passes * m->pages);
	}
	return true;
}

static int reader(unsigned int member, void *argument)
{
	const struct options *o = argument;
	char path[PATH_LENGTH];
	struct mapfile m;
	bool finished = true;

	if (o->file)
		snprintf(path, sizeof(path), "%s", o->file);
	else
		file_name(o, o->dir, o->own ? member : 0, path);
	if (!mapfile_open(&m, PROGRAM, path, false))
		return EXIT_BROKEN;
	o->shared->tally[member].pages = m.pages;
	for (unsigned int pass = 0; pass < o->passes && finished; pass++)
		finished = read_once(o, &m, member, pass);
	mapfile_close(&m);
	if (!finished)
		return EXIT_BROKEN;
	return o->shared->tally[member].bad ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

static int read_all(struct options *o)
{
	uint64_t pages = 0, bad = 0;
	int status;

	o->shared = shared_alloc(PROGRAM, sizeof(*o->shared));
	barrier_init(&o->shared->barrier, o->procs);
	status = crew_run(PROGRAM, o->procs, reader, o, &o->shared->barrier);
	if (status == EXIT_BROKEN)
		return status; /* no result: what was not read is not verified */
	for (unsigned int i = 0; i < o->procs; i++) {
		bad += o->shared->tally[i].bad;
		if (o->own || i == 0)
			pages += o->shared->tally[i].pages;
	}
	printf("RESULT workload=lru-read procs=%u pages=%llu bad_pages=%llu\n", o->procs,
	       (unsigned long long)pages, (unsigned long long)bad);
	if (o->count && !args_write_count(PROGRAM, o->count, bad))
		return EXIT_BROKEN;
	return status;
}

/* ---- Making files ------------------------------------------------------------------------- */

static bool write_pages(int fd, uint64_t first, uint64_t pages)
{
	static char buffer[GEN_PAGE_SIZE];

	for (uint64_t page = 0; page < pages; page++) {
		gen_fill(buffer, first + page);
		if (write(fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
			return false;
	}
	return true;
}

static bool make_file(const struct options *o, unsigned int file)
{
	char path[PATH_LENGTH];
	bool ok;
	int fd;

	file_name(o, o->make, file, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ok = fd >= 0 &&
	     write_pages(fd, gen_first_page(file), (uint64_t)o->mib * GEN_PAGES_PER_MIB);
	if (!ok)
		fprintf(stderr, PROGRAM ": %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok;
}

static int make_all(const struct options *o)
{
	for (unsigned int file = 0; file < o->procs; file++)
		if (!make_file(o, file))
			return EXIT_BROKEN;
	return EXIT_VERIFIED;
}

/* ---- Options ------------------------------------------------------------------------------ */

static void usage_error(const char *what)
{
	fprintf(stderr, PROGRAM ": %s\n%s", what, usage);
	exit(EXIT_USAGE);
}

static void check_options(struct options *o, int extra, char **argv)
{
	if (o->make && extra == 1)
		o->mib = (unsigned int)args_number(PROGRAM, "--make DIR", argv[0], 1, GEN_MAX_MIB);
	else if (extra > 0)
		usage_error("more arguments than it knows what to do with");
	if (o->own && o->file)
		usage_error("--own and --file exclude each other");
	if (o->procs == 0)
		o->procs = o->make ? 1 : cpus_usable();
}

int main(int argc, char **argv)
{
	struct options o = { .mib = 64, .passes = 1, .dir = "/gen" };
	const struct args_option options[] = {
		{ "-n", .number = &o.procs, .min = 1, .max = CREW_MAX },
		{ "--mib", .number = &o.mib, .min = 1, .max = GEN_MAX_MIB },
		{ "--passes", .number = &o.passes, .min = 1, .max = 1000000 },
		{ "--file", .text = &o.file },
		{ "--dir", .text = &o.dir },
		{ "--make", .text = &o.make },
		{ "--count", .text = &o.count },
		{ "--own", .flag = &o.own },
		{ "--lockstep", .flag = &o.lockstep },
		{ 0 },
	};
	int first;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	first = args_take(PROGRAM, usage, options, argc, argv);
	check_options(&o, argc - first, argv + first);
	return o.make ? make_all(&o) : read_all(&o);
}
