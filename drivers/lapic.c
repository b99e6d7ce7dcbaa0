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
	LAPIC_ESR = 0x280,
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

#define SVR_ENABLE          0x100
#define LVT_MASKED          0x10000
#define LVT_TSC_DEADLINE    0x40000
#define TIMER_DIVIDE_BY_16  0x3
#define ICR_FIXED           0x000
#define ICR_NMI             0x400
#define ICR_INIT            0x500
#define ICR_STARTUP         0x600
#define ICR_ASSERT          0x4000
#define ICR_PENDING         0x1000 /* delivery status */
#define ICR_POLL_MAX        1000000

/* What differs between the two register interfaces. */
struct lapic_ops {
	const char *name;
	u32 (*read)(u32 reg);
	void (*write)(u32 reg, u32 value);
	u32 (*id)(void);
	void (*icr)(u32 apic_id, u32 command); /* sends; interrupts off */
};

static char *xapic_regs;
static const struct lapic_ops *ops;

/* ---- xAPIC: memory-mapped registers ---------------------------------------------------------- */

static u32 xapic_read(u32 reg)
{
	return mmio_read32(xapic_regs + reg);
}

static void xapic_write(u32 reg, u32 value)
{
	mmio_write32(xapic_regs + reg, value);
}

static u32 xapic_id(void)
{
	return xapic_read(LAPIC_ID) >> 24;
}

/* The write of the low half sends. The one before must have left, or it would be overwritten. */
static void xapic_icr(u32 apic_id, u32 command)
{
	ASSERT(apic_id <= 0xff, "APIC id %u needs x2APIC mode", apic_id);
	for (u32 i = 0; (xapic_read(LAPIC_ICR_LOW) & ICR_PENDING) && i < ICR_POLL_MAX; i++)
		cpu_relax();
	xapic_write(LAPIC_ICR_HIGH, apic_id << 24);
	xapic_write(LAPIC_ICR_LOW, command);
}

static const struct lapic_ops xapic_ops = { "xAPIC", xapic_read, xapic_write, xapic_id, xapic_icr };

/* ---- x2APIC: model-specific registers -------------------------------------------------------- */

static u32 x2apic_read(u32 reg)
{
	return (u32)rdmsr(MSR_X2APIC_BASE + reg / 16);
}

static void x2apic_write(u32 reg, u32 value)
{
	wrmsr(MSR_X2APIC_BASE + reg / 16, value);
}

static u32 x2apic_id(void)
{
	return x2apic_read(LAPIC_ID);
}

/*
 * Writes of x2APIC MSRs do not wait for earlier stores (SDM vol. 3A 10.12.3): without the fences
 * the target could take the interrupt before it can see the request the IPI is about.
 */
static void x2apic_icr(u32 apic_id, u32 command)
{
	__asm__ volatile("mfence; lfence" ::: "memory");
	wrmsr(MSR_X2APIC_BASE + LAPIC_ICR_LOW / 16, (u64)apic_id << 32 | command);
}

static const struct lapic_ops x2apic_ops = { "x2APIC", x2apic_read, x2apic_write, x2apic_id,
					     x2apic_icr };

/* ---- Common ---------------------------------------------------------------------------------- */

void lapic_init(u64 lapic_phys)
{
	if (cpu_features.x2apic) {
		ops = &x2apic_ops;
		return;
	}
	xapic_regs = ioremap(lapic_phys, PAGE_SIZE);
	if (!xapic_regs)
		panic("lapic: cannot map the registers at %lx", lapic_phys);
	ops = &xapic_ops;
}

void lapic_init_cpu(void)
{
	u64 base = rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE;

	wrmsr(MSR_APIC_BASE, base);
	if (ops == &x2apic_ops)
		wrmsr(MSR_APIC_BASE, base | APIC_BASE_X2APIC); /* only from xAPIC mode, 10.12.1 */
	ops->write(LAPIC_SVR, SVR_ENABLE | VEC_SPURIOUS);
	ops->write(LAPIC_LVT_TIMER, LVT_MASKED);
	ops->write(LAPIC_LVT_LINT0, LVT_MASKED);
	ops->write(LAPIC_LVT_LINT1, ICR_NMI); /* outside NMIs reach us; SDM vol. 3A 8.4.5.2 */
	ops->write(LAPIC_LVT_ERROR, LVT_MASKED);
	ops->write(LAPIC_ESR, 0);
	ops->write(LAPIC_TPR, 0);
}

const char *lapic_mode(void)
{
	return ops->name;
}

u32 lapic_id(void)
{
	return ops->id();
}

void lapic_eoi(void)
{
	ops->write(LAPIC_EOI, 0);
}

static void send(u32 apic_id, u32 command)
{
	u64 flags = local_irq_save(); /* the halves of the ICR belong together */

	ops->icr(apic_id, command);
	local_irq_restore(flags);
}

void lapic_send_ipi(u32 apic_id, u8 vector)
{
	send(apic_id, ICR_FIXED | ICR_ASSERT | vector);
}

void lapic_send_init(u32 apic_id)
{
	send(apic_id, ICR_INIT | ICR_ASSERT);
}

void lapic_send_startup(u32 apic_id, u8 page)
{
	send(apic_id, ICR_STARTUP | ICR_ASSERT | page);
}

void lapic_send_nmi(u32 apic_id)
{
	send(apic_id, ICR_NMI | ICR_ASSERT);
}

/* ---- Timer ----------------------------------------------------------------------------------- */

void lapic_timer_setup(enum lapic_timer_mode mode, u8 vector)
{
	u32 mode_bits = mode == LAPIC_TIMER_TSC_DEADLINE ? LVT_TSC_DEADLINE : 0;

	ops->write(LAPIC_TIMER_DIVIDE, TIMER_DIVIDE_BY_16);
	ops->write(LAPIC_LVT_TIMER, vector | mode_bits);
	/*
	 * In xAPIC mode the MSR write of a deadline may pass the store above (SDM vol. 3A
	 * 10.5.4.1).
	 */
	__asm__ volatile("mfence" ::: "memory");
}

void lapic_timer_start(u32 count)
{
	ops->write(LAPIC_TIMER_INITIAL, count);
}

u32 lapic_timer_count(void)
{
	return ops->read(LAPIC_TIMER_CURRENT);
}
