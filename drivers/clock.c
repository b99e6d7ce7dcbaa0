#include "drivers/clock.h"

#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/io.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "drivers/acpi.h"
#include "drivers/lapic.h"
#include "kernel/init.h"
#include "kernel/log.h"

#define PM_TIMER_HZ   3579545 /* ACPI 4.8.3.3 */
#define PM_TIMER_MASK 0xffffff
#define PIT_HZ        1193182
#define PIT_MASK      0xffff
#define PIT_CH2       0x42
#define PIT_COMMAND   0x43
#define PIT_LATCH_CH2 0x80
#define PIT_SETUP_CH2 0xb4 /* both bytes, rate generator */
#define PORT_B        0x61 /* bit 0: gate of channel 2, bit 1: speaker */

#define CALIBRATION_HZ 100 /* measures for 1/100 s: the PIT wraps after 55 ms */
#define SAMPLES        8
#define RATE_UNIT_HZ   100000 /* finer than this the measurement cannot tell: see rate */
#define ALARM_SHIFT    28 /* a rate up to 2^36 Hz times 2^28 fits in 64 bits */

/* All counters at one moment. */
struct sample {
	u64 tsc;
	u32 reference, lapic;
};

static u64 tsc_base, tsc_hz;
static u64 ns_per_tsc; /* 32.32 fixed point */
static u64 tsc_per_ns; /* ALARM_SHIFT bits of fraction, as the next */
static u64 lapic_per_ns;
static u64 max_alarm_ns; /* what 32 bits of LAPIC timer hold */

static u64 scale(u64 value, u64 factor, unsigned shift)
{
	return (u64)((unsigned __int128)value * factor >> shift);
}

/* ---- Calibration: the TSC and the LAPIC timer against a counter of known rate ---------------- */

static void start_pit(void)
{
	outb(PORT_B, (inb(PORT_B) & ~2) | 1);
	outb(PIT_COMMAND, PIT_SETUP_CH2);
	outb(PIT_CH2, 0);
	outb(PIT_CH2, 0); /* 65536 */
}

/* The PM timer, or the PIT, which counts down and is latched, then read low byte first. */
static u32 read_reference(void)
{
	u32 low;

	if (acpi_info.pm_timer)
		return inl(acpi_info.pm_timer);
	outb(PIT_COMMAND, PIT_LATCH_CH2);
	low = inb(PIT_CH2);
	return -(low | (u32)inb(PIT_CH2) << 8);
}

/* The host may stop us between two reads: the narrowest of several tries counts. */
static struct sample take_sample(void)
{
	struct sample best = {0};
	u64 best_width = UINT64_MAX;

	for (int i = 0; i < SAMPLES; i++) {
		struct sample s = {rdtsc(), read_reference(), lapic_timer_count()};
		u64 width = rdtsc() - s.tsc;

		s.tsc += width / 2;
		if (width < best_width) {
			best_width = width;
			best = s;
		}
	}
	return best;
}

/*
 * One tick of the PM timer is 28 ppm of the measured time: the digits below are noise, and a
 * virtual machine with a fixed clock should get the same rate, and so the same run, every time.
 */
static u64 rate(u64 counted, u64 reference_hz, u32 ticks)
{
	u64 hz = counted * reference_hz / ticks;

	return MAX((hz + RATE_UNIT_HZ / 2) / RATE_UNIT_HZ, 1UL) * RATE_UNIT_HZ;
}

static void count_to(u32 n)
{
	while (n--)
		barrier();
}

static void calibrate(void)
{
	u32 hz = acpi_info.pm_timer ? PM_TIMER_HZ : PIT_HZ;
	u32 mask = acpi_info.pm_timer ? PM_TIMER_MASK : PIT_MASK, ticks;
	struct sample a, b;
	u64 lapic_hz;

	start_pit();
	lapic_timer_setup(LAPIC_TIMER_ONE_SHOT, VEC_TIMER); /* cannot ring: interrupts are off */
	lapic_timer_start(UINT32_MAX);
	a = take_sample();
	while (((read_reference() - a.reference) & mask) < hz / CALIBRATION_HZ)
		count_to(1000); /* a port is slow to read, most of all in a virtual machine */
	b = take_sample();
	ticks = (b.reference - a.reference) & mask;
	tsc_base = b.tsc;
	tsc_hz = rate(b.tsc - a.tsc, hz, ticks);
	lapic_hz = rate(a.lapic - b.lapic, hz, ticks);
	ns_per_tsc = (NSEC_PER_SEC << 32) / tsc_hz;
	tsc_per_ns = (tsc_hz << ALARM_SHIFT) / NSEC_PER_SEC;
	lapic_per_ns = (lapic_hz << ALARM_SHIFT) / NSEC_PER_SEC;
	max_alarm_ns = UINT32_MAX / lapic_hz * NSEC_PER_SEC / 2;
	pr_info("clock: TSC %lu kHz, LAPIC timer %lu kHz by the %s\n", tsc_hz / 1000,
		lapic_hz / 1000, acpi_info.pm_timer ? "ACPI PM timer" : "PIT");
}

void clock_init(void)
{
	calibrate();
	irq_register(VEC_TIMER, timer_interrupt);
}

/* ---- Time ------------------------------------------------------------------------------------ */

u64 clock_ns(void)
{
	return ns_per_tsc ? scale(rdtsc() - tsc_base, ns_per_tsc, 32) : 0;
}

u64 clock_tsc_khz(void)
{
	return tsc_hz / 1000;
}

void clock_delay_ns(u64 ns)
{
	u64 end = clock_ns() + ns;

	while (ns_per_tsc && clock_ns() < end)
		cpu_relax();
}

/* ---- The alarm ------------------------------------------------------------------------------- */

void timer_init_cpu(void)
{
	lapic_timer_setup(cpu_has(CPU_TSC_DEADLINE) ? LAPIC_TIMER_TSC_DEADLINE :
						      LAPIC_TIMER_ONE_SHOT,
			  VEC_TIMER);
}

void timer_set_deadline_ns(u64 abs_ns)
{
	u64 now = clock_ns();
	u64 delta = abs_ns > now ? abs_ns - now : 0;

	delta = MIN(MAX(delta, MIN_ALARM_NS), max_alarm_ns);
	if (cpu_has(CPU_TSC_DEADLINE))
		wrmsr(MSR_TSC_DEADLINE, rdtsc() + scale(delta, tsc_per_ns, ALARM_SHIFT));
	else
		lapic_timer_start((u32)scale(delta, lapic_per_ns, ALARM_SHIFT) + 1);
}
