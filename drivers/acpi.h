/*
 * acpi.h - what ACPI says about this machine.
 */
#pragma once

#include "drivers/acpi_parse.h"

/* Constant after acpi_init. nr_cpus >= 1, apic_ids[0] is the boot CPU. */
extern struct acpi_info acpi_info;

/*
 * Reads the tables through the boot map (the first 4 GiB); everything is copied. Sets the ids of
 * all struct cpu and nr_cpus_present. Needs boot_info. Without usable tables the machine has one
 * CPU: warns and goes on.
 */
void acpi_init(void);
