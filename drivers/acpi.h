/*
 * acpi.h - the machine's ACPI description, and switching it off or restarting it.
 */
#ifndef GATHER_ACPI_H
#define GATHER_ACPI_H

#include "drivers/acpi_parse.h"

/* Constant after acpi_init. nr_cpus >= 1, apic_ids[0] is the boot CPU. */
extern struct acpi_info acpi_info;

/*
 * Reads the tables through the boot map (the first 4 GiB); everything is copied. Needs boot_info.
 * Without usable tables the machine has one CPU: warns and goes on.
 */
void acpi_init(void);

/* Enters the S5 state. Returns if the machine has no such thing. Any context. */
void acpi_poweroff(void);

/* Restarts by the ACPI reset register, the keyboard controller, or a triple fault. Any context. */
void __noreturn machine_reboot(void);

#endif
