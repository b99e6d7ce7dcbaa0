#include "drivers/acpi.h"

#include "arch/features.h"
#include "arch/layout.h"
#include "boot/bootinfo.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/log.h"

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
	struct bytes rsdp = {boot_info.rsdp, boot_info.rsdp_len};

	if (acpi_parse(rsdp, map_boot, &acpi_info) < 0)
		pr_warn("acpi: no usable root pointer, root table or MADT: one CPU\n");
	if (acpi_info.lapic_phys == 0)
		acpi_info.lapic_phys = LAPIC_DEFAULT_PHYS;
	acpi_put_boot_cpu_first(&acpi_info, cpuid_apic_id());
	if (acpi_info.nr_ignored)
		pr_warn("acpi: %u CPUs beyond the %u this kernel supports stay off\n",
			acpi_info.nr_ignored, NR_CPUS);
	nr_cpus_present = acpi_info.nr_cpus;
	for (u32 i = 0; i < nr_cpus_present; i++) {
		cpus[i].id = i;
		cpus[i].apic_id = acpi_info.apic_ids[i];
	}
	pr_info("acpi: %u CPUs, %u IOAPICs, LAPIC at %lx\n", acpi_info.nr_cpus,
		acpi_info.nr_ioapics, acpi_info.lapic_phys);
}
