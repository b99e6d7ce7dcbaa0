// sources: user/fs/ustar.c
/* The ustar parser, on archives that are right and on archives made to break it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/fs/ustar.h"

#define BLOCK 512

static uint8_t archive[64 * BLOCK];
static size_t used;

static void start(void)
{
	memset(archive, 0, sizeof(archive));
	used = 0;
}

static void seal(uint8_t *header)
{
	unsigned int sum = 0;

	memset(header + 148, ' ', 8);
	for (int i = 0; i < BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + 148, 8, "%06o", sum);
}

/* Returns the header, to be damaged and sealed again. */
static uint8_t *add(const char *name, const char *data)
{
	uint8_t *header = archive + used;
	size_t length = strlen(data);

	strncpy((char *)header, name, 100);
	snprintf((char *)header + 124, 12, "%011o", (unsigned int)length);
	header[156] = '0';
	memcpy(header + 257, "ustar\0" "00", 8);
	seal(header);
	memcpy(header + BLOCK, data, length);
	used += BLOCK + (length + BLOCK - 1) / BLOCK * BLOCK;
	return header;
}

static struct ustar reader;
static struct ustar_entry entry;

/* From an exactly sized heap copy, so that the address sanitizer sees any over-read. */
static void *open_copy(size_t length)
{
	void *copy = malloc(length ? length : 1);

	memcpy(copy, archive, length);
	ustar_open(&reader, copy, length);
	return copy;
}

static void expect_error_first(const char *what)
{
	void *copy = open_copy(used + 2 * BLOCK);

	assert_int_equal(ustar_next(&reader, &entry), USTAR_ERROR);
	assert_non_null(strstr(reader.error, what));
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ERROR); /* and it stays so */
	free(copy);
}

static void reads_files_in_order(void **state)
{
	void *copy;

	(void)state;
	start();
	add("bin/a", "hello");
	add("./etc/b", "");
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, "bin/a");
	assert_int_equal(entry.size, 5);
	assert_memory_equal(entry.data, "hello", 5);
	assert_true(entry.regular);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, "./etc/b");
	assert_int_equal(entry.size, 0);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_END);
	free(copy);
}

static void joins_prefix_and_unterminated_name(void **state)
{
	uint8_t *header;
	void *copy;

	(void)state;
	start();
	header = add("", "x");
	memset(header, 'n', 100);
	memset(header + 345, 'p', 155);
	seal(header);
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_int_equal(strlen(entry.path), 256);
	assert_int_equal(entry.path[154], 'p');
	assert_int_equal(entry.path[155], '/');
	assert_int_equal(entry.path[156], 'n');
	free(copy);
}

static void refuses_bad_headers(void **state)
{
	uint8_t *header;

	(void)state;
	start();
	add("a", "x")[0] = 'b';
	expect_error_first("checksum");
	start();
	memcpy(add("a", "x") + 148, "zzzzzzz", 7);
	expect_error_first("checksum");
	start();
	header = add("a", "x");
	memcpy(header + 257, "nonsen", 6);
	seal(header);
	expect_error_first("not a ustar header");
	start();
	header = add("", "x");
	seal(header);
	expect_error_first("without a name");
}

static void refuses_bad_sizes(void **state)
{
	static const char *const bad[] = { "0000000008 ", "           ", "12x45678901",
					   "-0000000001", "\x80\0\0\0\0\0\0\0\0\0\0" };
	uint8_t *header;

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start();
		header = add("a", "x");
		memcpy(header + 124, bad[i], 11);
		seal(header);
		expect_error_first("not an octal number");
	}
	start();
	header = add("a", "x");
	memcpy(header + 124, "777777777777", 12); /* fills its field: no terminator */
	seal(header);
	expect_error_first("left in the archive");
}

static void keeps_what_precedes_damage(void **state)
{
	void *copy;

	(void)state;
	start();
	add("good", "data");
	add("bad", "data")[0] = 'B';
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, "good");
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ERROR);
	free(copy);
}

/* Cut at every length: never an over-read, an error unless the end mark is there. */
static void survives_truncation_anywhere(void **state)
{
	(void)state;
	start();
	add("a", "0123456789");
	add("b", "0123456789");
	for (size_t length = 0; length < used + BLOCK; length++) {
		void *copy = open_copy(length);
		enum ustar_result result;
		int entries = 0;

		while ((result = ustar_next(&reader, &entry)) == USTAR_ENTRY)
			entries++;
		assert_int_equal(result, USTAR_ERROR);
		assert_in_range(entries, 0, 2);
		free(copy);
	}
}

static void skips_what_is_no_file(void **state)
{
	uint8_t *header;
	void *copy;

	(void)state;
	start();
	header = add("link", "");
	header[156] = '2';
	memcpy(header + 124, "00000077777", 11); /* a size without data */
	seal(header);
	add("file", "x");
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_false(entry.regular);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, "file");
	free(copy);
}

/* One byte of the header changed at a time: the checksum finds it, or it does no harm. */
static void survives_any_changed_byte(void **state)
{
	(void)state;
	for (size_t at = 0; at < BLOCK; at++) {
		void *copy;

		start();
		add("a", "x")[at] ^= 0xff;
		copy = open_copy(used + 2 * BLOCK);
		while (ustar_next(&reader, &entry) == USTAR_ENTRY)
			assert_in_range(entry.size, 0, used);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_files_in_order),
		cmocka_unit_test(joins_prefix_and_unterminated_name),
		cmocka_unit_test(refuses_bad_headers),
		cmocka_unit_test(refuses_bad_sizes),
		cmocka_unit_test(keeps_what_precedes_damage),
		cmocka_unit_test(survives_truncation_anywhere),
		cmocka_unit_test(skips_what_is_no_file),
		cmocka_unit_test(survives_any_changed_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
