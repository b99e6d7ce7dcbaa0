/*
 * tour_compact.h - the part of the tour on compaction: how many 2 MiB blocks it finds in fragmented
 * memory, and how many interrupts the same work costs with each kind of batching.
 */
#ifndef USER_MONITOR_TOUR_COMPACT_H
#define USER_MONITOR_TOUR_COMPACT_H

#include "user/monitor/tour.h"

/* Reclaims a file and then compacts fragmented memory, three times; prints and checks. */
bool tour_compact(const struct tour_setup *setup);

#endif
