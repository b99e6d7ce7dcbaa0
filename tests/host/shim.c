/* shim.c - the kernel's surroundings, as far as pure code needs them (see shim.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/cpu.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "mm/page.h"
#include "shim.h"

char host_panic_message[512];
unsigned host_locks_held;

struct cpu *host_cpu;
struct cpu cpus[NR_CPUS];
cpumask_t cpu_online_mask;

static struct page frames[HOST_FRAMES];
struct page *mem_map = frames;
u64 max_pfn = HOST_FRAMES;

void host_reset(void)
{
	memset(frames, 0, sizeof(frames));
	memset(cpus, 0, sizeof(cpus));
	for (unsigned i = 0; i < NR_CPUS; i++)
		cpus[i].id = i;
	host_cpu = &cpus[0];
	host_locks_held = 0;
}

uint64_t host_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

void panic(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(host_panic_message, sizeof(host_panic_message), fmt, args);
	va_end(args);
	mock_assert(0, host_panic_message, "panic", 0);
	abort();
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

/* `next` is unused but for telling whether the lock is taken. */
void spin_lock(spinlock_t *lock)
{
	assert_int_equal(lock->next, 0);
	lock->next = 1;
	host_locks_held++;
}

void spin_unlock(spinlock_t *lock)
{
	assert_int_equal(lock->next, 1);
	lock->next = 0;
	host_locks_held--;
}

void spin_assert_held(const spinlock_t *lock)
{
	assert_int_equal(lock->next, 1);
}
