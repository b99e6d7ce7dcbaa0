#include "arch/features.h"

#include "arch/cpu.h"
#include "kernel/lib.h"
#include "kernel/log.h"

#define XCR0_X87_SSE_AVX 7UL /* the components a context switch saves; never more than these */

struct cpu_features cpu_features;

/* Read by entry.asm on every entry: CLAC does not exist without SMAP. */
extern bool cpu_features_smap;
bool cpu_features_smap;

static bool has_leaf(u32 leaf)
{
	return cpuid(leaf & 0x80000000, 0).eax >= leaf;
}

static void detect_brand(char *brand)
{
	if (!has_leaf(0x80000004))
		return;
	for (u32 i = 0; i < 3; i++) {
		struct cpuid_regs r = cpuid(0x80000002 + i, 0);

		memcpy(brand + 16 * i, &r, 16);
	}
}

static void detect_xsave(struct cpu_features *f)
{
	struct cpuid_regs r;

	f->xsave_size = 512; /* FXSAVE, SDM vol. 1 10.5 */
	f->xsave = (cpuid(1, 0).ecx & BIT(26)) && has_leaf(0xd);
	if (!f->xsave)
		return;
	r = cpuid(0xd, 0);
	f->xcr0 = r.eax & XCR0_X87_SSE_AVX;
	f->xsave_size = f->xcr0 & BIT(2) ? 512 + 64 + 256 : 512 + 64; /* SDM vol. 1 13.4 */
	f->xsaveopt = cpuid(0xd, 1).eax & BIT(0);
}

static struct cpu_features detect(void)
{
	struct cpu_features f = { 0 };
	struct cpuid_regs r = cpuid(1, 0);

	f.pge = r.edx & BIT(13);
	f.x2apic = r.ecx & BIT(21);
	f.tsc_deadline = r.ecx & BIT(24);
	f.hypervisor = r.ecx & BIT(31);
	if (has_leaf(7)) {
		r = cpuid(7, 0);
		f.smep = r.ebx & BIT(7);
		f.smap = r.ebx & BIT(20);
		f.umip = r.ecx & BIT(2);
	}
	f.nx = cpuid(0x80000001, 0).edx & BIT(20);
	if (has_leaf(0x80000007))
		f.invariant_tsc = cpuid(0x80000007, 0).edx & BIT(8);
	detect_xsave(&f);
	detect_brand(f.brand);
	return f;
}

void cpu_features_detect(void)
{
	cpu_features = detect();
}

/* Threads move between CPUs: what one has and the kernel uses, all must have. */
static void check_same_as_boot_cpu(void)
{
	struct cpu_features f = detect();
	const struct cpu_features *b = &cpu_features;

	if (f.nx < b->nx || f.smep < b->smep || f.smap < b->smap || f.umip < b->umip ||
	    f.pge < b->pge || f.x2apic < b->x2apic || (f.xcr0 & b->xcr0) != b->xcr0)
		panic("CPU with APIC id %u lacks a feature of the boot CPU", cpuid_apic_id());
}

void cpu_features_enable(void)
{
	const struct cpu_features *f = &cpu_features;
	u64 cr4 = read_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT;

	check_same_as_boot_cpu();
	write_cr0((read_cr0() | CR0_WP | CR0_NE | CR0_MP) &
		  ~(CR0_EM | CR0_TS | CR0_CD | CR0_NW | CR0_AM));
	cr4 |= f->pge ? CR4_PGE : 0;
	cr4 |= f->umip ? CR4_UMIP : 0;
	cr4 |= f->smep ? CR4_SMEP : 0;
	cr4 |= f->smap ? CR4_SMAP : 0;
	cr4 |= f->xsave ? CR4_OSXSAVE : 0;
	write_cr4(cr4);
	if (f->nx)
		wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_NXE);
	if (f->xsave)
		xsetbv(0, f->xcr0);
	cpu_features_smap = f->smap;
}

u32 cpuid_apic_id(void)
{
	if (has_leaf(0xb) && cpuid(0xb, 0).ebx != 0)
		return cpuid(0xb, 0).edx; /* the full x2APIC id, SDM vol. 3A 8.9.1 */
	return cpuid(1, 0).ebx >> 24;
}
