#include "drivers/lapic.h"

#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/io.h"
#include "arch/paging.h"
#include "arch/vectors.h"
#include "kernel/log.h"

enum lapic_reg { /* byte offsets; the x2APIC MSR is 0x800 + offset / 16 (SDM vol. 3A 10.12.1) */
	LAPIC_ID = 0x20,
	LAPIC_TPR = 0x80,
	LAPIC_EOI = 0xb0,
	LAPIC_SVR = 0xf0,
	LAPIC_ICR_LOW = 0x300,
	LAPIC_ICR_HIGH = 0x310,
	LAPIC_LVT_TIMER = 0x320,
	LAPIC_LVT_LINT0 = 0x350,
	LAPIC_LVT_LINT1 = 0x360,
	LAPIC_LVT_ERROR = 0x370,
	LAPIC_TIMER_INITIAL = 0x380,
	LAPIC_TIMER_CURRENT = 0x390,
	LAPIC_TIMER_DIVIDE = 0x3e0,
};

#define APIC_BASE_X2APIC BIT(10)
#define APIC_BASE_ENABLE BIT(11)

#define SVR_ENABLE         0x100
#define LVT_MASKED         0x10000
#define TIMER_DIVIDE_BY_16 0x3
#define ICR_ASSERT         0x4000
#define ICR_PENDING        0x1000 /* delivery status */
#define ICR_POLL_MAX       1000000

static bool x2apic; /* registers are MSRs; else they are in memory: */
static char *xapic_regs;

static u32 lapic_read(enum lapic_reg reg)
{
	return x2apic ? (u32)rdmsr(MSR_X2APIC_BASE + reg / 16) : mmio_read32(xapic_regs + reg);
}

static void lapic_write(enum lapic_reg reg, u32 value)
{
	if (x2apic)
		wrmsr(MSR_X2APIC_BASE + reg / 16, value);
	else
		mmio_write32(xapic_regs + reg, value);
}

void lapic_init(u64 lapic_phys)
{
	x2apic = cpu_has(CPU_X2APIC);
	if (!x2apic)
		xapic_regs = ioremap(lapic_phys, PAGE_SIZE);
}

void lapic_init_cpu(void)
{
	u64 base = rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE;

	wrmsr(MSR_APIC_BASE, base);
	if (x2apic)
		wrmsr(MSR_APIC_BASE, base | APIC_BASE_X2APIC); /* only from xAPIC mode, 10.12.1 */
	lapic_write(LAPIC_SVR, SVR_ENABLE | VEC_SPURIOUS);
	lapic_write(LAPIC_LVT_TIMER, LVT_MASKED);
	lapic_write(LAPIC_LVT_LINT0, LVT_MASKED);
	lapic_write(LAPIC_LVT_LINT1, IPI_NMI); /* outside NMIs reach us; SDM vol. 3A 8.4.5.2 */
	lapic_write(LAPIC_LVT_ERROR, LVT_MASKED);
	lapic_write(LAPIC_TPR, 0);
}

bool lapic_is_ready(void)
{
	return (rdmsr(MSR_APIC_BASE) & APIC_BASE_ENABLE) && (lapic_read(LAPIC_SVR) & SVR_ENABLE);
}

const char *lapic_mode(void)
{
	return x2apic ? "x2APIC" : "xAPIC";
}

u32 lapic_id(void)
{
	return x2apic ? lapic_read(LAPIC_ID) : lapic_read(LAPIC_ID) >> 24;
}

void lapic_eoi(void)
{
	lapic_write(LAPIC_EOI, 0);
}

/* ---- Interprocessor interrupts --------------------------------------------------------------- */

/*
 * Writes of x2APIC MSRs do not wait for earlier stores (SDM vol. 3A 10.12.3): without the fences
 * the target could take the interrupt before it can see the request the IPI is about.
 */
static void send_x2apic(u32 apic_id, u32 command)
{
	__asm__ volatile("mfence; lfence" ::: "memory");
	wrmsr(MSR_X2APIC_BASE + LAPIC_ICR_LOW / 16, (u64)apic_id << 32 | command);
}

/*
 * The write of the low half sends. The IPI before must have left, or it would be overwritten.
 * Interrupts are off so that the halves stay together.
 */
static void send_xapic(u32 apic_id, u32 command)
{
	u64 flags = local_irq_save();

	ASSERT(apic_id <= 0xff, "APIC id %u needs x2APIC mode", apic_id);
	for (u32 i = 0; (lapic_read(LAPIC_ICR_LOW) & ICR_PENDING) && i < ICR_POLL_MAX; i++)
		cpu_relax();
	lapic_write(LAPIC_ICR_HIGH, apic_id << 24);
	lapic_write(LAPIC_ICR_LOW, command);
	local_irq_restore(flags);
}

void lapic_send_ipi(u32 apic_id, u32 ipi)
{
	if (x2apic)
		send_x2apic(apic_id, ipi | ICR_ASSERT);
	else
		send_xapic(apic_id, ipi | ICR_ASSERT);
}

/* ---- Timer ----------------------------------------------------------------------------------- */

void lapic_timer_setup(enum lapic_timer_mode mode, u8 vector)
{
	lapic_timer_start(0);
	lapic_write(LAPIC_TIMER_DIVIDE, TIMER_DIVIDE_BY_16);
	lapic_write(LAPIC_LVT_TIMER, (u32)mode | vector);
	/* In xAPIC mode a deadline's MSR write may pass this store (SDM vol. 3A 10.5.4.1). */
	__asm__ volatile("mfence" ::: "memory");
}

void lapic_timer_start(u32 count)
{
	lapic_write(LAPIC_TIMER_INITIAL, count);
}

u32 lapic_timer_count(void)
{
	return lapic_read(LAPIC_TIMER_CURRENT);
}
