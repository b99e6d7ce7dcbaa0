/*
 * hoard.c - makes the kernel keep things for it: one kind after the other, as much as it may or as
 * the option says, then ends. What it had must come back, and when memory runs out over it, it is
 * the one that is ended.
 *
 *   tables    a touched page in every 2 MiB: a page table for each
 *   areas     mappings of one page, none next to another
 *   threads   that sleep
 *   tasks     that have ended and are not waited for
 *   shared    pages of a shared mapping, touched and dropped from its own tables again
 *   files     open files
 *   pipes     full of bytes that nobody reads
 *   endpoints (not on Linux)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "user/lib/args.h"
#include "user/lib/gather.h"

#define PROGRAM "hoard"
#define PAGE    4096UL
#define STEP    (2UL << 20)
#define FIRST   0x200000000000UL

static const char usage[] =
	"usage: hoard --what tables|areas|threads|tasks|shared|files|pipes|endpoints [--max N]\n"
	"N: how many, as many as there may be if not given\n"
	"exit status: 0 came to its bound, 2 usage, 3 could not run\n";

static void *map_at(unsigned long at, unsigned long bytes, int flags)
{
	return mmap((void *)at, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Each of these: true, one more is there. */
static bool one_table(unsigned long n)
{
	volatile char *p = map_at(FIRST + n * STEP, PAGE, MAP_PRIVATE);

	if (p == MAP_FAILED)
		return false;
	*p = 1;
	return madvise((void *)p, PAGE, MADV_DONTNEED) == 0; /* the table stays */
}

static bool one_area(unsigned long n)
{
	return map_at(FIRST + n * 2 * PAGE, PAGE, MAP_PRIVATE) != MAP_FAILED;
}

static void *sleep_for_ever(void *unused)
{
	for (;;)
		sleep(1000);
	return unused;
}

static bool one_thread(unsigned long n)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)n;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	return pthread_create(&thread, &attr, sleep_for_ever, NULL) == 0;
}

static bool one_task(unsigned long n)
{
	pid_t pid = fork();

	(void)n;
	if (pid == 0)
		_exit(0);
	return pid > 0;
}

#define SHARED_PAGES (1UL << 18)

static bool one_shared(unsigned long n)
{
	static volatile char *p;

	if (!p)
		p = map_at(FIRST, SHARED_PAGES * PAGE, MAP_SHARED);
	if (p == MAP_FAILED || n == SHARED_PAGES)
		return false;
	p[n * PAGE] = 1;
	return madvise((void *)(p + n * PAGE), PAGE, MADV_DONTNEED) == 0; /* the object keeps it */
}

static bool one_file(unsigned long n)
{
	(void)n;
	return open("/etc/motd", O_RDONLY) >= 0;
}

static bool one_pipe(unsigned long n)
{
	static char bytes[PAGE];
	int ends[2];

	(void)n;
	if (pipe2(ends, O_NONBLOCK))
		return false;
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	return true;
}

static bool one_endpoint(unsigned long n)
{
	(void)n;
	return syscall(SYS_endpoint_create) >= 0;
}

static const struct kind {
	const char *name;
	bool (*one)(unsigned long n);
} kinds[] = {
	{ "tables", one_table }, { "areas", one_area }, { "threads", one_thread },
	{ "tasks", one_task }, { "shared", one_shared }, { "files", one_file },
	{ "pipes", one_pipe }, { "endpoints", one_endpoint },
};

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name))
			return &kinds[i];
	fprintf(stderr, "%s", usage);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	const char *what = NULL;
	unsigned int max = 1u << 30;
	const struct args_option options[] = {
		{ "--what", .text = &what },
		{ "--max", .number = &max, .min = 1, .max = 1u << 30 },
		{ 0 },
	};
	const struct kind *kind;
	unsigned long n = 0;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	kind = kind_of(what);
	while (n < max && kind->one(n))
		n++;
	printf("RESULT workload=hoard what=%s got=%lu errno=%d\n", what, n, n < max ? errno : 0);
	return EXIT_VERIFIED;
}
