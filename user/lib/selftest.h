/*
 * selftest.h - programs that check by themselves what a kernel does, on Gather and on Linux.
 *
 * A test returns how much it found wrong. Each prints `RESULT workload=PROGRAM test=NAME bad=N`.
 */
#ifndef USER_LIB_SELFTEST_H
#define USER_LIB_SELFTEST_H

struct selftest {
	const char *name;
	int (*run)(void);
};

/*
 * Runs the tests of a table that ends with {0}, or the one that the command line names. Returns the
 * exit status: EXIT_VERIFIED, EXIT_BAD_DATA if anything was wrong, EXIT_USAGE.
 */
int selftest_main(const char *program, const struct selftest *tests, int argc, char **argv);

/* Says on stderr what was not so, with errno; returns 1, to be added up. */
int selftest_wrong(const char *what, int line);

/* Adds to `bad` of the test that uses it. */
#define CHECK(what) (bad += (what) ? 0 : selftest_wrong(#what, __LINE__))

/* A system call's result: refused, and with this error. */
int selftest_refused(long result, int error);

/* A new empty file of that name, open for reading and writing. Exits with a message on failure. */
int selftest_file(const char *path);

#endif
