/*
 * lib.h - memory and string functions with the C library's contracts, and reading numbers.
 *
 * Pure C: no locks, no context rules. The compiler may call memcpy, memset, memmove and memcmp on
 * its own.
 */
#pragma once

#include "kernel/printf.h"
#include "kernel/types.h"

#ifndef GATHER_KERNEL
/* As in printf.h. */
#define memcpy  gather_memcpy
#define memmove gather_memmove
#define memset  gather_memset
#define memcmp  gather_memcmp
#define strlen  gather_strlen
#define strnlen gather_strnlen
#define strcmp  gather_strcmp
#define strncmp gather_strncmp
#define strlcpy gather_strlcpy
#endif

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

/* Copies and always terminates if size > 0; returns strlen(src): >= size means it was cut. */
size_t strlcpy(char *dst, const char *src, size_t size);

/*
 * Parses all of s: decimal, or hexadecimal after 0x; a suffix K, M or G multiplies by 2^10, 2^20,
 * 2^30. Returns 0, -EINVAL (no digits, trailing text) or -ERANGE (does not fit).
 */
int parse_u64(const char *s, u64 *value);

/* Bytes that came from outside: nobody has checked anything but that they can be read. */
struct bytes {
	const u8 *data;
	size_t len;
};

/* The little-endian number in the n bytes (at most 8) at `at`; 0 if they are not all there. */
u64 bytes_le(struct bytes b, size_t at, size_t n);
