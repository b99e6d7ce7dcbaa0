/* cpus.c - which CPUs this process may use, pinning to one of them, and what they are. */
#define _GNU_SOURCE
#include "user/lib/cpus.h"

#include <cpuid.h>
#include <sched.h>
#include <string.h>

unsigned int cpus_usable(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) == 0)
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

int cpus_pin(unsigned int index)
{
	cpu_set_t usable, one;
	unsigned int cpu = 0;

	if (sched_getaffinity(0, sizeof(usable), &usable) != 0 || CPU_COUNT(&usable) == 0)
		return -1;
	index %= (unsigned int)CPU_COUNT(&usable);
	while (!CPU_ISSET(cpu, &usable) || index-- > 0)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

int cpus_unpin(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all)); /* what there is not, the kernel leaves out */
	return sched_setaffinity(0, sizeof(all), &all);
}

void cpu_model(char model[CPU_MODEL_SIZE])
{
	unsigned int words[12] = {0}, i;

	if (__get_cpuid_max(0x80000000, NULL) >= 0x80000004)
		for (i = 0; i < 3; i++)
			__cpuid(0x80000002 + i, words[4 * i], words[4 * i + 1], words[4 * i + 2],
				words[4 * i + 3]);
	memcpy(model, words, sizeof(words));
	model[sizeof(words)] = 0;
}
