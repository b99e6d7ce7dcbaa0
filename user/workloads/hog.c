/*
 * hog.c - takes anonymous memory, writes every page, and verifies all of it at the end.
 *
 * With a size beyond what the machine has it grows until the kernel kills it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "user/lib/args.h"
#include "user/lib/gen.h"

#define PROGRAM     "hog"
#define CHUNK_BYTES (1UL << 20)

/* Chunks form a list through the first word of their first page. */
struct chunk {
	struct chunk *previous;
	uint64_t number;
};

static const char usage[] = "usage: hog [--mib N] [--hold-ms N]\n"
			    "takes N MiB (default 16), holds them so long (0), verifies, ends\n"
			    "exit status: 0 all verified, 1 bad pages, 2 usage, 3 no memory\n";

/* Two words a page are enough to tell it from any other, and keep the hog fast. */
static uint64_t *page_mark(struct chunk *c, unsigned int page)
{
	return (uint64_t *)((char *)c + (size_t)page * GEN_PAGE_SIZE + GEN_PAGE_SIZE / 2);
}

static struct chunk *take_chunk(struct chunk *previous, uint64_t number)
{
	struct chunk *c = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED)
		return NULL;
	c->previous = previous;
	c->number = number;
	for (unsigned int page = 0; page < GEN_PAGES_PER_MIB; page++) {
		uint64_t *mark = page_mark(c, page);

		mark[0] = gen_word(number, page);
		mark[1] = ~mark[0];
	}
	return c;
}

static unsigned int bad_pages(struct chunk *c)
{
	unsigned int bad = 0;

	for (unsigned int page = 0; page < GEN_PAGES_PER_MIB; page++) {
		const uint64_t *mark = page_mark(c, page);

		bad += mark[0] != gen_word(c->number, page) || mark[1] != ~mark[0];
	}
	return bad;
}

/* At every power of two: few lines, however large the hog gets. */
static void show_progress(uint64_t taken)
{
	if ((taken & (taken - 1)) == 0)
		printf(PROGRAM ": %llu MiB\n", (unsigned long long)taken);
}

static int run(uint64_t mib, unsigned int hold_ms)
{
	struct chunk *last = NULL;
	uint64_t taken, bad = 0;

	for (taken = 0; taken < mib;) {
		struct chunk *c = take_chunk(last, taken);

		if (!c) {
			fprintf(stderr, PROGRAM ": no more after %llu MiB: %s\n",
				(unsigned long long)taken, strerror(errno));
			break;
		}
		last = c;
		show_progress(++taken);
	}
	usleep(hold_ms * 1000);
	for (struct chunk *c = last; c; c = c->previous)
		bad += bad_pages(c);
	printf("RESULT workload=hog mib=%llu pages=%llu bad_pages=%llu\n",
	       (unsigned long long)taken, (unsigned long long)taken * GEN_PAGES_PER_MIB,
	       (unsigned long long)bad);
	if (bad)
		return EXIT_BAD_DATA;
	return taken == mib ? EXIT_VERIFIED : EXIT_BROKEN;
}

int main(int argc, char **argv)
{
	unsigned int mib = 16, hold_ms = 0;
	const struct args_option options[] = {
		{ "--mib", .number = &mib, .min = 1, .max = 64 << 20 },
		{ "--hold-ms", .number = &hold_ms, .min = 0, .max = 1000000 },
		{ 0 },
	};

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	return run(mib, hold_ms);
}
