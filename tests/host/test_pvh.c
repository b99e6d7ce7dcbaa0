// sources: boot/pvh.c kernel/lib.c kernel/printf.c
/* test_pvh.c - the PVH start information: good, truncated at every length, hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "boot/pvh.h"

#define INFO_AT   0x100
#define MAP_AT    0x200
#define RSDP_AT   0x300
#define MEMORY    0x400
#define NR_RANGES 3

struct start {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline, rsdp, memmap;
	uint32_t nr_memmap, reserved;
};

struct range {
	uint64_t base, len;
	uint32_t type, reserved;
};

static uint8_t memory[MEMORY];
static struct boot_info out;

static struct start *good(void)
{
	static const struct range ranges[NR_RANGES] = {
		{0, 0x9fc00, 1, 0}, {0x100000, 0x3f00000, 1, 0}, {0xfffc0000, 0x40000, 2, 0}};
	struct start *s = (struct start *)(memory + INFO_AT);

	memset(memory, 0, sizeof(memory));
	*s = (struct start){.magic = PVH_MAGIC, .version = 1, .rsdp = RSDP_AT, .memmap = MAP_AT,
			    .nr_memmap = NR_RANGES};
	memcpy(memory + MAP_AT, ranges, sizeof(ranges));
	memcpy(memory + RSDP_AT, "RSD PTR ", 8);
	return s;
}

static void test_good(void **state)
{
	(void)state;
	good();
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), 0);
	assert_int_equal(out.nr_mem, NR_RANGES);
	assert_int_equal(out.mem[1].base, 0x100000);
	assert_int_equal(out.mem[2].type, 2);
	assert_int_equal(out.rsdp_len, 36);
	assert_memory_equal(out.rsdp, "RSD PTR ", 8);
}

/* A copy that ends where readable memory ends: ASan sees a read past it. */
static void test_truncated_at_every_length(void **state)
{
	size_t max;

	(void)state;
	good();
	for (max = 0; max < RSDP_AT; max++) {
		uint8_t *copy = malloc(max + 1);

		memcpy(copy, memory, max);
		if (max < MAP_AT + NR_RANGES * sizeof(struct range))
			assert_int_not_equal(pvh_parse(copy, max, INFO_AT, &out), 0);
		else
			assert_int_equal(pvh_parse(copy, max, INFO_AT, &out), 0);
		free(copy);
	}
}

static void test_hostile(void **state)
{
	struct start *s = good();

	(void)state;
	s->magic++;
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), -EINVAL);
	s = good();
	s->version = 0;
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), -ENODATA);
	s = good();
	s->memmap = UINT64_MAX - 8;
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), -EINVAL);
	s = good();
	s->nr_memmap = UINT32_MAX;
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), -EINVAL);
	s = good();
	((struct range *)(memory + MAP_AT))[1].len = UINT64_MAX;
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), -EINVAL);
	s = good();
	s->rsdp = MEMORY - 4;
	assert_int_equal(pvh_parse(memory, MEMORY, INFO_AT, &out), 0);
	assert_int_equal(out.rsdp_len, 0);
	assert_int_equal(pvh_parse(memory, MEMORY, UINT64_MAX, &out), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_truncated_at_every_length),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
