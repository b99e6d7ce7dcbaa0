// sources: user/fs/ustar.c
/* The ustar parser, on archives that are right and on archives made to break it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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
	expect_error_first("not a tar header");
	start();
	header = add("", "x");
	seal(header);
	expect_error_first("without a name");
}

static void refuses_bad_sizes(void **state)
{
	static const char *const bad[] = { "0000000008 ", "           ", "12x45678901",
					   "-0000000001", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
					   "\x80\x01\0\0\0\0\0\0\0\0\0" };
	uint8_t *header;

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start();
		header = add("a", "x");
		memcpy(header + 124, bad[i], 11);
		seal(header);
		expect_error_first("not a number");
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

/* ---- Archives that tar and Python have made ------------------------------------------------- */

static char *made;
static size_t made_length;

/* The archive a.tar that a shell command leaves in an empty directory. */
static void make_archive(const char *format, const char *command)
{
	char directory[] = "/tmp/test_ustar.XXXXXX", line[8192];
	FILE *file;

	assert_non_null(mkdtemp(directory));
	snprintf(line, sizeof(line), "set -e; cd %s; F='%s'; %s", directory, format, command);
	assert_int_equal(system(line), 0);
	snprintf(line, sizeof(line), "%s/a.tar", directory);
	file = fopen(line, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	made_length = (size_t)ftell(file);
	rewind(file);
	made = malloc(made_length);
	assert_int_equal(fread(made, 1, made_length, file), made_length);
	fclose(file);
	snprintf(line, sizeof(line), "rm -rf %s", directory);
	assert_int_equal(system(line), 0);
	ustar_open(&reader, made, made_length);
}

static void next_file(const char *path, const char *data)
{
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, path);
	assert_null(entry.problem);
	assert_true(entry.regular);
	assert_int_equal(entry.size, strlen(data));
	assert_memory_equal(entry.data, data, entry.size);
}

static void end_of_archive(void)
{
	assert_int_equal(ustar_next(&reader, &entry), USTAR_END);
	free(made);
}

#define N50  "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcd"
#define LONG N50 N50 N50 N50

static void reads_every_format_of_tar(void **state)
{
	static const char *const formats[] = { "gnu", "oldgnu", "pax", "ustar", "v7" };

	(void)state;
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		make_archive(formats[i], "mkdir d; echo one >d/1; ln d/1 d/2; ln -s 1 d/3; "
					 "echo four >d/4; tar --format=$F --sort=name -cf a.tar d");
		assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
		assert_string_equal(entry.path, "d/");
		assert_false(entry.regular);
		next_file("d/1", "one\n");
		assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
		assert_string_equal(entry.path, "d/2");
		assert_string_equal(entry.link, "d/1");
		assert_false(entry.regular);
		assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
		assert_string_equal(entry.path, "d/3");
		assert_string_equal(entry.link, "");
		assert_false(entry.regular);
		next_file("d/4", "four\n");
		end_of_archive();
	}
}

static void reads_long_names(void **state)
{
	static const char *const formats[] = { "gnu", "oldgnu", "pax" };

	(void)state;
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		make_archive(formats[i], "mkdir -p " LONG "/" LONG "; echo x >" LONG "/" LONG "/f; "
					 "ln " LONG "/" LONG "/f " LONG "/" LONG "/g; echo z >z; "
					 "tar --format=$F -cf a.tar " LONG "/" LONG "/[fg] z");
		next_file(LONG "/" LONG "/f", "x\n");
		assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
		assert_string_equal(entry.path, LONG "/" LONG "/g");
		assert_string_equal(entry.link, LONG "/" LONG "/f");
		next_file("z", "z\n"); /* the long name was for one entry */
		end_of_archive();
	}
	make_archive("ustar", "mkdir " N50 N50 "; echo x >" N50 N50 "/" N50 "; "
			      "tar --format=$F -cf a.tar " N50 N50 "/" N50);
	next_file(N50 N50 "/" N50, "x\n");
	end_of_archive();
}

static void refuses_sparse_files(void **state)
{
	static const char *const formats[] = { "gnu", "oldgnu", "pax",
					       "pax --sparse-version=0.0",
					       "pax --sparse-version=0.1" };

	(void)state;
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		make_archive(formats[i],
			     "for i in 1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31; do "
			     "echo x | dd of=holes bs=64k seek=$i conv=notrunc status=none; done; "
			     "echo y >y; tar --sparse --format=$F -cf a.tar holes y");
		assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
		assert_non_null(entry.problem);
		assert_non_null(strstr(entry.problem, "sparse"));
		next_file("y", "y\n");
		end_of_archive();
	}
}

/* Python's tarfile: records of all kinds for one entry and for all, and numbers in base 256. */
static void reads_what_python_writes(void **state)
{
	static const char script[] =
		"/usr/bin/python3 -c \"\n"
		"import io, tarfile\n"
		"def add(t, name, data, **more):\n"
		"    i = tarfile.TarInfo(name); i.size = len(data)\n"
		"    for k in more: setattr(i, k, more[k])\n"
		"    t.addfile(i, io.BytesIO(data))\n"
		"with tarfile.open('a.tar', 'w', format=tarfile.PAX_FORMAT,\n"
		"                  pax_headers={'comment': 'for all'}) as t:\n"
		"    add(t, 'a', b'A', pax_headers={'comment': 'one', 'mtime': '1.5'})\n"
		"    add(t, '\\u00e4/' + 'n' * 300, b'B', mtime=2**40, uid=2**30)\n"
		"    add(t, 'c', b'C')\n"
		"with tarfile.open('b.tar', 'w', format=tarfile.GNU_FORMAT) as t:\n"
		"    add(t, 'd', b'D', mtime=2**40, uid=2**30)\n"
		"\"; tar --format=gnu -Af a.tar b.tar";
	char name[400];

	(void)state;
	make_archive("-", script);
	next_file("a", "A");
	memset(name, 'n', sizeof(name));
	memcpy(name, "\xc3\xa4/", 3);
	name[303] = '\0';
	next_file(name, "B");
	next_file("c", "C");
	next_file("d", "D");
	end_of_archive();
}

/* A pax header with these records, then a file of 600 bytes whose own header says 1. */
static void start_with_records(char type, const char *records)
{
	char data[601];
	uint8_t *header;

	start();
	header = add("pax", records);
	header[156] = (uint8_t)type;
	seal(header);
	memset(data, 'd', 600);
	data[600] = '\0';
	header = add("short", data);
	memcpy(header + 124, "00000000001", 11);
	seal(header);
}

static void pax_records_overrule_the_header(void **state)
{
	void *copy;

	(void)state;
	start_with_records('x', "12 size=600\n17 path=dir/long\n");
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, "dir/long");
	assert_int_equal(entry.size, 600);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_END);
	free(copy);
	start_with_records('g', "12 size=600\n"); /* for all that follow */
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_string_equal(entry.path, "short");
	assert_int_equal(entry.size, 600);
	free(copy);
}

static void refuses_bad_records(void **state)
{
	static const char *const bad[] = {
		"12 size=6x0\n", "13 size=600\n", "0 size=600\n", "size=600\n", "12 size=600 ",
		"99 size=600\n", "999999999999999999999 a=b\n", "5 ab\n", "5 =b\n", "3 \n",
		"31 size=99999999999999999999999\n", "-12 size=600\n",
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start_with_records('x', bad[i]);
		expect_error_first("a damaged extended header");
	}
	start_with_records('x', "28 size=9223372036854775807\n");
	expect_error_first("left in the archive");
}

static void base_256_sizes(void **state)
{
	uint8_t *header;
	void *copy;

	(void)state;
	start();
	header = add("a", "hello");
	memcpy(header + 124, "\x80\0\0\0\0\0\0\0\0\0\0\5", 12);
	seal(header);
	copy = open_copy(used + 2 * BLOCK);
	assert_int_equal(ustar_next(&reader, &entry), USTAR_ENTRY);
	assert_int_equal(entry.size, 5);
	free(copy);
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
		cmocka_unit_test(reads_every_format_of_tar),
		cmocka_unit_test(reads_long_names),
		cmocka_unit_test(refuses_sparse_files),
		cmocka_unit_test(reads_what_python_writes),
		cmocka_unit_test(pax_records_overrule_the_header),
		cmocka_unit_test(refuses_bad_records),
		cmocka_unit_test(base_256_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
