/*
 * features.h - what this CPU can do, and switching on what the kernel relies on.
 *
 * What the kernel cannot do without is in cpu_required: boot.asm checks it before anything relies
 * on it, in both entries, and kernel_main what only shows in 64-bit mode. Of the rest the boot CPU
 * detects what there is, once. Every CPU then enables the same set, and checks that it has it and
 * all that is required.
 */
#pragma once

#include "kernel/types.h"

/* A bit of EDX of a CPUID leaf. boot.asm reads the table; a leaf of 0 ends it. */
struct required_feature {
	u32 leaf, bit;
	char name[16];
};

extern const struct required_feature cpu_required[];

/* The first required feature that this CPU lacks, or NULL. Any time in 64-bit mode. */
const char *cpu_lacks(void);

enum cpu_feature {
	CPU_SMEP,
	CPU_SMAP,
	CPU_UMIP,
	CPU_XSAVE,
	CPU_AVX,
	CPU_X2APIC,
	CPU_TSC_DEADLINE,
	NR_CPU_FEATURES,
};

/* A bit per feature that the boot CPU has. Constant after cpu_features_detect. */
extern u64 cpu_features;

static inline bool cpu_has(enum cpu_feature feature)
{
	return cpu_features & BIT(feature);
}

/* Fills cpu_features from CPUID. Boot CPU, before anything else of this header. */
void cpu_features_detect(void);

/*
 * Sets CR0, CR4 (PGE, OSFXSR, OSXSAVE, SMEP, SMAP, UMIP), EFER (NXE) and XCR0 on this
 * CPU. Panics if this CPU lacks what is required or what the boot CPU has. CR4.PGE needs page tables
 * that use G properly.
 */
void cpu_features_enable(void);

/* This CPU's APIC id by CPUID: works before the LAPIC is mapped. */
u32 cpuid_apic_id(void);
