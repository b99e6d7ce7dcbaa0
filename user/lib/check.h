/*
 * check.h - programs that check what the kernel answers, and say each difference in one line.
 *
 * The same program runs on Linux: what both do is right.
 */
#ifndef USER_LIB_CHECK_H
#define USER_LIB_CHECK_H

#include <stdbool.h>

/* The call must have failed with this errno, and so have returned -1. */
void check_fails(const char *call, long result, int error);
/* The call must have returned this. */
void check_returns(const char *call, long result, long expected);
/* What is said to be so must be so. */
void check_that(bool so, const char *what);

/* This kernel is Gather, and has its native calls. */
bool check_on_gather(void);

/* Prints `RESULT workload=NAME checks=N failed=N`; the program's exit status. */
int check_done(const char *program);

#endif
