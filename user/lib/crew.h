/*
 * crew.h - a number of processes that do one job together, and the memory they share.
 */
#ifndef USER_LIB_CREW_H
#define USER_LIB_CREW_H

#include <stddef.h>

#include "user/lib/barrier.h"

#define CREW_MAX 256

/* What a member does; its result is the member's exit status (enum exit_status). */
typedef int (*crew_job)(unsigned int member, void *argument);

/* Zeroed memory that later children share with this process. Exits with a message on failure. */
void *shared_alloc(const char *program, size_t bytes);

/*
 * Forks `members` processes (at most CREW_MAX), pins member i to the i-th usable CPU, and waits
 * for all. When one ends by a signal or with a status other than EXIT_VERIFIED and EXIT_BAD_DATA,
 * says so, breaks the barrier (may be NULL) and kills the others: it never hangs on a dead member.
 * Returns EXIT_VERIFIED, EXIT_BAD_DATA or EXIT_BROKEN, the worst of what happened.
 */
int crew_run(const char *program, unsigned int members, crew_job job, void *argument,
	     struct barrier *barrier);

#endif
