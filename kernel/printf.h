/*
 * printf.h - formatted text into a buffer.
 *
 * Conversions: d i u x X o c s p %; flags - 0 + space #; width and precision, both also as *;
 * lengths hh h l ll z. No floating point. An unknown conversion is copied as it stands.
 */
#ifndef GATHER_PRINTF_H
#define GATHER_PRINTF_H

#include "kernel/types.h"

#ifndef GATHER_KERNEL
/* On the host the C library's versions must stay reachable: the unit tests compare with them. */
#define vsnprintf gather_vsnprintf
#define snprintf  gather_snprintf
#endif

/* C11's contract: at most size bytes with the final 0; returns the untruncated length. */
int vsnprintf(char *buf, size_t size, const char *fmt, va_list args) __printf(3, 0);
int snprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);

/* Returns the number of bytes stored, the final 0 not counted: safe to add to a position. */
int scnprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);

#endif
