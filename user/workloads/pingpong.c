/*
 * pingpong.c - processes move their memory to another node and back, again and again.
 *
 * Each process has private pages with contents that belong to it alone, and after each move looks
 * at all of them: what they hold, and which node each is on. A page that could not be moved,
 * because that node is full, is counted and is no error; one that is neither there nor counted is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "user/lib/args.h"
#include "user/lib/crew.h"
#include "user/lib/gather.h"
#include "user/lib/gen.h"

#define PROGRAM   "pingpong"
#define MAX_PAGES (1 << 20)

struct shared {
	struct barrier barrier;
	atomic_ullong moved, failed, wrong_node, bad_pages;
};

static struct shared *shared;
static unsigned int nr_procs = 8, nr_pages = 128, nr_rounds = 20, nr_nodes;

static const char usage[] =
	"usage: pingpong [-n PROCESSES] [--pages N] [--rounds N]\n"
	"(default: 8 processes with 128 pages each, moved there and back 20 times)\n"
	"exit status: 0 all verified, 1 bad pages or a page on another node than it should be,\n"
	"2 usage, 3 could not run\n";

struct player {
	unsigned int member;
	unsigned char *pages;
	uint8_t *node; /* of each page, as the kernel last said */
};

static unsigned char *page_of(const struct player *p, unsigned int i)
{
	return p->pages + (size_t)i * GEN_PAGE_SIZE;
}

/* No other process's page and no other page of this one has the same contents. */
static uint64_t contents_of(const struct player *p, unsigned int i)
{
	return gen_first_page(p->member) + i;
}

static void check_contents(const struct player *p)
{
	for (unsigned int i = 0; i < nr_pages; i++)
		if (gen_mismatch(page_of(p, i), contents_of(p, i)) &&
		    atomic_fetch_add(&shared->bad_pages, 1) == 0)
			fprintf(stderr, PROGRAM ": process %u: page %u has other contents\n",
				p->member, i);
}

/* As many pages may be elsewhere as the kernel said could not be moved. */
static void check_nodes(const struct player *p, unsigned int node, uint64_t failed)
{
	uint64_t elsewhere = 0;

	for (unsigned int i = 0; i < nr_pages; i++)
		elsewhere += p->node[i] != node;
	if (elsewhere == failed)
		return;
	fprintf(stderr, PROGRAM ": process %u: %llu pages are not on node %u, %llu were to stay\n",
		p->member, (unsigned long long)elsewhere, node, (unsigned long long)failed);
	atomic_fetch_add(&shared->wrong_node,
			 elsewhere > failed ? elsewhere - failed : failed - elsewhere);
}

static bool move_to(const struct player *p, unsigned int node)
{
	struct move_result result;

	if (gather_move_range(p->pages, (size_t)nr_pages * GEN_PAGE_SIZE, node, &result) != 0 ||
	    gather_page_node(p->pages, p->node, nr_pages) != 0) {
		fprintf(stderr, PROGRAM ": moving to node %u: %s\n", node, strerror(errno));
		return false;
	}
	atomic_fetch_add(&shared->moved, result.moved);
	atomic_fetch_add(&shared->failed, result.failed);
	check_nodes(p, node, result.failed);
	check_contents(p);
	return true;
}

static bool play(const struct player *p)
{
	for (unsigned int i = 0; i < nr_pages; i++)
		gen_fill(page_of(p, i), contents_of(p, i));
	if (!barrier_wait(&shared->barrier))
		return false;
	for (unsigned int round = 0; round < nr_rounds; round++) {
		unsigned int there = (p->member + 1) % nr_nodes, back = p->member % nr_nodes;

		if (!move_to(p, there) || !move_to(p, back))
			return false;
		if (p->member == 0 && nr_rounds >= 10 && (round + 1) % (nr_rounds / 10) == 0)
			printf(PROGRAM ": %u%%\n", (round + 1) * 100 / nr_rounds);
	}
	return true;
}

/* Half of the processes go one way and half the other: the nodes' free pages stay as they are. */
static int player_main(unsigned int member, void *argument)
{
	struct player p = { .member = member, .node = malloc(nr_pages) };

	(void)argument;
	p.pages = mmap(NULL, (size_t)nr_pages * GEN_PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!p.node || p.pages == MAP_FAILED) {
		fprintf(stderr, PROGRAM ": process %u: %s\n", member, strerror(errno));
		return EXIT_BROKEN;
	}
	return play(&p) ? EXIT_VERIFIED : EXIT_BROKEN;
}

static int run(void)
{
	int status;

	shared = shared_alloc(PROGRAM, sizeof(*shared));
	barrier_init(&shared->barrier, nr_procs);
	status = crew_run(PROGRAM, nr_procs, player_main, NULL, &shared->barrier);
	printf("RESULT workload=pingpong procs=%u pages=%u rounds=%u moved=%llu failed=%llu "
	       "wrong_node=%llu bad_pages=%llu\n",
	       nr_procs, nr_pages, nr_rounds, atomic_load(&shared->moved),
	       atomic_load(&shared->failed), atomic_load(&shared->wrong_node),
	       atomic_load(&shared->bad_pages));
	if (status == EXIT_VERIFIED && (atomic_load(&shared->wrong_node) || atomic_load(&shared->bad_pages)))
		return EXIT_BAD_DATA;
	return status;
}

static bool have_nodes(void)
{
	struct info_system info;

	if (gather_info(INFO_SYSTEM, &info, sizeof(info)) < 0) {
		fprintf(stderr, PROGRAM ": only Gather can move pages so\n");
		return false;
	}
	nr_nodes = (unsigned int)info.nr_nodes;
	if (nr_nodes < 2)
		fprintf(stderr, PROGRAM ": this machine has one memory node: boot with nodes=2 "
					"(make run CMDLINE=\"nodes=2 run=run+pingpong\")\n");
	return nr_nodes >= 2;
}

int main(int argc, char **argv)
{
	static const struct args_option options[] = {
		{ "-n", .number = &nr_procs, .min = 1, .max = CREW_MAX },
		{ "--pages", .number = &nr_pages, .min = 1, .max = MAX_PAGES },
		{ "--rounds", .number = &nr_rounds, .min = 1, .max = 100000000 },
		{ 0 },
	};

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	return have_nodes() ? run() : EXIT_BROKEN;
}
