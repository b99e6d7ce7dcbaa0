#include "drivers/clock.h"

#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/io.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "drivers/acpi.h"
#include "drivers/lapic.h"
#include "drivers/rtc.h"
#include "kernel/init.h"
#include "kernel/log.h"

#define PM_TIMER_HZ 3579545 /* ACPI 4.8.3.3 */
#define PIT_HZ      1193182
#define PIT_CH2     0x42
#define PIT_COMMAND 0x43
#define PORT_B      0x61 /* bit 0: gate of channel 2, bit 1: speaker */

#define CALIBRATION_NS (20 * NSEC_PER_MSEC) /* the PIT wraps after 55 ms */
#define SAMPLES        8
#define RATE_UNIT_HZ   100000 /* finer than this the measurement cannot tell: see round_rate */
#define MIN_ALARM_NS   1000
#define ALARM_SHIFT    28 /* a rate up to 2^36 Hz times 2^28 fits in 64 bits */

/* A counter of known rate that the TSC is measured against. */
struct reference {
	const char *name;
	u32 hz, mask;
	u32 (*read)(void);
};

struct sample {
	u64 tsc;
	u32 ref, lapic;
};

typedef unsigned __int128 u128;

static u64 tsc_base, tsc_hz;
static u64 ns_per_tsc;	  /* 32.32 fixed point */
static u64 tsc_per_ns;	  /* ALARM_SHIFT bits of fraction, as the next */
static u64 lapic_per_ns;
static u64 max_alarm_ns;  /* what 32 bits of LAPIC timer hold */
static u64 boot_realtime_ns;

static u64 scale(u64 value, u64 factor, unsigned shift)
{
	return (u64)((u128)value * factor >> shift);
}

/* ---- Calibration ----------------------------------------------------------------------------- */

static u32 read_pm_timer(void)
{
	return inl(acpi_info.pm_timer);
}

/* Channel 2 counts down; latched, then low and high byte. */
static u32 read_pit(void)
{
	u32 low;

	outb(PIT_COMMAND, 0x80);
	low = inb(PIT_CH2);
	return -(low | (u32)inb(PIT_CH2) << 8);
}

static void start_pit(void)
{
	outb(PORT_B, (inb(PORT_B) & ~2) | 1);
	outb(PIT_COMMAND, 0xb4); /* channel 2, both bytes, rate generator */
	outb(PIT_CH2, 0);
	outb(PIT_CH2, 0); /* 65536 */
}

static struct reference choose_reference(void)
{
	if (acpi_info.pm_timer)
		return (struct reference){ "ACPI PM timer", PM_TIMER_HZ, 0xffffff, read_pm_timer };
	start_pit();
	return (struct reference){ "PIT", PIT_HZ, 0xffff, read_pit };
}

/*
 * All counters at one moment. The host may stop us between two reads, so the best of several tries
 * is taken: the one with the least time between the first read and the last.
 */
static struct sample take_sample(const struct reference *ref)
{
	struct sample best = { 0 };
	u64 best_width = UINT64_MAX;

	for (int i = 0; i < SAMPLES; i++) {
		u64 before = rdtsc(), after;
		u32 count = ref->read();
		u32 lapic = lapic_timer_count();

		after = rdtsc();
		if (after - before < best_width) {
			best_width = after - before;
			best = (struct sample){ before + (after - before) / 2, count, lapic };
		}
	}
	return best;
}

static void wait_reference(const struct reference *ref, u32 ticks)
{
	u32 start = ref->read();

	while (((ref->read() - start) & ref->mask) < ticks)
		cpu_relax();
}

/*
 * One tick of the PM timer is 14 ppm of the measured time: the digits below are noise, and a
 * virtual machine with a fixed clock should get the same rate, and so the same run, every time.
 */
static u64 round_rate(u64 hz)
{
	return MAX((hz + RATE_UNIT_HZ / 2) / RATE_UNIT_HZ, 1UL) * RATE_UNIT_HZ;
}

static void set_rates(u64 hz, u64 lapic_hz)
{
	tsc_hz = hz;
	ns_per_tsc = (NSEC_PER_SEC << 32) / tsc_hz;
	tsc_per_ns = (tsc_hz << ALARM_SHIFT) / NSEC_PER_SEC;
	lapic_per_ns = (lapic_hz << ALARM_SHIFT) / NSEC_PER_SEC;
	max_alarm_ns = UINT32_MAX / MAX(lapic_hz, 1UL) * NSEC_PER_SEC / 2;
}

static void calibrate(void)
{
	struct reference ref = choose_reference();
	struct sample a, b;
	u64 ticks, lapic_hz;

	lapic_timer_setup(LAPIC_TIMER_ONE_SHOT, VEC_TIMER); /* cannot ring: interrupts are off */
	lapic_timer_start(UINT32_MAX);
	a = take_sample(&ref);
	wait_reference(&ref, (u32)(CALIBRATION_NS * ref.hz / NSEC_PER_SEC));
	b = take_sample(&ref);
	lapic_timer_start(0);
	ticks = (b.ref - a.ref) & ref.mask;
	lapic_hz = round_rate((u64)(a.lapic - b.lapic) * ref.hz / ticks);
	set_rates(round_rate((b.tsc - a.tsc) * ref.hz / ticks), lapic_hz);
	tsc_base = b.tsc;
	pr_info("clock: TSC %lu kHz, LAPIC timer %lu kHz by the %s\n", tsc_hz / 1000,
		lapic_hz / 1000, ref.name);
}

static void timer_irq(struct trap_frame *tf)
{
	(void)tf;
	timer_interrupt();
}

void clock_init(void)
{
	calibrate();
	boot_realtime_ns = rtc_read_seconds() * NSEC_PER_SEC;
	irq_register(VEC_TIMER, timer_irq);
}

/* ---- Time ------------------------------------------------------------------------------------ */

u64 clock_ns(void)
{
	return ns_per_tsc ? scale(rdtsc() - tsc_base, ns_per_tsc, 32) : 0;
}

u64 clock_realtime_ns(void)
{
	return boot_realtime_ns + clock_ns();
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
	lapic_timer_setup(cpu_features.tsc_deadline ? LAPIC_TIMER_TSC_DEADLINE :
						      LAPIC_TIMER_ONE_SHOT,
			  VEC_TIMER);
	timer_stop();
}

void timer_set_deadline_ns(u64 abs_ns)
{
	u64 now = clock_ns();
	u64 delta = abs_ns > now ? abs_ns - now : 0;

	delta = MIN(MAX(delta, MIN_ALARM_NS), max_alarm_ns);
	if (cpu_features.tsc_deadline)
		wrmsr(MSR_TSC_DEADLINE, rdtsc() + scale(delta, tsc_per_ns, ALARM_SHIFT));
	else
		lapic_timer_start((u32)scale(delta, lapic_per_ns, ALARM_SHIFT) + 1);
}

void timer_stop(void)
{
	if (cpu_features.tsc_deadline)
		wrmsr(MSR_TSC_DEADLINE, 0);
	else
		lapic_timer_start(0);
}
