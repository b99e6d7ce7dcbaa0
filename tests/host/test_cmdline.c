// sources: kernel/cmdline.c kernel/lib.c kernel/printf.c
/* Options of the kernel command line: words, keys that begin alike, values that do not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/cmdline.h"
#include "kernel/errno.h"

static char value[32];

static void finds_words_and_values(void **state)
{
	(void)state;
	assert_int_equal(cmdline_set("ktest tlb=pfn  run=tour;ps\texpect_cpus=8\n"), 0);
	assert_true(cmdline_has("ktest"));
	assert_true(cmdline_has("tlb"));
	assert_int_equal(cmdline_get("tlb", value, sizeof(value)), 3);
	assert_string_equal(value, "pfn");
	assert_int_equal(cmdline_get("run", value, sizeof(value)), 7);
	assert_string_equal(value, "tour;ps");
}

static void a_key_is_a_whole_word(void **state)
{
	(void)state;
	cmdline_set("tlbx=1 xtlb=2 tl=3 ktesting");
	assert_false(cmdline_has("tlb"));
	assert_false(cmdline_has("ktest"));
	assert_int_equal(cmdline_get("tlb", value, sizeof(value)), -ENOENT);
	assert_string_equal(value, "");
}

static void the_last_one_counts(void **state)
{
	(void)state;
	cmdline_set("tlb=page tlb=full");
	assert_int_equal(cmdline_get("tlb", value, sizeof(value)), 4);
	assert_string_equal(value, "full");
}

static void a_bare_word_has_no_value(void **state)
{
	(void)state;
	cmdline_set("interactive");
	assert_true(cmdline_has("interactive"));
	assert_int_equal(cmdline_get("interactive", value, sizeof(value)), -ENOENT);
	cmdline_set("interactive=");
	assert_int_equal(cmdline_get("interactive", value, sizeof(value)), 0);
	assert_string_equal(value, "");
}

static void a_long_value_is_cut_and_reported(void **state)
{
	char tiny[4];

	(void)state;
	cmdline_set("tlb=batch32");
	assert_int_equal(cmdline_get("tlb", tiny, sizeof(tiny)), -E2BIG);
	assert_string_equal(tiny, "bat");
	assert_int_equal(cmdline_get("tlb", tiny, 0), -E2BIG);
}

static void a_long_command_line_is_cut_and_reported(void **state)
{
	char *text = malloc(CMDLINE_MAX + 100);

	(void)state;
	memset(text, 'x', CMDLINE_MAX + 99);
	text[CMDLINE_MAX + 99] = '\0';
	assert_int_equal(cmdline_set(text), -E2BIG);
	assert_int_equal(strlen(cmdline_text()), CMDLINE_MAX - 1);
	text[CMDLINE_MAX - 1] = '\0';
	assert_int_equal(cmdline_set(text), 0);
	free(text);
}

static void reads_numbers(void **state)
{
	u64 n = 0;

	(void)state;
	cmdline_set("a=8 b=0x10 c=4K d=2M e= f=9z g=99999999999999999999999 h");
	assert_int_equal(cmdline_get_u64("a", &n), 0);
	assert_int_equal(n, 8);
	assert_int_equal(cmdline_get_u64("b", &n), 0);
	assert_int_equal(n, 16);
	assert_int_equal(cmdline_get_u64("c", &n), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(cmdline_get_u64("d", &n), 0);
	assert_int_equal(n, 2 * MIB);
	assert_int_equal(cmdline_get_u64("e", &n), -EINVAL);
	assert_int_equal(cmdline_get_u64("f", &n), -EINVAL);
	assert_int_equal(cmdline_get_u64("g", &n), -ERANGE);
	assert_int_equal(cmdline_get_u64("h", &n), -ENOENT);
	assert_int_equal(cmdline_get_u64("none", &n), -ENOENT);
}

static void an_empty_line_has_nothing(void **state)
{
	(void)state;
	cmdline_set("");
	assert_false(cmdline_has("tlb"));
	cmdline_set("   \t ");
	assert_false(cmdline_has("tlb"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_words_and_values),
		cmocka_unit_test(a_key_is_a_whole_word),
		cmocka_unit_test(the_last_one_counts),
		cmocka_unit_test(a_bare_word_has_no_value),
		cmocka_unit_test(a_long_value_is_cut_and_reported),
		cmocka_unit_test(a_long_command_line_is_cut_and_reported),
		cmocka_unit_test(reads_numbers),
		cmocka_unit_test(an_empty_line_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
