/*
 * user_range.h - arithmetic on numbers that a user program chose: addresses, lengths, times.
 *
 * A program may choose any 64-bit number. Each sum and each rounding of such a number is done here,
 * and nowhere else: a function that cannot represent its result says false, or stops at the
 * largest number; none wraps round. Pure: also built on the host.
 */
#pragma once

#include "arch/layout.h"
#include "kernel/types.h"

/* [addr, addr + len) lies in user space: its end is in *end. An empty range is one, too. */
static inline bool user_range(u64 addr, u64 len, u64 *end)
{
	return !__builtin_add_overflow(addr, len, end) && *end <= USER_END;
}

/* bytes rounded up to whole pages is in *rounded. */
static inline bool user_round_pages(u64 bytes, u64 *rounded)
{
	*rounded = ALIGN_UP(bytes, PAGE_SIZE);
	return *rounded >= bytes;
}

/*
 * The pages of [start, start + len), where a program may map: start is page aligned, len is rounded
 * up and not 0, and the lowest USER_BASE bytes are not among them.
 */
static inline bool user_pages(u64 start, u64 len, u64 *end)
{
	u64 rounded;

	return IS_ALIGNED(start, PAGE_SIZE) && start >= USER_BASE && user_round_pages(len, &rounded) &&
	       rounded && user_range(start, rounded, end);
}

/* [offset, offset + len) can be a part of a file: files end at 2^63 - 1, as Linux's. */
static inline bool user_file_range(u64 offset, u64 len)
{
	u64 end;

	return !__builtin_add_overflow(offset, len, &end) && end <= (u64)INT64_MAX;
}

/* a + b; the largest number where that wraps: times for which nobody can wait. */
static inline u64 add_saturated(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
