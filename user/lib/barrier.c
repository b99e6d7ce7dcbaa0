/* barrier.c - a barrier between processes that can be broken. */
#define _GNU_SOURCE
#include "user/lib/barrier.h"

#include <limits.h>
#include <stddef.h>
#include <unistd.h>
#include <sys/syscall.h>

#define SPINS 2000

/* From the futex(2) manual page: musl does not install linux/futex.h. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

void barrier_init(struct barrier *b, unsigned int parties)
{
	b->parties = parties;
	atomic_init(&b->arrived, 0);
	atomic_init(&b->generation, 0);
	atomic_init(&b->sleepers, 0);
	atomic_init(&b->broken, false);
}

/*
 * A waiter counts itself as a sleeper before the kernel compares the generation, and the
 * generation changes before the sleepers are counted here: one of the two sees the other.
 */
static void next_generation(struct barrier *b)
{
	atomic_fetch_add(&b->generation, 1);
	if (atomic_load(&b->sleepers) > 0)
		syscall(SYS_futex, &b->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sleep_while(struct barrier *b, unsigned int generation)
{
	atomic_fetch_add(&b->sleepers, 1);
	while (atomic_load(&b->generation) == generation)
		syscall(SYS_futex, &b->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
	atomic_fetch_sub(&b->sleepers, 1);
}

bool barrier_wait(struct barrier *b)
{
	unsigned int generation = atomic_load(&b->generation);

	/* Read after the generation: a break that is missed here changes the generation. */
	if (atomic_load(&b->broken))
		return false;
	if (atomic_fetch_add(&b->arrived, 1) + 1 == b->parties) {
		atomic_store(&b->arrived, 0);
		next_generation(b);
		return !atomic_load(&b->broken);
	}
	for (int i = 0; i < SPINS && atomic_load(&b->generation) == generation; i++)
		__builtin_ia32_pause();
	sleep_while(b, generation);
	return !atomic_load(&b->broken);
}

void barrier_break(struct barrier *b)
{
	atomic_store(&b->broken, true);
	next_generation(b);
}
