// sources:
/* The contents of generated files: filling and checking agree, and no two pages are alike. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/lib/gen.h"

static uint64_t a[GEN_WORDS], b[GEN_WORDS];

static const uint64_t pages[] = { 0, 1, 2, 255, 256, 0xffff, 0xfffffff, 1ULL << 32, ~0ULL };

static void filled_is_right(void **state)
{
	(void)state;
	for (unsigned int p = 0; p < sizeof(pages) / sizeof(pages[0]); p++) {
		gen_fill(a, pages[p]);
		assert_true(gen_mismatch(a, pages[p]) == 0);
		for (unsigned int i = 0; i < GEN_WORDS; i++)
			assert_true(a[i] == gen_word(pages[p], i));
	}
}

static void any_changed_bit_is_found(void **state)
{
	(void)state;
	gen_fill(a, 7);
	for (unsigned int i = 0; i < GEN_WORDS; i++) {
		a[i] ^= 1ULL << (i % 64);
		assert_true(gen_mismatch(a, 7) != 0);
		a[i] ^= 1ULL << (i % 64);
	}
}

static void another_page_differs_in_every_word(void **state)
{
	(void)state;
	gen_fill(a, 1000);
	for (uint64_t other = 1001; other < 5000; other++) {
		gen_fill(b, other);
		for (unsigned int i = 0; i < GEN_WORDS; i++)
			assert_true(a[i] != b[i]);
	}
}

static void zeroes_are_wrong_everywhere(void **state)
{
	(void)state;
	memset(a, 0, sizeof(a));
	for (uint64_t page = 0; page < 100000; page++)
		assert_true(gen_mismatch(a, page) != 0);
}

static void files_of_one_size_share_no_page(void **state)
{
	(void)state;
	assert_true((uint64_t)GEN_MAX_MIB * GEN_PAGES_PER_MIB <= gen_first_page(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filled_is_right),
		cmocka_unit_test(any_changed_bit_is_found),
		cmocka_unit_test(another_page_differs_in_every_word),
		cmocka_unit_test(zeroes_are_wrong_everywhere),
		cmocka_unit_test(files_of_one_size_share_no_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
