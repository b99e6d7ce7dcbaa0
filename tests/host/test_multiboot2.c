// sources: boot/multiboot2.c kernel/lib.c kernel/printf.c tests/host/shim.c
/* The boot loader's information: right, cut at every length, hostile, and random. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "boot/multiboot2.h"
#include "kernel/errno.h"
#include "shim.h"

enum { END, CMDLINE, LOADER, MODULE, MMAP = 6, RSDP_OLD = 14, RSDP_NEW = 15 };

static u8 info[8192];
static size_t used;
static struct boot_info out;

static void put(const void *data, size_t n)
{
	memcpy(info + used, data, n);
	used += n;
}

static void put32(u32 value)
{
	put(&value, sizeof(value));
}

static void put64(u64 value)
{
	put(&value, sizeof(value));
}

static void set32(size_t at, u32 value)
{
	memcpy(info + at, &value, sizeof(value));
}

static size_t open_tag(u32 type)
{
	used = ALIGN_UP(used, 8);
	put32(type);
	put32(0);
	return used - 8;
}

static void close_tag(size_t tag)
{
	set32(tag + 4, (u32)(used - tag));
	set32(0, (u32)ALIGN_UP(used, 8));
}

static void string_tag(u32 type, const char *s)
{
	size_t tag = open_tag(type);

	put(s, strlen(s) + 1);
	close_tag(tag);
}

static void module_tag(u32 start, u32 end, const char *name)
{
	size_t tag = open_tag(MODULE);

	put32(start);
	put32(end);
	put(name, strlen(name) + 1);
	close_tag(tag);
}

static void memory(u64 base, u64 len, u32 type)
{
	put64(base);
	put64(len);
	put32(type);
	put32(0);
}

static size_t open_mmap(void)
{
	size_t tag = open_tag(MMAP);

	put32(24);
	put32(0);
	return tag;
}

static void rsdp_tag(u32 type, size_t len)
{
	u8 rsdp[36];
	size_t tag = open_tag(type);

	memset(rsdp, type, sizeof(rsdp));
	put(rsdp, len);
	close_tag(tag);
}

static void begin(void)
{
	memset(info, 0, sizeof(info));
	used = 8;
}

static void end(void)
{
	close_tag(open_tag(END));
}

static void good(void)
{
	size_t tag;

	begin();
	string_tag(CMDLINE, "tlb=pfn ktest");
	string_tag(LOADER, "GRUB 2.06");
	module_tag(0x200000, 0x300000, "initrd.tar");
	tag = open_mmap();
	memory(0, 0x9fc00, BOOT_MEM_AVAILABLE);
	memory(0x9fc00, 0x400, BOOT_MEM_RESERVED);
	memory(0x100000, 0x3f00000, BOOT_MEM_AVAILABLE);
	close_tag(tag);
	rsdp_tag(RSDP_OLD, 20);
	end();
}

/* From a buffer of exactly that size: the sanitizer sees any read past it. */
static int parse(size_t size)
{
	u8 *copy = malloc(size ? size : 1);
	int result;

	memcpy(copy, info, size);
	result = multiboot2_parse(copy, size, &out);
	free(copy);
	return result;
}

static void reads_everything(void **state)
{
	(void)state;
	good();
	assert_int_equal(parse(used), 0);
	assert_string_equal(out.cmdline, "tlb=pfn ktest");
	assert_string_equal(out.loader, "GRUB 2.06");
	assert_int_equal(out.nr_mods, 1);
	assert_int_equal(out.mod[0].start, 0x200000);
	assert_int_equal(out.mod[0].end, 0x300000);
	assert_string_equal(out.mod[0].name, "initrd.tar");
	assert_int_equal(out.nr_mem, 3);
	assert_int_equal(out.mem[2].base, 0x100000);
	assert_int_equal(out.mem[2].len, 0x3f00000);
	assert_int_equal(out.mem[1].type, BOOT_MEM_RESERVED);
	assert_int_equal(out.rsdp_len, 20);
}

static void the_longer_root_pointer_wins(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		begin();
		rsdp_tag(order ? RSDP_NEW : RSDP_OLD, order ? 36 : 20);
		rsdp_tag(order ? RSDP_OLD : RSDP_NEW, order ? 20 : 36);
		end();
		assert_int_equal(parse(used), -ENODATA);
		assert_int_equal(out.rsdp_len, 36);
		assert_int_equal(out.rsdp[35], RSDP_NEW);
	}
}

static void cut_anywhere_is_an_error(void **state)
{
	(void)state;
	good();
	for (size_t size = 0; size < used; size++) {
		assert_true(parse(size) < 0);
		if (size < 8)
			continue;
		set32(0, (u32)size); /* the header agrees with the cut */
		assert_true(parse(size) < 0);
		set32(0, (u32)used);
	}
}

static void impossible_tag_sizes_are_errors(void **state)
{
	static const u32 sizes[] = {0, 1, 7, 0x7fffffff, 0xfffffff8, 0xffffffff};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		good();
		set32(8 + 4, sizes[i]); /* of the first tag */
		assert_int_equal(parse(used), -EINVAL);
		good();
		set32(0, sizes[i]); /* of the whole */
		assert_int_equal(parse(used), -EINVAL);
	}
}

static void impossible_entry_sizes_are_errors(void **state)
{
	static const u32 sizes[] = {0, 1, 23};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t tag;

		begin();
		tag = open_mmap();
		set32(tag + 8, sizes[i]);
		memory(0, 0x1000, BOOT_MEM_AVAILABLE);
		close_tag(tag);
		end();
		assert_int_equal(parse(used), -EINVAL);
	}
}

static void longer_entries_are_understood(void **state)
{
	size_t tag;

	(void)state;
	begin();
	tag = open_mmap();
	set32(tag + 8, 32);
	for (u64 i = 1; i <= 2; i++) {
		memory(i << 20, 0x1000, BOOT_MEM_AVAILABLE);
		put64(0xdead);
	}
	close_tag(tag);
	end();
	assert_int_equal(parse(used), 0);
	assert_int_equal(out.nr_mem, 2);
	assert_int_equal(out.mem[1].base, 2 << 20);
}

static void ranges_that_wrap_are_errors(void **state)
{
	size_t tag;

	(void)state;
	begin();
	tag = open_mmap();
	memory(~0UL - 10, 100, BOOT_MEM_AVAILABLE);
	close_tag(tag);
	end();
	assert_int_equal(parse(used), -EINVAL);
	begin();
	module_tag(2, 1, "backwards");
	end();
	assert_int_equal(parse(used), -EINVAL);
}

static void more_than_fits_is_dropped_and_counted(void **state)
{
	size_t tag;

	(void)state;
	begin();
	tag = open_mmap();
	for (u64 i = 0; i < BOOT_MAX_MEM + 5; i++)
		memory(i << 20, 0x1000, BOOT_MEM_AVAILABLE);
	close_tag(tag);
	for (u32 i = 0; i < BOOT_MAX_MODS + 2; i++)
		module_tag(i, i + 1, "m");
	end();
	assert_int_equal(parse(used), 0);
	assert_int_equal(out.nr_mem, BOOT_MAX_MEM);
	assert_int_equal(out.nr_mods, BOOT_MAX_MODS);
	assert_int_equal(out.nr_dropped, 7);
}

static void strings_are_cut_and_terminated(void **state)
{
	static char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	begin();
	string_tag(CMDLINE, text);
	module_tag(0, 0, text);
	end();
	parse(used);
	assert_int_equal(strlen(out.cmdline), BOOT_CMDLINE_MAX - 1);
	assert_int_equal(strlen(out.mod[0].name), sizeof(out.mod[0].name) - 1);
}

static void no_memory_map_is_told_apart(void **state)
{
	(void)state;
	begin();
	string_tag(CMDLINE, "x");
	end();
	assert_int_equal(parse(used), -ENODATA);
	assert_string_equal(out.cmdline, "x");
}

/* Whatever comes in: no crash, no read outside, and what is promised about *out holds. */
static void random_bytes_do_no_harm(void **state)
{
	u64 seed = 77;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		good();
		for (u64 n = host_random(&seed) % 12; n > 0; n--) {
			u64 r = host_random(&seed);

			info[(r >> 8) % used] = (u8)r;
		}
		parse(used);
		assert_true(out.nr_mem <= BOOT_MAX_MEM && out.nr_mods <= BOOT_MAX_MODS);
		for (u32 i = 0; i < out.nr_mem; i++)
			assert_true(out.mem[i].base + out.mem[i].len >= out.mem[i].base);
		for (u32 i = 0; i < out.nr_mods; i++)
			assert_true(out.mod[i].start <= out.mod[i].end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_everything),
		cmocka_unit_test(the_longer_root_pointer_wins),
		cmocka_unit_test(cut_anywhere_is_an_error),
		cmocka_unit_test(impossible_tag_sizes_are_errors),
		cmocka_unit_test(impossible_entry_sizes_are_errors),
		cmocka_unit_test(longer_entries_are_understood),
		cmocka_unit_test(ranges_that_wrap_are_errors),
		cmocka_unit_test(more_than_fits_is_dropped_and_counted),
		cmocka_unit_test(strings_are_cut_and_terminated),
		cmocka_unit_test(no_memory_map_is_told_apart),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
