/*
 * cut.c - a file is cut and grows again: what was past its end is zero, and touching an address
 * there is a bus error. On Linux the same program finds nothing wrong.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "user/lib/selftest.h"

#define PATH     "/tmp/cut.test"
#define PAGE     4096
#define PRESSURE "/gen/300" /* a file larger than memory; Gather makes it up */

/* How many of the bytes [from, to) of the file are not zero, by read. */
static int not_zero(int fd, long from, long to)
{
	static unsigned char bytes[8 * PAGE];
	int bad = 0;

	lseek(fd, from, SEEK_SET);
	if (read(fd, bytes, (size_t)(to - from)) != to - from)
		return selftest_wrong("all can be read", __LINE__);
	for (long i = 0; i < to - from; i++)
		bad += bytes[i] != 0;
	return bad;
}

static unsigned char *map_file(int fd, size_t bytes, int kind)
{
	unsigned char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, fd, 0);

	if (p == MAP_FAILED)
		exit(selftest_wrong("the file can be mapped", __LINE__));
	return p;
}

static int test_zero(void)
{
	static unsigned char bytes[2 * PAGE];
	unsigned char *p;
	int fd = selftest_file(PATH), bad = 0;

	memset(bytes, 'x', sizeof(bytes));
	bad += write(fd, bytes, sizeof(bytes)) != (long)sizeof(bytes);
	bad += ftruncate(fd, 100) != 0 || ftruncate(fd, 2 * PAGE) != 0;
	bad += not_zero(fd, 100, 2 * PAGE); /* what was there before it was cut */
	p = map_file(fd, 2 * PAGE, MAP_SHARED);
	memset(p, 'y', 2 * PAGE);
	bad += ftruncate(fd, 200) != 0;
	for (int i = 200; i < PAGE; i++)
		bad += p[i] != 0;
	memset(p + 200, 'z', PAGE - 200); /* past the end, where a mapping can still store */
	bad += ftruncate(fd, 2 * PAGE) != 0;
	bad += not_zero(fd, 200, 2 * PAGE);
	bad += ftruncate(fd, 300) != 0;
	memset(p + 300, 'z', PAGE - 300);
	lseek(fd, PAGE + 10, SEEK_SET);
	bad += write(fd, "w", 1) != 1; /* grows by a write that leaves a hole */
	bad += not_zero(fd, 300, PAGE + 10);
	bad += p[PAGE + 9] != 0 || p[PAGE + 10] != 'w' || p[199] != 'y';
	munmap(p, 2 * PAGE);
	close(fd);
	return bad;
}

/*
 * A child that reads a large file again and again, so that others' pages go out: while *pressing,
 * so that whoever checks contents has the file server to itself. Only on Gather.
 */
static pid_t start_pressure(volatile int *pressing)
{
	static unsigned char page[PAGE];
	pid_t pid;
	int fd;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	fd = open(PRESSURE, O_RDONLY);
	while (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		do
			while (!*pressing)
				usleep(1000);
		while (read(fd, page, PAGE) == PAGE);
	_exit(0);
}

/* Pages that have gone out to pagers since boot. */
static unsigned long page_outs(void)
{
	char text[8192], *line;
	int fd = open("/proc/vmstat", O_RDONLY);
	long n, used = 0;

	while (fd >= 0 && (n = read(fd, text + used, sizeof(text) - 1 - (size_t)used)) > 0)
		used += n;
	close(fd);
	text[used] = '\0';
	line = strstr(text, "pgpgout ");
	return line ? strtoul(line + 8, NULL, 10) : 0;
}

/* Until so many pages have gone since boot. The caller knows that as many are dirty. */
static void wait_for_page_outs(unsigned long count)
{
	while (page_outs() < count)
		usleep(1000);
}

/* The same for many pages and many times, while page-outs are on their way. */
static int test_cut(void)
{
	enum { BYTES = 512 * PAGE, ROUNDS = 5 };
	volatile int *pressing = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pressure = start_pressure(pressing);
	int pressed = open(PRESSURE, O_RDONLY) >= 0;
	int fd = selftest_file(PATH), bad = 0;
	unsigned long before;
	unsigned char *p;

	for (int round = 0; round < ROUNDS && !bad; round++) {
		before = page_outs(); /* the first may go while the last are written */
		*pressing = 1;
		bad += ftruncate(fd, BYTES) != 0;
		p = map_file(fd, BYTES, MAP_SHARED);
		memset(p, 'c', BYTES);
		munmap(p, BYTES);
		if (pressed)
			wait_for_page_outs(before + 1 + (unsigned long)(round * 37 % 150));
		bad += ftruncate(fd, 100) != 0 || ftruncate(fd, BYTES) != 0;
		*pressing = 0;
		usleep(20000); /* what is on its way arrives */
		for (long i = PAGE; i < BYTES; i += PAGE)
			bad += not_zero(fd, i, i + PAGE);
		bad += not_zero(fd, 100, PAGE);
	}
	close(fd);
	kill(pressure, SIGKILL);
	waitpid(pressure, NULL, 0);
	return bad;
}

static unsigned char *victim;

static int touch(int number)
{
	(void)number;
	return *(volatile unsigned char *)victim == 0xff;
}

/* The signal that a touch of *p ends a process with; 0: it lives. */
static int death_of_touch(unsigned char *p)
{
	int status = -1;
	pid_t pid;

	victim = p;
	pid = fork();
	if (pid == 0)
		_exit(touch(0));
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int test_bus(void)
{
	int fd = selftest_file(PATH), bad = 0, pid, status;
	volatile unsigned char *cut = map_file(-1, PAGE, MAP_SHARED | MAP_ANONYMOUS);
	unsigned char *copy, *same;

	bad += ftruncate(fd, 3 * PAGE) != 0;
	copy = map_file(fd, 3 * PAGE, MAP_PRIVATE);
	same = map_file(fd, 3 * PAGE, MAP_SHARED);
	copy[0] = copy[PAGE] = copy[2 * PAGE] = same[PAGE] = 1;
	pid = fork(); /* a child that shares the copies, and has some of its own */
	if (pid == 0) {
		copy[PAGE] = 2;
		*cut = 1;
		while (*cut != 2)
			usleep(1000);
		_exit(death_of_touch(copy + PAGE) == SIGBUS ? 0 : 1);
	}
	while (*cut != 1)
		usleep(1000);
	bad += ftruncate(fd, PAGE) != 0;
	*cut = 2;
	waitpid(pid, &status, 0);
	bad += status != 0;
	bad += death_of_touch(copy) != 0;
	bad += death_of_touch(copy + PAGE) != SIGBUS;
	bad += death_of_touch(copy + 2 * PAGE) != SIGBUS;
	bad += death_of_touch(same + PAGE) != SIGBUS;
	bad += copy[0] != 1;
	bad += ftruncate(fd, 3 * PAGE) != 0;
	bad += copy[PAGE] != 0 || copy[2 * PAGE] != 0 || same[PAGE] != 0;
	mprotect(copy, PAGE, PROT_NONE);
	bad += death_of_touch(copy) != SIGSEGV;
	munmap(copy, 3 * PAGE);
	bad += death_of_touch(copy) != SIGSEGV;
	close(fd);
	return bad;
}

int main(int argc, char **argv)
{
	static const struct selftest tests[] = {
		{ "zero", test_zero },   /* bytes past the end do not come back */
		{ "reclaim", test_cut }, /* nor while pages are on their way to the pager */
		{ "bus", test_bus },     /* an address past the end is a bus error */
		{ 0 },
	};
	int status = selftest_main("cut", tests, argc, argv);

	unlink(PATH);
	return status;
}
