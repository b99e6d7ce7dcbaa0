/*
 * pipes.c - what pipes must do: as on Linux, where the same program finds nothing wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/selftest.h"

#define WRITERS 4
#define RECORDS 200

#define refused selftest_refused

static int pipe_fd[2];

static int write_stream(void)
{
	static unsigned char bytes[10007];
	unsigned int at = 0;

	close(pipe_fd[0]);
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++, at++)
			bytes[i] = (unsigned char)(at * 7 + (at >> 8));
		if (write(pipe_fd[1], bytes, sizeof(bytes)) != (long)sizeof(bytes))
			return 1;
	}
	return 0;
}

/* All bytes arrive, in order, and then the end. */
static int test_pipe(void)
{
	unsigned char bytes[3001];
	unsigned int at = 0;
	int bad = 0, status;
	long n;

	CHECK(pipe(pipe_fd) == 0);
	CHECK(refused(lseek(pipe_fd[0], 0, SEEK_SET), ESPIPE));
	CHECK(refused(pread(pipe_fd[0], bytes, 1, 0), ESPIPE));
	CHECK(refused(write(pipe_fd[0], "x", 1), EBADF));
	CHECK(refused(read(pipe_fd[1], bytes, 1), EBADF));
	if (fork() == 0)
		_exit(write_stream());
	close(pipe_fd[1]);
	while ((n = read(pipe_fd[0], bytes, sizeof(bytes))) > 0)
		for (long i = 0; i < n; i++, at++)
			bad += bytes[i] != (unsigned char)(at * 7 + (at >> 8));
	CHECK(n == 0 && at == 40 * 10007);
	wait(&status);
	CHECK(status == 0);
	close(pipe_fd[0]);
	return bad;
}

static int test_pipe_full(void)
{
	static char bytes[5000];
	long n, total = 0;
	int bad = 0;

	CHECK(pipe2(pipe_fd, O_NONBLOCK | O_CLOEXEC) == 0);
	CHECK(refused(pipe2(pipe_fd, 1), EINVAL));
	CHECK(refused(syscall(SYS_pipe, 16), EFAULT));
	CHECK(fcntl(pipe_fd[0], F_GETFD) == FD_CLOEXEC);
	CHECK(refused(read(pipe_fd[0], bytes, 1), EAGAIN));
	while ((n = write(pipe_fd[1], bytes, 4096)) > 0)
		total += n;
	CHECK(refused(n, EAGAIN) && total == 65536);
	CHECK(read(pipe_fd[0], bytes, 4096) == 4096);
	CHECK(write(pipe_fd[1], bytes, 4096) == 4096);
	CHECK(refused(write(pipe_fd[1], bytes, 1), EAGAIN));
	close(pipe_fd[1]);
	for (total = 0; (n = read(pipe_fd[0], bytes, 5000)) > 0;)
		total += n;
	CHECK(n == 0 && total == 65536);
	close(pipe_fd[0]);
	return bad;
}

static int write_records(int number)
{
	char record[512];

	memset(record, 'A' + number, sizeof(record));
	for (int i = 0; i < RECORDS; i++)
		if (write(pipe_fd[1], record, sizeof(record)) != (long)sizeof(record))
			return 1;
	return 0;
}

/* Records of up to PIPE_BUF bytes are not mixed. */
static int test_pipe_atomic(void)
{
	int bad = 0, count[WRITERS] = { 0 };
	char record[512];
	long n;

	CHECK(pipe(pipe_fd) == 0);
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0)
			_exit(write_records(i));
	close(pipe_fd[1]);
	while ((n = read(pipe_fd[0], record, sizeof(record))) == (long)sizeof(record)) {
		for (size_t i = 1; i < sizeof(record); i++)
			bad += record[i] != record[0];
		if (record[0] >= 'A' && record[0] < 'A' + WRITERS)
			count[record[0] - 'A']++;
	}
	for (int i = 0; i < WRITERS; i++) {
		CHECK(count[i] == RECORDS);
		wait(NULL);
	}
	CHECK(n == 0);
	close(pipe_fd[0]);
	return bad;
}

static int write_to_nobody(void)
{
	(void)!write(pipe_fd[1], "x", 1);
	return 0;
}

/* A child that waits for ever in a read or a write of the pipe ends when it is killed. */
static int death_in_pipe(int writer)
{
	static char bytes[70000];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (writer)
			(void)!write(pipe_fd[1], bytes, sizeof(bytes));
		else
			(void)!read(pipe_fd[0], bytes, 1);
		_exit(0);
	}
	usleep(100000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int test_pipe_death(void)
{
	int bad = 0, status = -1;
	pid_t pid;

	CHECK(pipe(pipe_fd) == 0);
	CHECK(death_in_pipe(0));
	CHECK(death_in_pipe(1));
	close(pipe_fd[0]);
	pid = fork();
	if (pid == 0)
		_exit(write_to_nobody());
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	close(pipe_fd[1]);
	return bad;
}

int main(int argc, char **argv)
{
	static const struct selftest tests[] = {
		{ "stream", test_pipe },       /* all bytes arrive, then the end */
		{ "full", test_pipe_full },    /* 64 KiB and no more */
		{ "atomic", test_pipe_atomic },
		{ "death", test_pipe_death },  /* in a wait, and by SIGPIPE */
		{ 0 },
	};

	return selftest_main("pipes", tests, argc, argv);
}
