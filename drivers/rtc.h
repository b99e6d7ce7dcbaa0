/*
 * rtc.h - the CMOS real-time clock (MC146818), read once at boot.
 */
#ifndef GATHER_RTC_H
#define GATHER_RTC_H

#include "kernel/types.h"

/* Seconds since 1970-01-01 UTC. Waits (bounded) for a moment when no update is in progress. */
u64 rtc_read_seconds(void);

#endif
