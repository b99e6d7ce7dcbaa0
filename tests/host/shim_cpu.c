/* shim_cpu.c - CPUs and spinlocks in a test (see shim_cpu.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim_cpu.h"

struct cpu cpus[NR_CPUS];
cpumask_t cpu_online_mask;
unsigned host_locks_held;

void host_reset_cpus(struct thread *running)
{
	memset(cpus, 0, sizeof(cpus));
	for (unsigned i = 0; i < NR_CPUS; i++) {
		cpus[i].id = i;
		cpus[i].self = &cpus[i];
	}
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, &cpus[0]), 0);
	this_cpu_write(curr, running);
	cpu_online_mask = 1;
	host_locks_held = 0;
}

/* The owner tells whether the lock is taken. */
void spin_lock(spinlock_t *lock)
{
	assert_int_equal(lock->owner, 0);
	lock->owner = 1;
	host_locks_held++;
}

void spin_unlock(spinlock_t *lock)
{
	assert_int_equal(lock->owner, 1);
	lock->owner = 0;
	host_locks_held--;
}

void spin_assert_held(const spinlock_t *lock)
{
	assert_int_equal(lock->owner, 1);
}
