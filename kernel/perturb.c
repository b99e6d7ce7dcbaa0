/* perturb.c - sync points: dice by a seeded generator per CPU, and stops (see perturb.h). */
#include "kernel/perturb.h"
#include "arch/cpu.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "kernel/thread.h"

#define MAX_PAUSES 64 /* under an emulator with one host thread each lets another CPU run */

u64 perturb_seed;
bool sync_points_on;

static u64 state[NR_CPUS];
static u64 nr_demoted;

/* CPUs that shall stop at a point, and CPUs that stand there. */
static cpumask_t armed[NR_SYNC_POINTS], stopped[NR_SYNC_POINTS];

void perturb_init(void)
{
	u32 i;

	if (cmdline_get_u64("seed", &perturb_seed) || !perturb_seed)
		return;
	for (i = 0; i < NR_CPUS; i++)
		state[i] = perturb_seed * 0x9e3779b97f4a7c15ull + i + 1;
	sync_points_on = true;
	pr_info("perturb: seed %lu\n", perturb_seed);
}

/* xorshift64. An interrupt in between only makes it another sequence, the same in every replay. */
static u64 next_random(void)
{
	u64 *s = &state[smp_cpu_id()];

	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

s64 perturb_new_order(void)
{
	return perturb_seed ? (s64)(next_random() >> 1) : 0;
}

s64 perturb_last_order(void)
{
	return perturb_seed ? -(s64)atomic_add_fetch(&nr_demoted, 1) : 0;
}

bool perturb_coin(void)
{
	return perturb_seed && next_random() % 2;
}

static void perturb(enum sync_point point)
{
	u64 random = next_random(), pauses;

	if (random % (point == SYNC_spin_lock ? 64 : 8))
		return;
	if ((random >> 8) % 4 == 0)
		this_cpu_write(need_resched, 1); /* preempted at the next place that allows it */
	if ((random >> 10) % 8 == 0)
		current->order = perturb_last_order();
	for (pauses = (random >> 16) % MAX_PAUSES; pauses; pauses--)
		cpu_relax();
}

void __sync_point(enum sync_point point)
{
	cpumask_t me = CPU_BIT(smp_cpu_id());

	if (perturb_seed)
		perturb(point);
	if (!(READ_ONCE(armed[point]) & me) || !(atomic_fetch_and(&armed[point], ~me) & me))
		return;
	(void)atomic_fetch_or(&stopped[point], me);
	while (READ_ONCE(stopped[point]) & me)
		cpu_relax();
}

void pause_at(enum sync_point point, unsigned cpu)
{
	WRITE_ONCE(sync_points_on, true);
	(void)atomic_fetch_or(&armed[point], CPU_BIT(cpu));
}

bool paused_at(enum sync_point point)
{
	return READ_ONCE(stopped[point]) != 0;
}

void release(enum sync_point point)
{
	WRITE_ONCE(armed[point], 0);
	WRITE_ONCE(stopped[point], 0);
}
