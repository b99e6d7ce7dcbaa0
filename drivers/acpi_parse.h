/*
 * acpi_parse.h - finds CPUs, interrupt controllers and power registers in the ACPI tables.
 *
 * Pure: no kernel state, compiled on the host by the unit tests. Tables are untrusted input:
 * signature, length and checksum are verified, and fields are never read past their table. ACPI
 * specification 6.4: 5.2.5 (RSDP), 5.2.7 (RSDT), 5.2.8 (XSDT), 5.2.9 (FADT), 5.2.12 (MADT), 5.2.16
 * (SRAT), 7.4.2 (_S5).
 */
#pragma once

#include "kernel/lib.h"
#include "kernel/types.h"

#define ACPI_MAX_IOAPICS   8
#define ACPI_MAX_OVERRIDES 24
#define ACPI_MAX_MEM       16

struct acpi_ioapic {
	u64 phys;
	u32 gsi_base;
};

struct acpi_override { /* ISA interrupt `irq` arrives at global interrupt `gsi` */
	u8 irq;
	u32 gsi;
	u16 flags; /* MPS INTI: bits 0-1 polarity (3: low), bits 2-3 trigger (3: level) */
};

/* Which memory and which CPUs belong together, as the SRAT says; domains are any numbers. */
struct acpi_srat {
	u32 nr_mem, nr_cpus;
	struct acpi_mem_affinity {
		u64 start, end; /* no overflow; may overlap another */
		u32 domain;
	} mem[ACPI_MAX_MEM];
	struct acpi_cpu_affinity {
		u32 apic_id, domain;
	} cpu[NR_CPUS];
	bool damaged; /* checksum, an entry's length, memory past the end of 64 bits, too many ranges */
};

struct acpi_info {
	u32 nr_cpus;	       /* usable CPUs found; 0: no MADT */
	u32 apic_ids[NR_CPUS]; /* as the MADT lists them, until the boot CPU is moved to [0] */
	u32 nr_ignored;	       /* enabled CPUs beyond NR_CPUS */
	u64 lapic_phys;
	u32 nr_ioapics;
	struct acpi_ioapic ioapic[ACPI_MAX_IOAPICS];
	u32 nr_overrides;
	struct acpi_override override[ACPI_MAX_OVERRIDES];
	u16 pm1a_cnt, pm1b_cnt; /* I/O ports; 0: absent */
	u16 pm_timer;		/* I/O port of the 3.579545 MHz counter; 0: absent */
	bool have_s5;
	u8 slp_typa, slp_typb; /* valid if have_s5; at most 7 */
	u16 reset_port;	       /* 0: absent */
	u8 reset_value;
	struct acpi_srat srat; /* nr_mem 0: none */
};

/* len readable bytes at the physical address, or NULL. Mappings stay valid until the end. */
typedef const void *(*acpi_map_fn)(u64 phys, size_t len);

/*
 * Reads all tables reachable from the root pointer (20 or 36 bytes). Returns 0; -EINVAL if the
 * pointer or the root table is malformed; -ENOENT if there is no valid MADT (the rest of *out is
 * still good). Malformed other tables count as absent.
 */
int acpi_parse(struct bytes rsdp, acpi_map_fn map, struct acpi_info *out);

/* Moves the boot CPU to the front, so that its index is 0; adds it if the tables do not list it. */
void acpi_put_boot_cpu_first(struct acpi_info *info, u32 boot_apic_id);
