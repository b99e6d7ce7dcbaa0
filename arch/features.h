/*
 * features.h - what this CPU can do, and switching on what the kernel relies on.
 *
 * The boot CPU detects once; every CPU then enables the same set, and checks that it has it.
 */
#ifndef GATHER_FEATURES_H
#define GATHER_FEATURES_H

#include "kernel/types.h"

struct cpu_features {
	bool nx, smep, smap, umip, pge;
	bool x2apic, tsc_deadline, invariant_tsc, hypervisor;
	bool xsave, xsaveopt;
	u64 xcr0;	/* the state components XSAVE handles; 0 without XSAVE */
	u32 xsave_size; /* bytes of the XSAVE (or FXSAVE: 512) area of a thread */
	char brand[49];
};

/* Constant after cpu_features_detect. */
extern struct cpu_features cpu_features;

/* Fills cpu_features from CPUID. Boot CPU, before anything else of this header. */
void cpu_features_detect(void);

/*
 * Sets CR0 (WP, NE), CR4 (PGE, OSFXSR, OSXSAVE, SMEP, SMAP, UMIP), EFER (NXE) and XCR0 on this
 * CPU. Panics if this CPU lacks what the boot CPU has. CR4.PGE needs page tables that use G
 * properly.
 */
void cpu_features_enable(void);

/* This CPU's APIC id by CPUID: works before the LAPIC is mapped. */
u32 cpuid_apic_id(void);

#endif
