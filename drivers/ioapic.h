/*
 * ioapic.h - routes device interrupts to CPUs (82093AA data sheet; ACPI names its inputs GSIs).
 */
#pragma once

#include "kernel/types.h"

/* Maps the IOAPICs of acpi_info and masks every input; masks the 8259s too. After mm_init. */
void ioapic_init(void);

/*
 * Delivers ISA interrupt `irq` as `vector` to one CPU (8-bit APIC id), following the MADT's
 * overrides. Returns 0 or -ENODEV if no IOAPIC has that input.
 */
int ioapic_route_isa(u8 irq, u8 vector, u32 apic_id);
