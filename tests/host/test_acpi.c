// sources: drivers/acpi_parse.c kernel/lib.c kernel/printf.c tests/host/shim.c
/* ACPI tables: right, sparse, doubled, damaged, cut at every length, and pointing at themselves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "acpi_memory.h"
#include "kernel/errno.h"
#include "shim.h"

#define XSDT_AT  0x100
#define RSDT_AT  0x200
#define MADT_AT  0x400
#define FADT_AT  0x1000
#define DSDT_AT  0x2000

static u8 rsdp[36];

static int parse(size_t rsdp_len)
{
	return acpi_read(rsdp, rsdp_len);
}

/* ---- Writing tables ------------------------------------------------------------------------- */

static void set16(u8 *p, u16 v)
{
	memcpy(p, &v, sizeof(v));
}

static void set32(u8 *p, u32 v)
{
	memcpy(p, &v, sizeof(v));
}

static void set64(u8 *p, u64 v)
{
	memcpy(p, &v, sizeof(v));
}

static void seal(size_t at)
{
	u32 len;

	memcpy(&len, memory + at + 4, sizeof(len));
	fix_checksum(memory + at, MIN(len, (u32)(MEMORY - at)), 9);
}

static u8 *table(size_t at, const char *signature, u32 len)
{
	memset(memory + at, 0, len);
	memcpy(memory + at, signature, 4);
	set32(memory + at + 4, len);
	return memory + at;
}

static u8 *madt_end;

static void begin_madt(void)
{
	u8 *t = table(MADT_AT, "APIC", 44);

	set32(t + 36, 0xfee00000);
	madt_end = t + 44;
}

static u8 *madt_entry(u8 type, u8 len)
{
	u8 *e = madt_end;

	memset(e, 0, len);
	e[0] = type;
	e[1] = len;
	madt_end += len;
	set32(memory + MADT_AT + 4, (u32)(madt_end - (memory + MADT_AT)));
	return e;
}

static void cpu(u8 id, u32 flags)
{
	u8 *e = madt_entry(0, 8);

	e[2] = id;
	e[3] = id;
	set32(e + 4, flags);
}

static void x2apic_cpu(u32 id, u32 flags)
{
	u8 *e = madt_entry(9, 16);

	set32(e + 4, id);
	set32(e + 8, flags);
}

static void begin_fadt(void)
{
	u8 *t = table(FADT_AT, "FACP", 244);

	set32(t + 40, BASE + DSDT_AT);
	set32(t + 64, 0x604);
	set32(t + 76, 0x608);
	set32(t + 112, BIT(10)); /* RESET_REG_SUP */
	t[116] = 1;
	set64(t + 120, 0xcf9);
	t[128] = 6;
	seal(FADT_AT);
}

static void dsdt(const void *aml, size_t len)
{
	memcpy(table(DSDT_AT, "DSDT", (u32)(HEADER + len)) + HEADER, aml, len);
	seal(DSDT_AT);
}

static void begin_rsdp(void)
{
	memset(rsdp, 0, sizeof(rsdp));
	memcpy(rsdp, "RSD PTR ", 8);
	rsdp[15] = 2;
	set32(rsdp + 16, BASE + RSDT_AT);
	set32(rsdp + 20, 36);
	set64(rsdp + 24, BASE + XSDT_AT);
	fix_checksum(rsdp, 20, 8);
	fix_checksum(rsdp, 36, 32);
}

static void roots(void)
{
	u8 *xsdt = table(XSDT_AT, "XSDT", HEADER + 16), *rsdt = table(RSDT_AT, "RSDT", HEADER + 8);

	set64(xsdt + HEADER, BASE + FADT_AT);
	set64(xsdt + HEADER + 8, BASE + MADT_AT);
	set32(rsdt + HEADER, BASE + FADT_AT);
	set32(rsdt + HEADER + 4, BASE + MADT_AT);
	seal(XSDT_AT);
	seal(RSDT_AT);
}

static const u8 s5[] = {0x10, 0x20, '_', 'S', '4', '_', 0x08, '_', 'S', '5', '_',
			0x12, 0x06, 0x04, 0x0a, 0x05, 0x01, 0x00, 0x00};

/*
 * Four CPUs with gaps between their ids, one of them disabled, as `-smp sockets=2,cores=3` gives.
 */
static int good(void **state)
{
	u8 *e;

	(void)state;
	memset(memory, 0, sizeof(memory));
	begin_rsdp();
	roots();
	begin_fadt();
	dsdt(s5, sizeof(s5));
	begin_madt();
	cpu(0, 1);
	cpu(1, 0);
	cpu(4, 1);
	cpu(6, 1);
	e = madt_entry(1, 12);
	e[2] = 9;
	set32(e + 4, 0xfec00000);
	set32(e + 8, 24);
	e = madt_entry(2, 10);
	e[3] = 0;
	set32(e + 4, 2);
	set16(e + 8, 0xd);
	seal(MADT_AT);
	return 0;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void check_good(void)
{
	assert_int_equal(info.nr_cpus, 3);
	assert_int_equal(info.apic_ids[0], 0);
	assert_int_equal(info.apic_ids[1], 4);
	assert_int_equal(info.apic_ids[2], 6);
	assert_int_equal(info.lapic_phys, 0xfee00000);
	assert_int_equal(info.nr_ioapics, 1);
	assert_int_equal(info.ioapic[0].phys, 0xfec00000);
	assert_int_equal(info.ioapic[0].gsi_base, 24);
	assert_int_equal(info.nr_overrides, 1);
	assert_int_equal(info.override[0].gsi, 2);
	assert_int_equal(info.override[0].flags, 0xd);
	assert_true(info.pm_timer && info.have_s5);
	assert_int_equal(info.pm1a_cnt, 0x604);
	assert_int_equal(info.pm1b_cnt, 0);
	assert_int_equal(info.pm_timer, 0x608);
	assert_int_equal(info.slp_typa, 5);
	assert_int_equal(info.slp_typb, 1);
	assert_int_equal(info.reset_port, 0xcf9);
	assert_int_equal(info.reset_value, 6);
}

static void reads_everything_through_either_root(void **state)
{
	(void)state;
	assert_int_equal(parse(36), 0);
	check_good();
	memory[XSDT_AT + 9]++; /* a bad XSDT: the RSDT is there too */
	assert_int_equal(parse(36), 0);
	check_good();
	assert_int_equal(parse(20), 0);
	check_good();
}

static void a_bad_root_is_an_error(void **state)
{
	(void)state;
	for (size_t len = 0; len < 20; len++)
		assert_int_equal(parse(len), -EINVAL);
	rsdp[8]++;
	assert_int_equal(parse(36), -EINVAL);
	good(state);
	rsdp[0] = 'X';
	fix_checksum(rsdp, 20, 8);
	assert_int_equal(parse(36), -EINVAL);
	good(state);
	memory[XSDT_AT + 9]++;
	memory[RSDT_AT + 9]++;
	assert_int_equal(parse(36), -EINVAL);
	good(state);
	set32(rsdp + 16, 0);
	fix_checksum(rsdp, 20, 8);
	assert_int_equal(parse(20), -EINVAL);
}

static void x2apic_entries_count_and_doubles_do_not(void **state)
{
	(void)state;
	begin_madt();
	cpu(0, 1);
	x2apic_cpu(0, 1);
	x2apic_cpu(300, 1);
	x2apic_cpu(301, 0);
	seal(MADT_AT);
	assert_int_equal(parse(36), 0);
	assert_int_equal(info.nr_cpus, 2);
	assert_int_equal(info.apic_ids[1], 300);
}

static void more_cpus_than_we_have_room_for_are_counted(void **state)
{
	(void)state;
	begin_madt();
	for (unsigned i = 0; i < NR_CPUS + 3; i++)
		cpu((u8)(2 * i), 1);
	seal(MADT_AT);
	assert_int_equal(parse(36), 0);
	assert_int_equal(info.nr_cpus, NR_CPUS);
	assert_int_equal(info.nr_ignored, 3);
}

static void a_64_bit_lapic_address_overrides(void **state)
{
	u8 *e = madt_entry(5, 12);

	(void)state;
	set64(e + 4, 0x1fee00000);
	seal(MADT_AT);
	assert_int_equal(parse(36), 0);
	assert_int_equal(info.lapic_phys, 0x1fee00000);
}

static void without_a_valid_madt_the_rest_is_good(void **state)
{
	(void)state;
	memory[MADT_AT + 9]++;
	assert_int_equal(parse(36), -ENOENT);
	assert_int_equal(info.nr_cpus, 0);
	assert_true(info.pm_timer && info.have_s5);
}

static void a_damaged_fadt_is_absent(void **state)
{
	(void)state;
	memory[FADT_AT + 9]++;
	assert_int_equal(parse(36), 0);
	assert_false(info.pm_timer || info.have_s5);
}

static void entry_lengths_that_lead_nowhere_end_the_list(void **state)
{
	static const u8 lengths[] = {0, 1, 200, 255};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		good(state);
		memory[MADT_AT + 44 + 8 + 1] = lengths[i]; /* of the second CPU */
		seal(MADT_AT);
		assert_int_equal(parse(36), 0);
		assert_int_equal(info.nr_cpus, 1);
	}
}

static void short_entries_are_ignored(void **state)
{
	(void)state;
	begin_madt();
	cpu(0, 1);
	for (u8 type = 0; type < 12; type++)
		for (u8 len = 2; len < 8; len++)
			madt_entry(type, len);
	seal(MADT_AT);
	assert_int_equal(parse(36), 0);
	assert_int_equal(info.nr_cpus, 1);
	assert_int_equal(info.nr_ioapics + info.nr_overrides, 0);
}

/* A valid checksum each time, so that the length alone has to be dealt with. */
static void tables_cut_at_every_length(void **state)
{
	static const struct {
		size_t at;
		u32 len;
	} cut[] = {{MADT_AT, 98}, {FADT_AT, 244}, {DSDT_AT, HEADER + sizeof(s5)},
		   {XSDT_AT, HEADER + 16}};

	for (size_t t = 0; t < ARRAY_SIZE(cut); t++)
		for (u32 len = 0; len < cut[t].len; len++) {
			good(state);
			set32(memory + cut[t].at + 4, len);
			seal(cut[t].at);
			parse(36);
			assert_true(info.nr_cpus <= 3);
			assert_false(cut[t].at == DSDT_AT && len < HEADER + 16 && info.have_s5);
		}
}

static void absurd_lengths_and_addresses(void **state)
{
	static const u32 lengths[] = {0, 35, 0x7fffffff, 0xffffffff, MEMORY};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		good(state);
		set32(memory + MADT_AT + 4, lengths[i]);
		assert_int_equal(parse(36), -ENOENT);
	}
	good(state);
	set64(memory + XSDT_AT + HEADER + 8, ~0UL);
	seal(XSDT_AT);
	assert_int_equal(parse(36), -ENOENT);
}

/* Root tables that list themselves, and each other: every entry is looked at once. */
static void loops_end(void **state)
{
	(void)state;
	set64(memory + XSDT_AT + HEADER, BASE + XSDT_AT);
	set64(memory + XSDT_AT + HEADER + 8, BASE + RSDT_AT);
	seal(XSDT_AT);
	assert_int_equal(parse(36), -ENOENT);
	good(state);
	set32(memory + FADT_AT + 40, BASE + FADT_AT); /* the DSDT is the FADT */
	seal(FADT_AT);
	assert_int_equal(parse(36), 0);
	assert_false(info.have_s5);
}

static void s5_in_all_its_forms(void **state)
{
	static const struct {
		u8 aml[12];
		bool valid;
		u8 a, b;
	} cases[] = {
		{{0x12, 0x06, 0x04, 0x0a, 0x07, 0x0a, 0x03}, true, 7, 3},
		{{0x12, 0x06, 0x04, 0x00, 0x01}, true, 0, 1},
		{{0x12, 0x48, 0x00, 0x04, 0x0a, 0x05, 0x00}, true, 5, 0}, /* two length bytes */
		{{0x13, 0x06, 0x04, 0x0a, 0x07, 0x0a, 0x03}, false, 0, 0},
		{{0x12, 0x06, 0x04, 0x70, 0x07, 0x0a, 0x03}, false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u8 aml[17] = {0x08, '_', 'S', '5', '_'};

		memcpy(aml + 5, cases[i].aml, 12);
		dsdt(aml, sizeof(aml));
		assert_int_equal(parse(36), 0);
		assert_int_equal(info.have_s5, cases[i].valid);
		if (cases[i].valid) {
			assert_int_equal(info.slp_typa, cases[i].a);
			assert_int_equal(info.slp_typb, cases[i].b);
		}
	}
}

static void the_boot_cpu_comes_first(void **state)
{
	(void)state;
	parse(36);
	acpi_put_boot_cpu_first(&info, 4);
	assert_int_equal(info.nr_cpus, 3);
	assert_int_equal(info.apic_ids[0], 4);
	assert_int_equal(info.apic_ids[1], 0);
	assert_int_equal(info.apic_ids[2], 6);
	acpi_put_boot_cpu_first(&info, 77); /* not listed */
	assert_int_equal(info.nr_cpus, 4);
	assert_int_equal(info.apic_ids[0], 77);
	assert_int_equal(info.apic_ids[3], 6);
}

static void random_damage_does_no_harm(void **state)
{
	u64 seed = 99;

	for (int round = 0; round < 5000; round++) {
		good(state);
		for (u64 n = host_random(&seed) % 10; n > 0; n--) {
			u64 r = host_random(&seed);

			memory[(r >> 8) % (DSDT_AT + 64)] = (u8)r;
		}
		seal(MADT_AT);
		seal(FADT_AT);
		seal(DSDT_AT);
		parse(36);
		assert_true(info.nr_cpus <= NR_CPUS && info.nr_ioapics <= ACPI_MAX_IOAPICS &&
			    info.nr_overrides <= ACPI_MAX_OVERRIDES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reads_everything_through_either_root, good),
		cmocka_unit_test_setup(a_bad_root_is_an_error, good),
		cmocka_unit_test_setup(x2apic_entries_count_and_doubles_do_not, good),
		cmocka_unit_test_setup(more_cpus_than_we_have_room_for_are_counted, good),
		cmocka_unit_test_setup(a_64_bit_lapic_address_overrides, good),
		cmocka_unit_test_setup(without_a_valid_madt_the_rest_is_good, good),
		cmocka_unit_test_setup(a_damaged_fadt_is_absent, good),
		cmocka_unit_test_setup(entry_lengths_that_lead_nowhere_end_the_list, good),
		cmocka_unit_test_setup(short_entries_are_ignored, good),
		cmocka_unit_test_setup(tables_cut_at_every_length, good),
		cmocka_unit_test_setup(absurd_lengths_and_addresses, good),
		cmocka_unit_test_setup(loops_end, good),
		cmocka_unit_test_setup(s5_in_all_its_forms, good),
		cmocka_unit_test_setup(the_boot_cpu_comes_first, good),
		cmocka_unit_test_setup(random_damage_does_no_harm, good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
