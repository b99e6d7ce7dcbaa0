/*
 * files.c - writers of one file, side by side: nothing is lost or torn, and nobody reads what has
 * not been written. The tests look at all contents; on Linux the same program finds nothing wrong.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "user/lib/selftest.h"

#define PATH    "/tmp/files.test"
#define WRITERS 4
#define RECORDS 400

/* One record says who wrote it and which of his it is, in every word: a torn one shows. */
struct record {
	uint32_t word[16];
};

static void make_record(struct record *r, unsigned int writer, unsigned int number)
{
	for (int i = 0; i < 16; i++)
		r->word[i] = (writer + 1) << 24 | (number << 4) | (unsigned int)i;
}

/* fn in so many processes at once; how many of them failed. */
static int in_processes(int count, int (*fn)(int number))
{
	int bad = 0, status;

	fflush(stdout);
	for (int i = 0; i < count; i++)
		if (fork() == 0)
			_exit(fn(i) != 0);
	for (int i = 0; i < count; i++)
		if (wait(&status) < 0 || status != 0)
			bad++;
	return bad;
}

/* Every record of every writer once, whole, wherever it is; and nothing else. */
static int check_records(void)
{
	static unsigned char seen[WRITERS][RECORDS];
	struct record r, good;
	int fd = open(PATH, O_RDONLY), bad = 0;
	long n, total = 0;

	memset(seen, 0, sizeof(seen));
	while ((n = read(fd, &r, sizeof(r))) == (long)sizeof(r)) {
		unsigned int writer = (r.word[0] >> 24) - 1, number = r.word[0] >> 4 & 0xfffff;

		total++;
		if (writer >= WRITERS || number >= RECORDS) {
			bad++;
			continue;
		}
		make_record(&good, writer, number);
		if (memcmp(&r, &good, sizeof(r)) != 0 || seen[writer][number]++)
			bad++;
	}
	close(fd);
	return bad + (n != 0) + (total != WRITERS * RECORDS);
}

/* ---- Writers ------------------------------------------------------------------------------ */

/* All of them make the file longer, each at its own places. */
static int extend_process(int number)
{
	int fd = open(PATH, O_RDWR), bad = 0;
	struct record r;

	for (int i = 0; i < RECORDS; i++) {
		make_record(&r, (unsigned int)number, (unsigned int)i);
		lseek(fd, (i * WRITERS + number) * (long)sizeof(r), SEEK_SET);
		if (write(fd, &r, sizeof(r)) != (long)sizeof(r))
			bad += selftest_wrong("a good write succeeds", __LINE__);
	}
	return bad;
}

static int test_extend(void)
{
	int bad = 0;

	for (int round = 0; round < 4; round++) {
		close(selftest_file(PATH));
		bad += in_processes(WRITERS, extend_process) + check_records();
	}
	return bad;
}

static int append_process(int number)
{
	int fd = open(PATH, O_WRONLY | O_APPEND), bad = 0;
	struct record r;

	for (int i = 0; i < RECORDS; i++) {
		make_record(&r, (unsigned int)number, (unsigned int)i);
		if (write(fd, &r, sizeof(r)) != (long)sizeof(r))
			bad += selftest_wrong("an append succeeds", __LINE__);
	}
	return bad;
}

static int test_append(void)
{
	close(selftest_file(PATH));
	return in_processes(WRITERS, append_process) + check_records();
}

/* A reader beside the appenders never sees bytes that nobody wrote. */
static int append_or_read_process(int number)
{
	struct record r;
	int fd, bad = 0;

	if (number < WRITERS)
		return append_process(number);
	fd = open(PATH, O_RDONLY);
	for (int tries = 0; tries < 100000 && !bad;) {
		long n = read(fd, &r, sizeof(r));

		if (n == 0)
			tries += lseek(fd, 0, SEEK_END) >= WRITERS * RECORDS * (long)sizeof(r) ?
					 100000 : 1;
		else if (n != (long)sizeof(r) || r.word[0] == 0)
			bad += selftest_wrong("a reader sees whole records", __LINE__);
	}
	return bad;
}

static int test_append_read(void)
{
	close(selftest_file(PATH));
	return in_processes(WRITERS + 2, append_or_read_process) + check_records();
}

/* ---- One descriptor, many threads --------------------------------------------------------- */

static int shared_fd;
static int thread_bad;

static void *write_thread(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;
	struct record r;

	for (unsigned int i = 0; i < RECORDS; i++) {
		make_record(&r, number, i);
		if (write(shared_fd, &r, sizeof(r)) != (long)sizeof(r))
			__atomic_add_fetch(&thread_bad, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static unsigned char read_by[WRITERS][RECORDS];

static void *read_thread(void *arg)
{
	struct record r, good;

	(void)arg;
	while (read(shared_fd, &r, sizeof(r)) == (long)sizeof(r)) {
		unsigned int writer = (r.word[0] >> 24) - 1, number = r.word[0] >> 4 & 0xfffff;

		make_record(&good, writer, number);
		if (writer >= WRITERS || number >= RECORDS || memcmp(&r, &good, sizeof(r)) != 0 ||
		    __atomic_fetch_add(&read_by[writer][number], 1, __ATOMIC_RELAXED))
			__atomic_add_fetch(&thread_bad, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void in_threads(void *(*fn)(void *))
{
	pthread_t thread[WRITERS];

	for (uintptr_t i = 0; i < WRITERS; i++)
		if (pthread_create(&thread[i], NULL, fn, (void *)i) != 0)
			exit(selftest_wrong("a thread can be made", __LINE__));
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
}

static int test_shared(void)
{
	int bad;

	thread_bad = 0;
	shared_fd = selftest_file(PATH);
	in_threads(write_thread);
	bad = check_records();
	lseek(shared_fd, 0, SEEK_SET);
	memset(read_by, 0, sizeof(read_by));
	in_threads(read_thread);
	for (int writer = 0; writer < WRITERS; writer++)
		for (int i = 0; i < RECORDS; i++)
			bad += read_by[writer][i] != 1;
	close(shared_fd);
	return bad + thread_bad;
}

int main(int argc, char **argv)
{
	static const struct selftest tests[] = {
		{ "extend", test_extend },           /* processes make one file longer */
		{ "append", test_append },           /* O_APPEND from four processes */
		{ "append-read", test_append_read }, /* the same, with readers at the end */
		{ "shared", test_shared },           /* four threads, one descriptor */
		{ 0 },
	};
	int status = selftest_main("files", tests, argc, argv);

	unlink(PATH);
	return status;
}
