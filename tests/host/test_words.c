// sources: user/monitor/words.c user/lib/args.c
/* Cutting command lines, boot commands, the nearest command, and numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "user/lib/args.h"
#include "user/monitor/words.h"

static void splits_at_blanks(void **state)
{
	char text[] = "  run\tlru-read  -n 8 ", blank[] = " \t ";
	char *words[MAX_WORDS + 1];

	(void)state;
	assert_int_equal(words_split(text, words), 4);
	assert_string_equal(words[0], "run");
	assert_string_equal(words[3], "8");
	assert_null(words[4]);
	assert_int_equal(words_split(blank, words), 0);
}

static void refuses_too_many_words(void **state)
{
	char text[2 * MAX_WORDS + 3] = "";
	char *words[MAX_WORDS + 1];

	(void)state;
	for (int i = 0; i < MAX_WORDS; i++)
		strcat(text, "x ");
	assert_int_equal(words_split(text, words), MAX_WORDS);
	memset(text, ' ', sizeof(text) - 1);
	for (int i = 0; i <= MAX_WORDS; i++)
		text[2 * i] = 'x';
	assert_int_equal(words_split(text, words), -1);
}

static void reads_boot_commands(void **state)
{
	const char *script = "tour+64;;ps;run+hog";
	char out[16], tiny[4];

	(void)state;
	assert_string_equal(words_next_command(&script, out, sizeof(out)), "tour 64");
	assert_string_equal(words_next_command(&script, out, sizeof(out)), "");
	assert_string_equal(words_next_command(&script, out, sizeof(out)), "ps");
	assert_string_equal(words_next_command(&script, out, sizeof(out)), "run hog");
	assert_null(words_next_command(&script, out, sizeof(out)));
	script = "abcdefgh;x";
	assert_string_equal(words_next_command(&script, tiny, sizeof(tiny)), "abc");
	assert_string_equal(words_next_command(&script, tiny, sizeof(tiny)), "x");
}

static void finds_the_nearest(void **state)
{
	static const char *const names[] = { "stat", "tour", "reboot", "ps", NULL };

	(void)state;
	assert_string_equal(words_nearest("sta", names), "stat");
	assert_string_equal(words_nearest("tuor", names), "tour");
	assert_string_equal(words_nearest("rebot", names), "reboot");
	assert_null(words_nearest("xyzzy", names));
	assert_null(words_nearest("a-word-that-is-far-longer-than-any-command", names));
}

static void reads_numbers(void **state)
{
	uint64_t value = 99;

	(void)state;
	assert_true(args_parse("0", 0, 10, &value));
	assert_int_equal(value, 0);
	assert_true(args_parse("18446744073709551615", 0, UINT64_MAX, &value));
	assert_false(args_parse("18446744073709551616", 0, UINT64_MAX, &value));
	assert_false(args_parse("", 0, 10, &value));
	assert_false(args_parse("-1", 0, UINT64_MAX, &value));
	assert_false(args_parse(" 1", 0, 10, &value));
	assert_false(args_parse("1x", 0, 10, &value));
	assert_false(args_parse("11", 0, 10, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_at_blanks),   cmocka_unit_test(refuses_too_many_words),
		cmocka_unit_test(reads_boot_commands), cmocka_unit_test(finds_the_nearest),
		cmocka_unit_test(reads_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
