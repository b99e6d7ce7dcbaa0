#include "kernel/smp.h"

#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/layout.h"
#include "arch/paging.h"
#include "arch/trap.h"
#include "boot/trampoline.h"
#include "drivers/acpi.h"
#include "drivers/clock.h"
#include "drivers/lapic.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/init.h"
#include "kernel/lib.h"
#include "kernel/log.h"

#define LOW_MEMORY_END   0xa0000UL
#define INIT_DELAY_NS    (10 * NSEC_PER_MSEC) /* SDM vol. 3A 8.4.4.1 */
#define STARTUP_DELAY_NS (200 * NSEC_PER_USEC)
#define ANSWER_BASE_NS   (2 * NSEC_PER_SEC)
#define ANSWER_PER_CPU_NS (250 * NSEC_PER_MSEC) /* an emulator's host has fewer CPUs than we */

/* The trampoline calls it, by way of ap_entry64. */
void __noreturn ap_main(struct cpu *cpu);

static u64 trampoline_phys;  /* 0: none */
static u32 nr_started = 1;   /* changed by each AP in turn; they start one by one */

/* Loaders put modules into low memory too. */
static bool in_module(const struct boot_info *info, u64 page)
{
	for (u32 i = 0; i < info->nr_mods; i++)
		if (page < info->mod[i].end && info->mod[i].start < page + PAGE_SIZE)
			return true;
	return false;
}

/* The highest usable page of a memory range; 0: none. Page 0 is the firmware's. */
static u64 find_low_page(const struct boot_info *info, const struct boot_mem *mem)
{
	u64 page = ALIGN_DOWN(MIN(mem->base + mem->len, LOW_MEMORY_END), PAGE_SIZE);

	if (mem->type != BOOT_MEM_AVAILABLE)
		return 0;
	while (page >= mem->base + PAGE_SIZE && page > PAGE_SIZE) {
		page -= PAGE_SIZE;
		if (!in_module(info, page))
			return page;
	}
	return 0;
}

void smp_choose_trampoline(const struct boot_info *info)
{
	for (u32 i = 0; i < info->nr_mem && !trampoline_phys; i++)
		trampoline_phys = find_low_page(info, &info->mem[i]);
}

u32 smp_nr_started(void)
{
	return __atomic_load_n(&nr_started, __ATOMIC_ACQUIRE);
}

void smp_stop_others(void)
{
	for (u32 i = 0, n = smp_nr_started(); n > 1 && i < n; i++)
		if (i != smp_cpu_id())
			lapic_send_nmi(cpus[i].apic_id);
}

/* On the AP: the kernel's page tables, its own stack, interrupts off. */
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
	__atomic_fetch_add(&nr_started, 1, __ATOMIC_RELEASE);
	sched_start_cpu();
}

static struct trampoline_args *install_trampoline(void)
{
	char *page = phys_to_virt(trampoline_phys);
	size_t size = (size_t)(trampoline_end - trampoline_start);

	ASSERT(size <= PAGE_SIZE, "trampoline of %lu bytes", size);
	memcpy(page, trampoline_start, size);
	return (struct trampoline_args *)(page + (trampoline_args - trampoline_start));
}

static bool wait_started(u32 wanted, u64 ns)
{
	u64 end = clock_ns() + ns;

	while (smp_nr_started() < wanted) {
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
static bool start_cpu(struct cpu *cpu, struct trampoline_args *args, u64 patience_ns)
{
	u32 wanted = smp_nr_started() + 1;

	if (ist_stacks_init(cpu) < 0)
		panic("smp: no memory for the emergency stacks of cpu%u", cpu->id);
	*args = (struct trampoline_args){
		.boot_cr3 = kernel_to_phys(boot_pml4),
		.efer = EFER_LME | (cpu_features.nx ? EFER_NXE : 0),
		.kernel_cr3 = kernel_cr3,
		.stack_top = cpu->idle_stack_top,
		.cpu = (u64)cpu,
		.entry = (u64)ap_entry64,
	};
	lapic_send_init(cpu->apic_id);
	clock_delay_ns(INIT_DELAY_NS);
	timer_set_deadline_ns(clock_ns() + STARTUP_DELAY_NS / 2);
	lapic_send_startup(cpu->apic_id, (u8)(trampoline_phys >> PAGE_SHIFT));
	if (wait_started(wanted, STARTUP_DELAY_NS))
		return true;
	lapic_send_startup(cpu->apic_id, (u8)(trampoline_phys >> PAGE_SHIFT));
	return wait_started(wanted, patience_ns);
}

static void check_expected(void)
{
	u64 expected;

	if (cmdline_get_u64("expect_cpus", &expected) == 0 && expected != nr_started)
		panic("smp: expect_cpus=%lu on the command line, but %u CPUs are online", expected,
		      nr_started);
}

void smp_boot_aps(void)
{
	u64 patience_ns = ANSWER_BASE_NS + acpi_info.nr_cpus * ANSWER_PER_CPU_NS;
	struct trampoline_args *args;

	if (acpi_info.nr_cpus > 1 && !trampoline_phys)
		panic("smp: no free page below 640 KiB to start the other CPUs from");
	args = acpi_info.nr_cpus > 1 ? install_trampoline() : NULL;
	for (u32 i = 1; i < acpi_info.nr_cpus; i++)
		if (!start_cpu(&cpus[i], args, patience_ns))
			panic("smp: cpu%u (APIC id %u) did not answer its start-up IPI within "
			      "%lu ms; %u of %u CPUs are online",
			      i, cpus[i].apic_id, patience_ns / NSEC_PER_MSEC, nr_started,
			      acpi_info.nr_cpus);
	pr_info("smp: %u of %u CPUs online\n", nr_started, acpi_info.nr_cpus);
	check_expected();
}
