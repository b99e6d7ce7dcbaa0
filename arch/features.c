#include "arch/features.h"

#include "arch/cpu.h"
#include "kernel/lib.h"
#include "kernel/log.h"

#define XCR0_X87_SSE_AVX 7UL /* the components a context switch saves; never more than these */

/* The x86-64 baseline as far as the kernel or programs use it, and what the kernel adds. */
const struct required_feature cpu_required[] = {
	{1, 0, "fpu"},    {1, 4, "tsc"},   {1, 5, "msr"},   {1, 6, "pae"},   {1, 9, "apic"},
	{1, 13, "pge"},   {1, 15, "cmov"}, {1, 24, "fxsr"}, {1, 25, "sse"},  {1, 26, "sse2"},
	{0x80000001, 20, "nx"}, {0x80000001, 29, "64-bit-mode"}, {0},
};

/* Intel's CPUs show this bit in 64-bit mode only (SDM vol. 2, CPUID), so boot.asm cannot look. */
static const struct required_feature required_in_long_mode[] = {
	{0x80000001, 11, "syscall"}, {0},
};

enum cpuid_reg { EAX, EBX, ECX, EDX };

static const struct {
	const char *name;
	u32 leaf;
	enum cpuid_reg reg;
	u8 bit;
	u64 cr4; /* what switches it on */
} features[NR_CPU_FEATURES] = {
	[CPU_SMEP] = {"smep", 7, EBX, 7, CR4_SMEP},
	[CPU_SMAP] = {"smap", 7, EBX, 20, CR4_SMAP},
	[CPU_UMIP] = {"umip", 7, ECX, 2, CR4_UMIP},
	[CPU_XSAVE] = {"xsave", 1, ECX, 26, CR4_OSXSAVE},
	[CPU_AVX] = {"avx", 1, ECX, 28, 0},
	[CPU_X2APIC] = {"x2apic", 1, ECX, 21, 0},
	[CPU_TSC_DEADLINE] = {"tsc-deadline", 1, ECX, 24, 0},
};

u64 cpu_features;

/* Read by entry.asm on every entry: CLAC does not exist without SMAP. */
extern bool cpu_features_smap;
bool cpu_features_smap;

static bool has_leaf(u32 leaf)
{
	return cpuid(leaf & 0x80000000, 0).eax >= leaf;
}

static u64 detect(void)
{
	u64 found = 0;

	for (unsigned i = 0; i < NR_CPU_FEATURES; i++) {
		struct cpuid_regs r = cpuid(features[i].leaf, 0);
		u32 regs[] = {r.eax, r.ebx, r.ecx, r.edx};

		if (has_leaf(features[i].leaf) && regs[features[i].reg] & BIT(features[i].bit))
			found |= BIT(i);
	}
	return found;
}

void cpu_features_detect(void)
{
	char text[128] = "";
	size_t len = 0;

	cpu_features = detect();
	cpu_features_smap = cpu_has(CPU_SMAP);
	for (unsigned i = 0; i < NR_CPU_FEATURES; i++)
		if (cpu_has(i))
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %s",
						features[i].name);
	pr_info("cpu:%s\n", text);
}

static const char *first_missing(const struct required_feature *f)
{
	for (; f->leaf; f++)
		if (!has_leaf(f->leaf) || !(cpuid(f->leaf, 0).edx & BIT(f->bit)))
			return f->name;
	return NULL;
}

const char *cpu_lacks(void)
{
	const char *missing = first_missing(cpu_required);

	return missing ? missing : first_missing(required_in_long_mode);
}

void cpu_features_enable(void)
{
	u64 cr4 = read_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PGE;

	if (cpu_lacks())
		panic("the CPU with APIC id %u lacks %s", cpuid_apic_id(), cpu_lacks());
	/* Threads move between CPUs: what one has and the kernel uses, all must have. */
	if (cpu_features & ~detect())
		panic("CPU with APIC id %u lacks features of the boot CPU (bits %lx)",
		      cpuid_apic_id(), cpu_features & ~detect());
	write_cr0(CR0_KERNEL);
	for (unsigned i = 0; i < NR_CPU_FEATURES; i++)
		if (cpu_has(i))
			cr4 |= features[i].cr4;
	write_cr4(cr4);
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_NXE);
	if (cpu_has(CPU_XSAVE))
		write_xcr0(cpuid(0xd, 0).eax & XCR0_X87_SSE_AVX);
}

u32 cpuid_apic_id(void)
{
	if (has_leaf(0xb) && cpuid(0xb, 0).ebx != 0)
		return cpuid(0xb, 0).edx; /* the full x2APIC id, SDM vol. 3A 8.9.1 */
	return cpuid(1, 0).ebx >> 24;
}
