/*
 * descriptors.c - what descriptors must do, and many open files: as on Linux, where the same
 * program finds nothing wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "user/lib/selftest.h"

#define PATH "/tmp/descriptors.test"

#define refused selftest_refused

static const char *self; /* this program's path */

/* The status of a child that does fn. */
static int in_child(int (*fn)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(fn());
	waitpid(pid, &status, 0);
	return status;
}

/* ---- Calls -------------------------------------------------------------------------------- */

static int test_transfer(void)
{
	char a[5] = "", b[8] = "";
	struct iovec iov[2] = { { a, 4 }, { b, 7 } };
	int fd = selftest_file(PATH), bad = 0;
	FILE *stream;

	CHECK(write(fd, "abcdefghij", 10) == 10);
	CHECK(pread(fd, a, 4, 3) == 4 && !memcmp(a, "defg", 4));
	CHECK(pwrite(fd, "DEF", 3, 3) == 3);
	CHECK(lseek(fd, 0, SEEK_CUR) == 10);
	CHECK(lseek(fd, 1, SEEK_SET) == 1);
	CHECK(readv(fd, iov, 2) == 9 && !memcmp(a, "bcDE", 4) && !memcmp(b, "Fghij", 5));
	CHECK(readv(fd, iov, 2) == 0);
	CHECK(preadv(fd, iov, 2, 8) == 2 && !memcmp(a, "ij", 2));
	CHECK(pwritev(fd, iov, 1, 100) == 4);
	CHECK(pread(fd, b, 1, 99) == 1 && b[0] == 0);
	CHECK(pread(fd, b, 1, 104) == 0);
	CHECK(refused(pread(fd, b, 1, -1), EINVAL));
	CHECK(refused(pwrite(fd, b, 1, -1), EINVAL));
	CHECK(refused(syscall(SYS_readv, fd, iov, 1025), EINVAL));
	CHECK(refused(syscall(SYS_readv, fd, 16, 1), EFAULT));
	CHECK(refused(pwrite(fd, b, 4, INT64_MAX - 1), EINVAL));
	close(fd);
	CHECK(refused(pread(fd, b, 1, 0), EBADF));
	stream = fopen(PATH, "r");
	CHECK(stream && fread(b, 1, 7, stream) == 7 && !memcmp(b, "abcDEFg", 7));
	if (stream)
		fclose(stream);
	return bad;
}

static int test_stat(void)
{
	struct stat st, by_name;
	int fd = selftest_file(PATH), bad = 0, pipes[2];

	CHECK(ftruncate(fd, 1000) == 0);
	CHECK(fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 1000);
	CHECK(stat(PATH, &by_name) == 0 && by_name.st_ino == st.st_ino);
	CHECK(by_name.st_size == 1000 && lstat(PATH, &by_name) == 0);
	CHECK(fstatat(AT_FDCWD, PATH, &by_name, AT_SYMLINK_NOFOLLOW) == 0);
	CHECK(fstatat(fd, "", &by_name, AT_EMPTY_PATH) == 0 && by_name.st_ino == st.st_ino);
	CHECK(fstatat(fd, PATH, &by_name, 0) == 0);
	CHECK(stat("/tmp", &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(refused(stat("/tmp/there-is-no-such-file", &st), ENOENT));
	CHECK(refused(stat((char *)16, &st), EFAULT));
	CHECK(pipe(pipes) == 0 && fstat(pipes[0], &st) == 0 && S_ISFIFO(st.st_mode));
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	return bad;
}

static int test_dup(void)
{
	int fd = selftest_file(PATH), copy, bad = 0;
	char c[3];

	CHECK((copy = dup(fd)) > fd);
	CHECK(write(fd, "abc", 3) == 3);
	CHECK(lseek(copy, 0, SEEK_CUR) == 3); /* one open file, one offset */
	CHECK(lseek(copy, 1, SEEK_SET) == 1 && read(fd, c, 2) == 2 && c[0] == 'b');
	CHECK(dup2(fd, 200) == 200 && write(200, "d", 1) == 1);
	CHECK(dup2(200, 200) == 200 && dup2(fd, copy) == copy);
	CHECK(refused(dup2(199, 199), EBADF) && refused(dup2(199, 3), EBADF));
	CHECK(refused(dup2(fd, -1), EBADF) && refused(dup2(fd, 1 << 30), EBADF));
	CHECK(dup3(fd, 201, O_CLOEXEC) == 201 && fcntl(201, F_GETFD) == FD_CLOEXEC);
	CHECK(refused(dup3(fd, fd, 0), EINVAL));
	CHECK(refused(syscall(SYS_dup3, fd, 202, 1), EINVAL)); /* musl's own would drop the 1 */
	CHECK(fcntl(200, F_GETFD) == 0 && fcntl(200, F_SETFD, FD_CLOEXEC) == 0);
	CHECK(fcntl(200, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd, F_DUPFD, 300) == 300 && fcntl(fd, F_DUPFD_CLOEXEC, 300) == 301);
	CHECK(fcntl(300, F_GETFD) == 0 && fcntl(301, F_GETFD) == FD_CLOEXEC);
	CHECK(refused(fcntl(fd, F_DUPFD, -1), EINVAL));
	CHECK((fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_CREAT | O_EXCL)) == O_RDWR);
	CHECK(fcntl(copy, F_SETFL, O_APPEND) == 0 && (fcntl(fd, F_GETFL) & O_APPEND));
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "end", 3) == 3);
	CHECK(pread(fd, c, 3, 4) == 3 && !memcmp(c, "end", 3));
	for (int i = fd; i < 302; i++)
		close(i);
	CHECK(refused(dup(fd), EBADF) && refused(fcntl(fd, F_GETFD), EBADF));
	return bad;
}

static int keep_fd, lose_fd;

static int exec_self(void)
{
	char keep[16], lose[16];
	char *argv[] = { (char *)self, "after-exec", keep, lose, NULL };

	snprintf(keep, sizeof(keep), "%d", keep_fd);
	snprintf(lose, sizeof(lose), "%d", lose_fd);
	execv(self, argv);
	return 99;
}

static int after_exec(char **argv)
{
	return !(fcntl(atoi(argv[2]), F_GETFD) == 0 &&
		 refused(fcntl(atoi(argv[3]), F_GETFD), EBADF));
}

static int test_cloexec(void)
{
	int bad = 0;

	keep_fd = selftest_file(PATH);
	lose_fd = open(PATH, O_RDONLY | O_CLOEXEC);
	CHECK(fcntl(lose_fd, F_GETFD) == FD_CLOEXEC);
	CHECK(in_child(exec_self) == 0);
	CHECK(fcntl(lose_fd, F_GETFD) == FD_CLOEXEC);
	close(keep_fd);
	close(lose_fd);
	return bad;
}

/* ---- Many --------------------------------------------------------------------------------- */

static int open_another(void)
{
	int fd = open(self, O_RDONLY);

	return fd < 0;
}

/* One who has all the descriptors it may have is refused more, and nobody else is. */
static int test_descriptor_limit(void)
{
	int bad = 0, fd, last = -1, pipes[2];

	while ((fd = open(self, O_RDONLY)) >= 0)
		last = fd;
	CHECK(errno == EMFILE && last >= 255);
	CHECK(refused(open(PATH "1", O_RDWR | O_CREAT, 0600), EMFILE));
	CHECK(refused(dup(0), EMFILE) && refused(pipe(pipes), EMFILE));
	close(last);
	CHECK(refused(pipe(pipes), EMFILE)); /* room for one end only */
	CHECK(refused(open(PATH "1", O_RDWR), ENOENT)); /* no file was left behind */
	for (fd = 3; fd < last; fd++)
		close(fd);
	CHECK(in_child(open_another) == 0);
	return bad;
}

/* Files in /tmp, then as many that are unlinked: afterwards everything opens as before. */
static int test_many_files(void)
{
	enum { MANY = 200 };
	int bad = 0, fd[MANY];
	char path[64];

	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), PATH ".%d", i);
		fd[i] = open(path, O_RDWR | O_CREAT, 0600);
		CHECK(fd[i] >= 0 && write(fd[i], &i, sizeof(i)) == (long)sizeof(i));
	}
	CHECK(in_child(open_another) == 0);
	for (int i = 0; i < MANY; i++) {
		int value = -1;

		snprintf(path, sizeof(path), PATH ".%d", i);
		CHECK(unlink(path) == 0);
		CHECK(pread(fd[i], &value, sizeof(value), 0) == (long)sizeof(value) && value == i);
		close(fd[i]);
	}
	for (int i = 0; i < 3 * MANY; i++) { /* one at a time; Gather makes up any such file */
		snprintf(path, sizeof(path), "/gen/%d", 1 + i);
		close(open(path, O_RDONLY));
	}
	CHECK(in_child(exec_self) != 99 << 8);
	CHECK(in_child(open_another) == 0);
	return bad;
}

/* How long a file in /tmp may get, to 64 KiB. */
static long room(void)
{
	long low = 0, high = 1L << 34;
	int fd = selftest_file(PATH);

	while (high - low > 65536) {
		long middle = (low + high) / 2;

		if (ftruncate(fd, middle) == 0)
			low = middle;
		else
			high = middle;
	}
	close(fd);
	return low;
}

/* A child killed inside open leaves nothing open: what was unlinked goes with its bytes. */
static int test_killed_in_open(void)
{
	enum { KILLS = 300 };
	int bad = 0, fd;
	long before = room();
	pid_t pid;

	for (int i = 0; i < KILLS; i++) {
		fd = selftest_file(PATH);
		CHECK(ftruncate(fd, 65536) == 0);
		close(fd);
		pid = fork();
		while (pid == 0)
			close(open(PATH, O_RDWR));
		usleep((useconds_t)(i * 37 % 1500));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	CHECK(room() == before);
	return bad;
}

int main(int argc, char **argv)
{
	static const struct selftest tests[] = {
		{ "transfer", test_transfer },
		{ "stat", test_stat },
		{ "dup", test_dup },
		{ "cloexec", test_cloexec },
		{ "descriptor-limit", test_descriptor_limit },
		{ "many-files", test_many_files },
		{ "killed-in-open", test_killed_in_open },
		{ 0 },
	};
	int status;

	if (argc == 4 && strcmp(argv[1], "after-exec") == 0)
		return after_exec(argv);
	self = strchr(argv[0], '/') ? argv[0] : "/bin/descriptors";
	status = selftest_main("descriptors", tests, argc, argv);
	unlink(PATH);
	return status;
}
