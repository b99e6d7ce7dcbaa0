// sources: user/monitor/line.c
/* The line editor: keys in, text out, and a model of the terminal that must show the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/monitor/line.h"

static const char *const words[] = { "help", "poweroff", "ps", "reboot", "run", NULL };
static struct line_editor ed;

/* One row of a terminal that knows what the editor sends: text, CR, LF, ESC[K, ESC[nD. */
static char row[2 * LINE_SIZE];
static size_t column;

static size_t show_escape(const char *s)
{
	char *end;
	unsigned long n = strtoul(s + 2, &end, 10);

	if (*end == 'K')
		memset(row + column, 0, sizeof(row) - column);
	else
		column -= n;
	return (size_t)(end + 1 - s);
}

static void show(void *context, const char *bytes, size_t length)
{
	(void)context;
	for (size_t i = 0; i < length;) {
		if (bytes[i] == 0x1b) {
			i += show_escape(bytes + i);
			continue;
		}
		if (bytes[i] == '\n')
			memset(row, 0, sizeof(row));
		if (bytes[i] == '\n' || bytes[i] == '\r')
			column = 0;
		else
			row[column++] = bytes[i];
		i++;
	}
}

static int start(void **state)
{
	(void)state;
	memset(row, 0, sizeof(row));
	column = 0;
	line_init(&ed, "> ", words, show, NULL);
	line_start(&ed);
	return 0;
}

static bool type(const char *keys)
{
	bool ended = false;

	for (; *keys; keys++)
		ended = line_input(&ed, (unsigned char)*keys);
	return ended;
}

static void expect(const char *keys, const char *text, size_t cursor)
{
	char shown[LINE_SIZE + 2];

	assert_false(type(keys));
	assert_string_equal(ed.text, text);
	assert_int_equal(ed.cursor, cursor);
	snprintf(shown, sizeof(shown), "> %s", text);
	assert_string_equal(row, shown);
	assert_int_equal(column, cursor + 2);
}

static void inserts_and_moves(void **state)
{
	(void)state;
	expect("stat", "stat", 4);
	expect("\x1b[D\x1b[DX", "stXat", 3);
	expect("\x01" "A", "AstXat", 1);
	expect("\x1b[C\x1b[C", "AstXat", 3);
	expect("\x05Z", "AstXatZ", 7);
	expect("\x1b[H\x1b[D", "AstXatZ", 0);
	expect("\x1b[4~\x1b[C", "AstXatZ", 7);
	expect("\x1bOH", "AstXatZ", 0);
	expect("\x1bOF", "AstXatZ", 7);
}

static void erases(void **state)
{
	(void)state;
	expect("one two three", "one two three", 13);
	expect("\x7f\b", "one two thr", 11);
	expect("\x17", "one two ", 8);
	expect("\x17", "one ", 4);
	expect("\x01\x1b[3~", "ne ", 0);
	expect("\x7f", "ne ", 0);
	expect("\x06\x0b", "n", 1);
	expect("\x04\x15", "", 0);
	expect("\x15\x0b\x17\x7f\x04", "", 0);
}

static void ends_a_line_once_for_cr_lf(void **state)
{
	(void)state;
	assert_true(type("ps\r"));
	assert_string_equal(ed.text, "ps");
	line_start(&ed);
	assert_false(type("\n"));
	assert_true(type("\n"));
	assert_string_equal(ed.text, "");
}

static void enter(const char *line)
{
	type(line);
	assert_true(type("\r"));
	line_start(&ed);
}

static void walks_the_history(void **state)
{
	(void)state;
	enter("first");
	enter("second");
	enter("second");
	enter("   ");
	expect("new\x1b[A", "second", 6);
	expect("\x1b[A", "first", 5);
	expect("\x1b[A", "first", 5);
	expect("\x1b[B\x1b[B", "new", 3);
	expect("\x1b[B", "new", 3);
	expect("\x10!", "second!", 7);
}

static void history_forgets_the_oldest(void **state)
{
	char line[32];

	(void)state;
	for (int i = 0; i < LINE_HISTORY + 5; i++) {
		snprintf(line, sizeof(line), "line %d", i);
		enter(line);
	}
	for (int i = 0; i < LINE_HISTORY + 10; i++)
		type("\x10");
	assert_string_equal(ed.text, "line 5");
}

static void completes_commands(void **state)
{
	(void)state;
	expect("h\t", "help ", 5);
	expect("\x15p\t", "p", 1); /* poweroff, ps: lists them */
	expect("o\t", "poweroff ", 9);
	expect("r\t", "poweroff r", 10); /* only the first word */
	expect("\x15x\t", "x", 1);
	expect("\x15re\t", "reboot ", 7);
}

static void refuses_what_does_not_fit(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * LINE_SIZE; i++)
		type("x");
	assert_int_equal(ed.length, LINE_SIZE - 1);
	assert_int_equal(strlen(ed.text), LINE_SIZE - 1);
}

static void ignores_unknown_sequences(void **state)
{
	(void)state;
	expect("a\x1b[99999999999~b\x1b[1;5Xc\x1bz\x01\x1b[2~\x05" "d", "abcd", 4);
	assert_false(line_input(&ed, 0xc3));
	assert_false(line_input(&ed, 0));
	assert_string_equal(ed.text, "abcd");
}

static void survives_any_bytes(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		random = random * 1664525 + 1013904223;
		if (line_input(&ed, (unsigned char)(random >> 24)))
			line_start(&ed);
		assert_in_range(ed.length, 0, LINE_SIZE - 1);
		assert_in_range(ed.cursor, 0, ed.length);
		assert_int_equal(ed.text[ed.length], '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(inserts_and_moves, start),
		cmocka_unit_test_setup(erases, start),
		cmocka_unit_test_setup(ends_a_line_once_for_cr_lf, start),
		cmocka_unit_test_setup(walks_the_history, start),
		cmocka_unit_test_setup(history_forgets_the_oldest, start),
		cmocka_unit_test_setup(completes_commands, start),
		cmocka_unit_test_setup(refuses_what_does_not_fit, start),
		cmocka_unit_test_setup(ignores_unknown_sequences, start),
		cmocka_unit_test_setup(survives_any_bytes, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
