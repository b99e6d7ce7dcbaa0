// sources: kernel/lib.c kernel/printf.c tests/host/shim.c
// flags: -Wno-format -Wno-format-security -fno-builtin
/* The kernel's string functions and formatted printing against the C library's, on random input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The C library's, before lib.h gives these names to the kernel's. */
static void *(*const libc_memcpy)(void *, const void *, size_t) = memcpy;
static void *(*const libc_memmove)(void *, const void *, size_t) = memmove;
static void *(*const libc_memset)(void *, int, size_t) = memset;
static int (*const libc_memcmp)(const void *, const void *, size_t) = memcmp;
static size_t (*const libc_strlen)(const char *) = strlen;
static size_t (*const libc_strnlen)(const char *, size_t) = strnlen;
static int (*const libc_strcmp)(const char *, const char *) = strcmp;
static int (*const libc_strncmp)(const char *, const char *, size_t) = strncmp;
static int (*const libc_snprintf)(char *, size_t, const char *, ...) = snprintf;

#include "kernel/errno.h"
#include "kernel/lib.h"
#include "shim.h"

#define ROUNDS 20000
#define SIZE   96

static uint64_t seed = 0x5eed;

static unsigned below(unsigned n)
{
	return (unsigned)(host_random(&seed) >> 33) % n;
}

static void fill(char *buf, size_t n, unsigned letters)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (char)(below(letters) + (letters < 100 ? 'a' : 0));
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

static void copies_like_libc(void **state)
{
	char a[SIZE], b[SIZE], source[SIZE];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		unsigned to = below(SIZE), from = below(SIZE), byte = below(256);
		unsigned n = below(SIZE + 1 - (to > from ? to : from));

		fill(a, SIZE, 256);
		fill(source, SIZE, 256);
		libc_memcpy(b, a, SIZE);
		assert_ptr_equal(memcpy(a + to, source + from, n), a + to);
		libc_memcpy(b + to, source + from, n);
		assert_int_equal(libc_memcmp(a, b, SIZE), 0);
		assert_ptr_equal(memmove(a + to, a + from, n), a + to);
		libc_memmove(b + to, b + from, n);
		assert_int_equal(libc_memcmp(a, b, SIZE), 0);
		assert_ptr_equal(memset(a + to, (int)byte, n), a + to);
		libc_memset(b + to, (int)byte, n);
		assert_int_equal(libc_memcmp(a, b, SIZE), 0);
	}
}

/* Few letters, so that equal prefixes are long. */
static void compares_like_libc(void **state)
{
	char a[SIZE], b[SIZE];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		unsigned n = below(SIZE);

		fill(a, SIZE, 2);
		libc_memcpy(b, a, SIZE);
		if (below(4))
			b[below(SIZE)] = (char)below(256);
		a[SIZE - 1] = b[SIZE - 1] = '\0';
		assert_int_equal(sign(memcmp(a, b, n)), sign(libc_memcmp(a, b, n)));
		assert_int_equal(sign(strcmp(a, b)), sign(libc_strcmp(a, b)));
		assert_int_equal(sign(strncmp(a, b, n)), sign(libc_strncmp(a, b, n)));
		assert_int_equal(strlen(b), libc_strlen(b));
		assert_int_equal(strnlen(b, n), libc_strnlen(b, n));
	}
}

static void strlcpy_always_terminates(void **state)
{
	char buf[4] = "xyz";

	(void)state;
	assert_int_equal(strlcpy(buf, "ab", sizeof(buf)), 2);
	assert_string_equal(buf, "ab");
	assert_int_equal(strlcpy(buf, "abcdef", sizeof(buf)), 6);
	assert_string_equal(buf, "abc");
	assert_int_equal(strlcpy(buf, "zz", 0), 2);
	assert_string_equal(buf, "abc");
}

/* A random conversion such as "%-12lx"; *is_long tells which argument it takes. */
static void random_conversion(char *out, bool *is_long)
{
	static const char *const flags[] = {"", "-", "0", "-0"};
	static const char *const widths[] = {"", "1", "3", "7", "12", "25", "32"};
	static const char *const lengths[] = {"", "l", "ll", "z"};
	const char *length = lengths[below(4)];

	*is_long = length[0];
	libc_snprintf(out, 64, "<%%%s%s%s%c>", flags[below(4)], widths[below(7)], length,
		      "dux"[below(3)]);
}

static u64 random_number(void)
{
	static const u64 corners[] = {0, 1, ~0UL, 1UL << 63, 1UL << 31, 0x7fffffff, 9, 10, 15, 16};
	u64 r = host_random(&seed);

	return below(3) ? r >> below(64) : corners[below(ARRAY_SIZE(corners))];
}

static void prints_numbers_like_libc(void **state)
{
	char fmt[64], ours[128], theirs[128];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t size = below(3) ? sizeof(ours) : below(30);
		u64 n = random_number();
		int wanted, got;
		bool is_long;

		random_conversion(fmt, &is_long);
		libc_memset(ours, '?', sizeof(ours));
		libc_memset(theirs, '?', sizeof(theirs));
		if (is_long) {
			got = snprintf(ours, size, fmt, n);
			wanted = libc_snprintf(theirs, size, fmt, n);
		} else {
			got = snprintf(ours, size, fmt, (unsigned)n);
			wanted = libc_snprintf(theirs, size, fmt, (unsigned)n);
		}
		if (got != wanted || libc_memcmp(ours, theirs, sizeof(ours)))
			fail_msg("%s of %lx, size %zu: '%s' (%d) where libc has '%s' (%d)", fmt, n,
				 size, size ? ours : "", got, size ? theirs : "", wanted);
	}
}

#define SAME(...)                                                                                  \
	do {                                                                                       \
		char ours[128], theirs[128];                                                       \
		int n = snprintf(ours, sizeof(ours), __VA_ARGS__);                                 \
		assert_int_equal(n, libc_snprintf(theirs, sizeof(theirs), __VA_ARGS__));           \
		assert_string_equal(ours, theirs);                                                 \
	} while (0)

static void prints_text_like_libc(void **state)
{
	(void)state;
	SAME("%s|%10s|%-10s|%2s", "abc", "abc", "abc", "abc");
	SAME("%c%c%3c|%-3c|", 'a', '%', 'b', 'c');
	SAME("%%|%5d|%-6d|%40d|%p", 42, 42, -42, (void *)0x1234);
	SAME("%s", "");
}

static void unknown_conversions_are_copied(void **state)
{
	char out[32];

	(void)state;
	snprintf(out, sizeof(out), "%q %d", 7);
	assert_non_null(strchr(out, 'q'));
	assert_string_equal(out + strlen(out) - 1, "7");
}

static void a_null_string_does_not_crash(void **state)
{
	char out[32];

	(void)state;
	assert_true(snprintf(out, sizeof(out), "%s", (char *)NULL) > 0);
}

static void reads_bytes_within_their_bounds(void **state)
{
	static const u8 data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct bytes b = {data, sizeof(data)};

	(void)state;
	assert_int_equal(bytes_le(b, 0, 1), 1);
	assert_int_equal(bytes_le(b, 1, 2), 0x0302);
	assert_int_equal(bytes_le(b, 1, 8), 0x0908070605040302);
	assert_int_equal(bytes_le(b, 2, 8), 0);
	assert_int_equal(bytes_le(b, 9, 1), 0);
	assert_int_equal(bytes_le(b, SIZE_MAX, 2), 0);
}

static void parses_numbers(void **state)
{
	static const struct {
		const char *text;
		int result;
		u64 value;
	} cases[] = {
		{"0", 0, 0}, {"42", 0, 42}, {"0x2a", 0, 42}, {"0XfF", 0, 255}, {"1K", 0, KIB},
		{"3M", 0, 3 * MIB}, {"2G", 0, 2 * GIB}, {"18446744073709551615", 0, ~0UL},
		{"18446744073709551616", -ERANGE, 0}, {"0x10000000000000000", -ERANGE, 0},
		{"17179869184G", -ERANGE, 0}, {"", -EINVAL, 0}, {"0x", -EINVAL, 0}, {"K", -EINVAL, 0},
		{"1KB", -EINVAL, 0}, {"-1", -EINVAL, 0}, {"1 ", -EINVAL, 0}, {"12a", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 value = 0;
		int result = parse_u64(cases[i].text, &value);

		if (result != cases[i].result || (!result && value != cases[i].value))
			fail_msg("'%s': result %d, value %lu", cases[i].text, result, value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_like_libc),
		cmocka_unit_test(compares_like_libc),
		cmocka_unit_test(strlcpy_always_terminates),
		cmocka_unit_test(prints_numbers_like_libc),
		cmocka_unit_test(prints_text_like_libc),
		cmocka_unit_test(unknown_conversions_are_copied),
		cmocka_unit_test(a_null_string_does_not_crash),
		cmocka_unit_test(reads_bytes_within_their_bounds),
		cmocka_unit_test(parses_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
