#include "drivers/exit.h"

#include "arch/cpu.h"
#include "arch/io.h"
#include "drivers/acpi.h"

#define KBC_COMMAND     0x64
#define KBC_PULSE_RESET 0xfe

#define PM1_SLP_EN        BIT(13)
#define PM1_SLP_TYP_SHIFT 10 /* ACPI 4.8.3.2 */

void __noreturn exit_machine(enum exit_code code)
{
	const struct acpi_info *acpi = &acpi_info;

	local_irq_disable();
	outl(DEBUG_EXIT_PORT, code);
	if (acpi->have_s5 && acpi->pm1a_cnt)
		outw(acpi->pm1a_cnt, (u16)(acpi->slp_typa << PM1_SLP_TYP_SHIFT | PM1_SLP_EN));
	if (acpi->have_s5 && acpi->pm1b_cnt)
		outw(acpi->pm1b_cnt, (u16)(acpi->slp_typb << PM1_SLP_TYP_SHIFT | PM1_SLP_EN));
	cpu_halt_forever();
}

void __noreturn machine_reboot(void)
{
	local_irq_disable();
	if (acpi_info.reset_port)
		outb(acpi_info.reset_port, acpi_info.reset_value);
	outb(KBC_COMMAND, KBC_PULSE_RESET);
	cpu_halt_forever();
}
