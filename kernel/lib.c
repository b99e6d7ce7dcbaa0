#include "kernel/lib.h"

#include "kernel/errno.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Or gcc recognises the loop in memcpy as a memcpy and makes it call itself. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

/* A word that may alias any object: whole words make page-sized copies bearable under emulation. */
typedef u64 __attribute__((may_alias, aligned(1))) word_t;

#define WORD sizeof(word_t)

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	char *to = dst;
	const char *from = src;

	for (; n >= WORD; n -= WORD, to += WORD, from += WORD)
		*(word_t *)to = *(const word_t *)from;
	while (n-- > 0)
		*to++ = *from++;
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	char *to = dst;
	const char *from = src;

	for (size_t i = 0; to <= from && i < n; i++)
		to[i] = from[i];
	while (to > from && n-- > 0)
		to[n] = from[n];
	return dst;
}

void *memset(void *dst, int byte, size_t n)
{
	char *to = dst;

#pragma GCC unroll 8
	for (; n >= WORD; n -= WORD, to += WORD)
		*(word_t *)to = (u8)byte * 0x0101010101010101UL;
	while (n-- > 0)
		*to++ = (char)byte;
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;

	for (; n > 0; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

size_t strlen(const char *s)
{
	return strnlen(s, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n > 0; n--, a++, b++)
		if (*a != *b || !*a)
			return (u8)*a - (u8)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

size_t strlcpy(char *dst, const char *src, size_t size)
{
	size_t len = strlen(src);

	if (size > 0) {
		size_t n = MIN(len, size - 1);

		memcpy(dst, src, n);
		dst[n] = '\0';
	}
	return len;
}

/* The value of a digit, or 99, which no base reaches. */
static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 99;
}

static unsigned suffix_shift(char c)
{
	switch (c | 0x20) {
	case 'k': return 10;
	case 'm': return 20;
	case 'g': return 30;
	default: return 0;
	}
}

int parse_u64(const char *s, u64 *value)
{
	unsigned base = 10, shift;
	u64 v = 0;

	if (s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		s += 2;
	}
	if (digit_value(*s) >= base)
		return -EINVAL;
	for (; digit_value(*s) < base; s++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit_value(*s), &v))
			return -ERANGE;
	shift = suffix_shift(*s);
	if (s[shift != 0])
		return -EINVAL;
	*value = v << shift;
	return *value >> shift == v ? 0 : -ERANGE;
}

u64 bytes_le(struct bytes b, size_t at, size_t n)
{
	u64 value = 0;

	if (at <= b.len && n <= b.len - at)
		memcpy(&value, b.data + at, n);
	return value;
}
