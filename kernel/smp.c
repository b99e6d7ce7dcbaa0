#include "kernel/smp.h"

#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/layout.h"
#include "arch/paging.h"
#include "arch/trap.h"
#include "boot/bootinfo.h"
#include "boot/trampoline.h"
#include "drivers/clock.h"
#include "drivers/lapic.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/init.h"
#include "kernel/lib.h"
#include "kernel/log.h"

#define LOW_MEMORY_END    0xa0000UL
/*
 * SDM vol. 3A 8.4.4.1 asks for 10 ms after INIT, for the first processors with an APIC of their
 * own. Those with 64 bits need none (Linux skips it too), and start_cpu sends the start-up twice.
 */
#define INIT_DELAY_NS     (100 * NSEC_PER_USEC)
#define STARTUP_DELAY_NS  (200 * NSEC_PER_USEC)
#define ANSWER_BASE_NS    (2 * NSEC_PER_SEC)
#define ANSWER_PER_CPU_NS (250 * NSEC_PER_MSEC) /* an emulator's host has fewer CPUs than we */

struct ap_boot ap_boot;

static bool overlaps(u64 page, u64 start, u64 end)
{
	return page < end && start < page + PAGE_SIZE;
}

/* Firmwares' ranges may overlap, and loaders put modules into low memory too. */
static bool page_is_free(u64 page)
{
	bool available = false;

	for (u32 i = 0; i < boot_info.nr_mods; i++)
		if (overlaps(page, boot_info.mod[i].start, boot_info.mod[i].end))
			return false;
	for (u32 i = 0; i < boot_info.nr_mem; i++) {
		const struct boot_mem *mem = &boot_info.mem[i];
		u64 end = mem->base + mem->len;

		if (mem->type == BOOT_MEM_AVAILABLE)
			available |= mem->base <= page && page + PAGE_SIZE <= end;
		else if (overlaps(page, mem->base, end))
			return false;
	}
	return available;
}

/* Real mode reaches no page above; mm_init leaves the first MiB alone. Page 0 is the firmware's. */
static u64 install_trampoline(void)
{
	u64 page = LOW_MEMORY_END - PAGE_SIZE;

	while (page && !page_is_free(page))
		page -= PAGE_SIZE;
	if (!page)
		panic("smp: no free page below 640 KiB to start the other CPUs from");
	memcpy(phys_to_virt(page), trampoline_start, (size_t)(trampoline_end - trampoline_start));
	return page;
}

void smp_stop_others(void)
{
	u32 i;

	for_each_online_cpu(i)
		if (i != smp_cpu_id())
			lapic_send_ipi(cpus[i].apic_id, IPI_NMI);
}

void __noreturn ap_main(struct cpu *cpu)
{
	gdt_load(cpu);
	cpu_features_enable();
	trap_init_cpu();
	lapic_init_cpu();
	timer_init_cpu();
	ASSERT(lapic_id() == cpu->apic_id, "cpu%u: APIC id %u, the MADT says %u", cpu->id,
	       lapic_id(), cpu->apic_id);
	cpu_online(cpu);
	sched_start_cpu();
}

static bool wait_online(const struct cpu *cpu, u64 ns)
{
	u64 end = clock_ns() + ns;

	while (!cpumask_test(READ_ONCE(cpu_online_mask), cpu->id)) {
		if (clock_ns() >= end)
			return false;
		cpu_relax();
	}
	return true;
}

/*
 * INIT, start-up, and a second start-up for a CPU that missed the first (SDM vol. 3A 8.4.4.1).
 * The alarm serves nobody: under QEMU's -icount the start of a CPU moves virtual time to the next
 * timer event, and if that were the firmware's, no two runs would be alike. It may ring once,
 * later.
 */
static bool start_cpu(struct cpu *cpu, u64 trampoline, u64 patience_ns)
{
	u32 startup = IPI_STARTUP((u32)(trampoline >> PAGE_SHIFT));

	ist_stacks_init(cpu);
	ap_boot = (struct ap_boot){rdmsr(MSR_EFER), kernel_cr3, cpu->idle_stack_top, cpu};
	lapic_send_ipi(cpu->apic_id, IPI_INIT);
	clock_delay_ns(INIT_DELAY_NS);
	timer_set_deadline_ns(clock_ns() + STARTUP_DELAY_NS / 2);
	lapic_send_ipi(cpu->apic_id, startup);
	if (wait_online(cpu, STARTUP_DELAY_NS))
		return true;
	lapic_send_ipi(cpu->apic_id, startup);
	if (wait_online(cpu, patience_ns))
		return true;
	lapic_send_ipi(cpu->apic_id, IPI_INIT); /* or it comes late, with the next one's ap_boot */
	return false;
}

/* Panics with the APIC ids of all that did not come. */
static void check_all_online(void)
{
	char ids[NR_CPUS * sizeof(" 4294967295")];
	size_t len = 0;

	for (u32 i = 0; i < nr_cpus_present; i++)
		if (!cpumask_test(cpu_online_mask, i))
			len += (size_t)snprintf(ids + len, sizeof(ids) - len, " %u",
						cpus[i].apic_id);
	if (len)
		panic("smp: %u of %u CPUs are online; no answer to a start-up IPI from APIC id%s",
		      cpus_online(), nr_cpus_present, ids);
}

void smp_boot_aps(void)
{
	u64 patience_ns = ANSWER_BASE_NS + nr_cpus_present * ANSWER_PER_CPU_NS;
	u64 trampoline = nr_cpus_present > 1 ? install_trampoline() : 0, expected;

	for (u32 i = 1; i < nr_cpus_present; i++)
		if (!start_cpu(&cpus[i], trampoline, patience_ns))
			patience_ns = ANSWER_PER_CPU_NS; /* only the list is of interest now */
	check_all_online();
	pr_info("smp: %u of %u CPUs online\n", cpus_online(), nr_cpus_present);
	if (cmdline_get_u64("expect_cpus", &expected) == 0 && expected != cpus_online())
		panic("smp: expect_cpus=%lu on the command line, but %u CPUs are online", expected,
		      cpus_online());
}
