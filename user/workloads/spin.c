/*
 * spin.c - threads that stay in user mode: no system call, no fault, one on each CPU but the first.
 * They show who is left alone by a purge of kernel addresses (docs/14-vmalloc.md).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "user/lib/args.h"
#include "user/lib/cpus.h"

#define PROGRAM     "spin"
#define MAX_THREADS 64

static const char usage[] =
	"usage: spin [--threads N] [--ms N]    threads: as many as CPUs but one; for N ms, 1000\n";

static atomic_bool stop;
static atomic_ullong turns;

/* `pause` is also what lets other CPUs run where one host thread runs all of them. */
static void *spin(void *number)
{
	unsigned long long n = 0;

	if (cpus_pin((unsigned int)(size_t)number))
		return NULL;
	for (; !atomic_load_explicit(&stop, memory_order_relaxed); n++)
		__builtin_ia32_pause();
	atomic_fetch_add(&turns, n);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int cpus = cpus_usable(), threads = cpus > 1 ? cpus - 1 : 1, ms = 1000, i;
	pthread_t ids[MAX_THREADS];
	const struct args_option options[] = {
		{.name = "--threads", .number = &threads, .min = 1, .max = MAX_THREADS},
		{.name = "--ms", .number = &ms, .min = 1, .max = 1000000},
		{0},
	};

	args_take_all(PROGRAM, usage, options, argc, argv);
	for (i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, spin, (void *)(size_t)(i + 1))) {
			fprintf(stderr, PROGRAM ": no thread\n");
			return EXIT_BROKEN;
		}
	usleep(ms * 1000);
	atomic_store(&stop, true);
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("RESULT workload=spin threads=%u ms=%u turns=%llu\n", threads, ms,
	       (unsigned long long)atomic_load(&turns));
	return EXIT_VERIFIED;
}
