/* perturb.c - hesitating by a seeded generator per CPU (see perturb.h). */
#include "kernel/perturb.h"
#include "arch/cpu.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/log.h"

#define MAX_PAUSES 64 /* under an emulator with one host thread each lets another CPU run */

u64 perturb_seed;
static u64 state[NR_CPUS];

void perturb_init(void)
{
	u32 i;

	if (cmdline_get_u64("seed", &perturb_seed) || !perturb_seed)
		return;
	for (i = 0; i < NR_CPUS; i++)
		state[i] = perturb_seed * 0x9e3779b97f4a7c15ull + i + 1;
	pr_info("perturb: seed %lu\n", perturb_seed);
}

/* xorshift64. An interrupt in between only makes it another sequence, the same in every replay. */
static u64 next_random(u64 *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

void __perturb(void)
{
	u64 random = next_random(&state[smp_cpu_id()]), pauses;

	if (random % 8)
		return;
	if ((random >> 8) % 4 == 0)
		this_cpu_write(need_resched, 1); /* preempted at the next place that allows it */
	for (pauses = (random >> 16) % MAX_PAUSES; pauses; pauses--)
		cpu_relax();
}
