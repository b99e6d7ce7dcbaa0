/*
 * cpu.h - one inline function per x86 instruction the kernel uses, under plain names.
 *
 * No policy and no state. Instructions that order or change memory as others see it carry a
 * "memory" clobber. Register and bit names: Intel SDM vol. 3A 2.5 (control registers), vol. 4
 * (MSRs).
 */
#pragma once

#include "kernel/types.h"

#define RFLAGS_RESERVED1 BIT(1)
#define RFLAGS_TF        BIT(8)
#define RFLAGS_IF        BIT(9)
#define RFLAGS_DF        BIT(10)
#define RFLAGS_IOPL      (3UL << 12)
#define RFLAGS_NT        BIT(14)
#define RFLAGS_AC        BIT(18)

#define CR0_KERNEL 0x80010033 /* PG WP NE ET MP PE; EM, TS, AM, CD and NW clear */

#define CR4_PGE        BIT(7)
#define CR4_OSFXSR     BIT(9)
#define CR4_OSXMMEXCPT BIT(10)
#define CR4_UMIP       BIT(11)
#define CR4_OSXSAVE    BIT(18)
#define CR4_SMEP       BIT(20)
#define CR4_SMAP       BIT(21)

#define MSR_APIC_BASE      0x1b
#define MSR_TSC_DEADLINE   0x6e0
#define MSR_X2APIC_BASE    0x800
#define MSR_EFER           0xc0000080
#define MSR_STAR           0xc0000081
#define MSR_LSTAR          0xc0000082
#define MSR_SFMASK         0xc0000084
#define MSR_FS_BASE        0xc0000100
#define MSR_GS_BASE        0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

#define EFER_SCE BIT(0)
#define EFER_LME BIT(8)
#define EFER_NXE BIT(11)

/* ---- Interrupt flag and waiting ------------------------------------------------------------ */

static inline void local_irq_disable(void)
{
	__asm__ volatile("cli" ::: "memory");
}

static inline void local_irq_enable(void)
{
	__asm__ volatile("sti" ::: "memory");
}

static inline u64 read_rflags(void)
{
	u64 flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags)::"memory");
	return flags;
}

static inline bool irqs_disabled(void)
{
	return !(read_rflags() & RFLAGS_IF);
}

/* Disables interrupts; the result, given to local_irq_restore, brings back the old state. */
static inline u64 local_irq_save(void)
{
	u64 flags = read_rflags();

	local_irq_disable();
	return flags;
}

static inline void local_irq_restore(u64 flags)
{
	if (flags & RFLAGS_IF)
		local_irq_enable();
}

/* The body of every spin loop: under the emulator PAUSE is also what lets other CPUs run. */
static inline void cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/*
 * Enables interrupts and waits for one. STI holds interrupts back for one instruction, so one
 * that was pending when the caller last looked, with interrupts off, ends the HLT at once.
 */
static inline void cpu_wait_for_irq(void)
{
	__asm__ volatile("sti; hlt" ::: "memory");
}

/* Stops this CPU for good; an NMI or #MC only makes it halt again. */
static inline void __noreturn cpu_halt_forever(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" ::: "memory");
}

/* ---- Control, model-specific and extended control registers --------------------------------- */

#define DEFINE_READ_CR(name, reg)                                                                  \
	static inline u64 name(void)                                                               \
	{                                                                                          \
		u64 value;                                                                         \
		__asm__ volatile("movq %%" reg ", %0" : "=r"(value)::"memory");                    \
		return value;                                                                      \
	}
#define DEFINE_WRITE_CR(name, reg)                                                                 \
	static inline void name(u64 value)                                                         \
	{                                                                                          \
		__asm__ volatile("movq %0, %%" reg ::"r"(value) : "memory");                       \
	}

DEFINE_READ_CR(read_cr2, "cr2")
DEFINE_READ_CR(read_cr3, "cr3")
DEFINE_READ_CR(read_cr4, "cr4")
DEFINE_WRITE_CR(write_cr0, "cr0")
DEFINE_WRITE_CR(write_cr3, "cr3")
DEFINE_WRITE_CR(write_cr4, "cr4")

static inline u64 rdmsr(u32 msr)
{
	u32 low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
	return (u64)high << 32 | low;
}

static inline void wrmsr(u32 msr, u64 value)
{
	__asm__ volatile("wrmsr" ::"c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

static inline void write_xcr0(u64 value)
{
	__asm__ volatile("xsetbv" ::"c"(0), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

/* ---- Identification, time, translation, user access ------------------------------------------ */

struct cpuid_regs {
	u32 eax, ebx, ecx, edx;
};

static inline struct cpuid_regs cpuid(u32 leaf, u32 subleaf)
{
	struct cpuid_regs r;

	__asm__ volatile("cpuid"
			 : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
			 : "a"(leaf), "c"(subleaf));
	return r;
}

static inline u64 rdtsc(void)
{
	u32 low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (u64)high << 32 | low;
}

/* Drops this CPU's translations of one *linear* address, global ones too (SDM vol. 2, INVLPG). */
static inline void invlpg(u64 address)
{
	__asm__ volatile("invlpg (%0)" ::"r"(address) : "memory");
}

/* Open and close the window in which kernel code may touch user pages. #UD without SMAP. */
static inline void stac(void)
{
	__asm__ volatile("stac" ::: "memory");
}

static inline void clac(void)
{
	__asm__ volatile("clac" ::: "memory");
}
