#include "drivers/acpi.h"

#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/io.h"
#include "arch/layout.h"
#include "boot/bootinfo.h"
#include "kernel/errno.h"
#include "kernel/log.h"

#define PM1_SLP_EN       BIT(13)
#define PM1_SLP_TYP(typ) ((u16)((typ)&7) << 10) /* ACPI 4.8.3.2 */

#define KBC_COMMAND    0x64
#define KBC_PULSE_RESET 0xfe

#define LAPIC_DEFAULT_PHYS 0xfee00000

struct acpi_info acpi_info;

static const void *map_boot(u64 phys, size_t len)
{
	if (phys == 0 || phys >= BOOT_MAP_SIZE || len > BOOT_MAP_SIZE - phys)
		return NULL;
	return phys_to_virt(phys);
}

void acpi_init(void)
{
	int err = acpi_parse(boot_info.rsdp, boot_info.rsdp_len, map_boot, &acpi_info);

	if (err == -EINVAL)
		pr_warn("acpi: no usable root pointer or root table: one CPU, no power off\n");
	else if (err < 0)
		pr_warn("acpi: no usable MADT: one CPU\n");
	if (acpi_info.lapic_phys == 0)
		acpi_info.lapic_phys = LAPIC_DEFAULT_PHYS;
	if (acpi_info.nr_ignored)
		pr_warn("acpi: %u CPUs beyond the %u this kernel supports stay off\n",
			acpi_info.nr_ignored, NR_CPUS);
	acpi_put_boot_cpu_first(&acpi_info, cpuid_apic_id());
	pr_info("acpi: %u CPUs, %u IOAPICs, LAPIC at %lx\n", acpi_info.nr_cpus,
		acpi_info.nr_ioapics, acpi_info.lapic_phys);
}

void acpi_poweroff(void)
{
	if (!acpi_info.have_s5 || !acpi_info.pm1a_cnt)
		return;
	outw(acpi_info.pm1a_cnt, PM1_SLP_TYP(acpi_info.slp_typa) | PM1_SLP_EN);
	if (acpi_info.pm1b_cnt)
		outw(acpi_info.pm1b_cnt, PM1_SLP_TYP(acpi_info.slp_typb) | PM1_SLP_EN);
}

/* With an empty IDT no exception can be delivered: a triple fault, which resets the machine. */
static void triple_fault(void)
{
	struct {
		u16 limit;
		u64 base;
	} __packed idtr = { 0, 0 };

	__asm__ volatile("lidt %0; int3" ::"m"(idtr) : "memory");
}

void __noreturn machine_reboot(void)
{
	local_irq_disable();
	if (acpi_info.reset_port)
		outb(acpi_info.reset_port, acpi_info.reset_value);
	outb(KBC_COMMAND, KBC_PULSE_RESET);
	triple_fault();
	cpu_halt_forever();
}
