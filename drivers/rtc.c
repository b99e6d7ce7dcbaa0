#include "drivers/rtc.h"

#include "arch/cpu.h"
#include "arch/io.h"

#define CMOS_INDEX 0x70
#define CMOS_DATA  0x71
#define POLL_MAX   1000000 /* an update takes at most 2 ms */

enum cmos_reg {
	RTC_SECONDS = 0x00,
	RTC_MINUTES = 0x02,
	RTC_HOURS = 0x04,
	RTC_DAY = 0x07,
	RTC_MONTH = 0x08,
	RTC_YEAR = 0x09,
	RTC_STATUS_A = 0x0a,
	RTC_STATUS_B = 0x0b,
};

#define STATUS_A_UPDATING 0x80
#define STATUS_B_24H      0x02
#define STATUS_B_BINARY   0x04
#define HOURS_PM          0x80

static u8 cmos_read(u8 reg)
{
	outb(CMOS_INDEX, reg);
	return inb(CMOS_DATA);
}

static unsigned from_bcd(u8 value, u8 status_b)
{
	return status_b & STATUS_B_BINARY ? value : (value >> 4) * 10u + (value & 15);
}

static unsigned read_hours(u8 status_b)
{
	u8 raw = cmos_read(RTC_HOURS);
	unsigned hours;

	if (status_b & STATUS_B_24H)
		return from_bcd(raw, status_b);
	hours = from_bcd(raw & ~HOURS_PM, status_b) % 12;
	return raw & HOURS_PM ? hours + 12 : hours;
}

/*
 * Days since 1970-01-01 of a Gregorian date; years are counted from March so that a leap day is
 * last.
 */
static u64 days_since_epoch(u64 year, u64 month, u64 day)
{
	u64 y = month > 2 ? year : year - 1;
	u64 m = month > 2 ? month - 3 : month + 9;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

u64 rtc_read_seconds(void)
{
	u8 b = cmos_read(RTC_STATUS_B);
	u64 days;

	for (u32 i = 0; (cmos_read(RTC_STATUS_A) & STATUS_A_UPDATING) && i < POLL_MAX; i++)
		cpu_relax();
	days = days_since_epoch(2000 + from_bcd(cmos_read(RTC_YEAR), b),
				from_bcd(cmos_read(RTC_MONTH), b), from_bcd(cmos_read(RTC_DAY), b));
	return days * 86400 + read_hours(b) * 3600 + from_bcd(cmos_read(RTC_MINUTES), b) * 60 +
	       from_bcd(cmos_read(RTC_SECONDS), b);
}
