/* cpu.c - the array of CPUs and which of them can take an IPI. */
#include "kernel/cpu.h"
#include "drivers/lapic.h"
#include "kernel/log.h"

struct cpu cpus[NR_CPUS];
cpumask_t cpu_online_mask;
u32 nr_cpus_present = 1;

void cpu_online(struct cpu *cpu)
{
	ASSERT(cpu == this_cpu(), "cpu%u brought online from cpu%u", cpu->id, smp_cpu_id());
	ASSERT(!cpumask_test(cpu_online_mask, cpu->id), "cpu%u is online already", cpu->id);
	ASSERT(lapic_is_ready(), "cpu%u goes online and cannot take an IPI yet", cpu->id);
	cpu->stat.cpu = cpu->id;
	cpu->stat.apic_id = cpu->apic_id;
	cpumask_set_atomic(&cpu_online_mask, cpu->id);
}

unsigned cpus_online(void)
{
	return cpumask_weight(READ_ONCE(cpu_online_mask));
}

u64 vm_event_sum(unsigned event)
{
	u64 sum = 0;
	unsigned cpu;

	for_each_online_cpu(cpu)
		sum += READ_ONCE(cpus[cpu].vm_events[event]);
	return sum;
}
