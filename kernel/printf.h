/*
 * printf.h - formatted text into a buffer: the part of C's printf that a kernel needs.
 *
 * Conversions: d u x p c s %; flags - and 0; a width (zeros: up to 32 columns); lengths l, ll and
 * z. No precision, no floating point. An unknown conversion prints its letter.
 */
#pragma once

#include "kernel/types.h"

#ifndef GATHER_KERNEL
/* On the host the C library's versions must stay reachable: the unit tests compare with them. */
#define vsnprintf gather_vsnprintf
#define snprintf  gather_snprintf
#endif

/* C11's contract: at most size bytes with the final 0; returns the untruncated length. */
int vsnprintf(char *buf, size_t size, const char *fmt, va_list args) __printf(3, 0);
int snprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
