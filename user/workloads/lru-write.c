/*
 * lru-write.c - writers dirty the pages of a shared file while readers force reclaim.
 *
 * Every page is cut into one slice per writer, so that each page is dirty in the TLBs of several
 * CPUs at once. In pass v a writer first checks that its slice of the page still holds version
 * v - 1, then stores version v. A store that reached a frame after its page had been written out
 * shows up as an old version; a page that came back as another shows up as a wrong word.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"
#include "user/lib/crew.h"
#include "user/lib/gen.h"
#include "user/lib/mapfile.h"

#define PROGRAM     "lru-write"
#define MAX_WRITERS 64 /* a slice has at least 8 words */
#define PATH_LENGTH 256

struct shared {
	atomic_uint writers_left;
	atomic_ullong pages_read;
	atomic_ullong bad_pages; /* of the file written */
	atomic_ullong bad_reads; /* of the file read */
	atomic_bool stop;
};

struct options {
	unsigned int writers;
	unsigned int readers;
	unsigned int mib;
	unsigned int passes;
	unsigned int pressure_mib;
	const char *file;
	const char *dir;
	struct shared *shared;
};

static const char usage[] =
	"usage: lru-write [options]\n"
	"  -n PROCS           writers, and as many readers (default: one of each per CPU)\n"
	"  --mib N            size of the file written (default 4)\n"
	"  --passes N         versions written to every page (default 4)\n"
	"  --file PATH        the file written; it is made and removed (default /tmp/lru-write)\n"
	"  --pressure-mib N   size of the file the readers read; 0: no readers (default 256)\n"
	"  --dir DIR          where that file is (default /gen; see lru-read --make)\n"
	"exit status: 0 all verified, 1 bad pages, 2 usage, 3 could not finish\n";

/* ---- Versions ----------------------------------------------------------------------------- */

/* Word 0 of a slice is the plain version, so that a report can tell which one was found. */
static uint64_t slice_word(uint64_t page, unsigned int word, unsigned int i, unsigned int version)
{
	return i == 0 ? version : gen_word(page, word) * (2 * (uint64_t)version + 1);
}

static unsigned int slice_words(const struct options *o)
{
	return GEN_WORDS / o->writers;
}

static bool slice_holds(const struct options *o, const volatile uint64_t *page, uint64_t number,
			unsigned int writer, unsigned int version)
{
	unsigned int words = slice_words(o), first = writer * words;
	uint64_t wrong = 0;

	for (unsigned int i = 0; i < words; i++) {
		/* Version 0 is the hole ftruncate made: zeroes. */
		uint64_t want = version ? slice_word(number, first + i, i, version) : 0;

		wrong |= page[first + i] ^ want;
	}
	if (wrong && atomic_fetch_add(&o->shared->bad_pages, 1) == 0)
		fprintf(stderr, PROGRAM ": page %llu, writer %u: version %u expected, %llu found\n",
			(unsigned long long)number, writer, version,
			(unsigned long long)page[first]);
	return wrong == 0;
}

static void slice_store(const struct options *o, volatile uint64_t *page, uint64_t number,
			unsigned int writer, unsigned int version)
{
	unsigned int words = slice_words(o), first = writer * words;

	for (unsigned int i = 0; i < words; i++)
		page[first + i] = slice_word(number, first + i, i, version);
}

/* ---- Writers and readers ------------------------------------------------------------------ */

/* Without this the writers would be through before reclaim has begun. */
static void wait_for_pressure(const struct options *o, unsigned int version)
{
	uint64_t total = (uint64_t)o->pressure_mib * GEN_PAGES_PER_MIB;
	uint64_t due = total * (version - 1) / o->passes;
	const struct timespec pause = { .tv_nsec = 2000000 };

	while (atomic_load(&o->shared->pages_read) < due && !atomic_load(&o->shared->stop))
		nanosleep(&pause, NULL);
}

static int writer(const struct options *o, unsigned int member)
{
	bool ok = true;
	struct mapfile m;

	if (!mapfile_open(&m, PROGRAM, o->file, true))
		return EXIT_BROKEN;
	for (unsigned int version = 1; version <= o->passes; version++) {
		wait_for_pressure(o, version);
		for (uint64_t page = 0; page < m.pages; page++) {
			ok &= slice_holds(o, mapfile_page(&m, page), page, member, version - 1);
			slice_store(o, mapfile_page(&m, page), page, member, version);
		}
		if (member == 0)
			printf(PROGRAM ": version %u of %u written\n", version, o->passes);
	}
	mapfile_close(&m);
	if (atomic_fetch_sub(&o->shared->writers_left, 1) == 1)
		atomic_store(&o->shared->stop, true);
	return ok ? EXIT_VERIFIED : EXIT_BAD_DATA;
}

/* Readers start at different places, so that the pressure comes from the whole file. */
static int reader(const struct options *o, unsigned int member)
{
	char path[PATH_LENGTH];
	uint64_t bad = 0, page;
	struct mapfile m;

	snprintf(path, sizeof(path), "%s/%u", o->dir, o->pressure_mib);
	if (!mapfile_open(&m, PROGRAM, path, false))
		return EXIT_BROKEN;
	page = m.pages / o->readers * member;
	while (!atomic_load(&o->shared->stop)) {
		bad += gen_mismatch(mapfile_page(&m, page), page) != 0;
		atomic_fetch_add(&o->shared->pages_read, 1);
		page = (page + 1) % m.pages;
	}
	mapfile_close(&m);
	atomic_fetch_add(&o->shared->bad_reads, bad);
	return bad ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

static int member_job(unsigned int member, void *argument)
{
	const struct options *o = argument;

	return member < o->writers ? writer(o, member) : reader(o, member - o->writers);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static bool make_file(const struct options *o)
{
	int fd = open(o->file, O_RDWR | O_CREAT | O_TRUNC, 0644);
	bool ok = fd >= 0 && ftruncate(fd, (off_t)o->mib << 20) == 0;

	if (!ok)
		fprintf(stderr, PROGRAM ": %s: %s\n", o->file, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool verify_file(const struct options *o)
{
	struct mapfile m;
	bool ok = true;

	if (!mapfile_open(&m, PROGRAM, o->file, false))
		return false;
	for (uint64_t page = 0; page < m.pages; page++)
		for (unsigned int w = 0; w < o->writers; w++)
			ok &= slice_holds(o, mapfile_page(&m, page), page, w, o->passes);
	mapfile_close(&m);
	return ok;
}

static int run(struct options *o)
{
	int status;

	if (!make_file(o))
		return EXIT_BROKEN;
	o->shared = shared_alloc(PROGRAM, sizeof(*o->shared));
	atomic_store(&o->shared->writers_left, o->writers);
	status = crew_run(PROGRAM, o->writers + o->readers, member_job, o, NULL);
	if (status != EXIT_BROKEN && !verify_file(o))
		status = EXIT_BAD_DATA;
	unlink(o->file);
	if (status == EXIT_BROKEN)
		return status; /* no result: what was not read back is not verified */
	printf("RESULT workload=lru-write procs=%u pages=%u passes=%u pages_read=%llu "
	       "bad_reads=%llu bad_pages=%llu\n",
	       o->writers, o->mib * GEN_PAGES_PER_MIB, o->passes,
	       (unsigned long long)atomic_load(&o->shared->pages_read),
	       (unsigned long long)atomic_load(&o->shared->bad_reads),
	       (unsigned long long)atomic_load(&o->shared->bad_pages));
	return status;
}

int main(int argc, char **argv)
{
	struct options o = { .mib = 4, .passes = 4, .pressure_mib = 256,
			     .file = "/tmp/lru-write", .dir = "/gen" };
	const struct args_option options[] = {
		{ "-n", .number = &o.writers, .min = 1, .max = MAX_WRITERS },
		{ "--mib", .number = &o.mib, .min = 1, .max = 65536 },
		{ "--passes", .number = &o.passes, .min = 1, .max = 1000000 },
		{ "--pressure-mib", .number = &o.pressure_mib, .max = GEN_MAX_MIB },
		{ "--file", .text = &o.file },
		{ "--dir", .text = &o.dir },
		{ 0 },
	};

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	if (o.writers == 0)
		o.writers = cpus_usable() < MAX_WRITERS ? cpus_usable() : MAX_WRITERS;
	o.readers = o.pressure_mib ? o.writers : 0;
	return run(&o);
}
