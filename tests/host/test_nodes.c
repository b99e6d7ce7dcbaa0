// sources: drivers/acpi_parse.c mm/node.c mm/buddy.c kernel/lib.c kernel/printf.c tests/host/shim.c
/* Memory nodes: the SRAT, right and damaged in every way, and buddy allocators side by side. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "acpi_memory.h"
#include "mm/buddy.h"
#include "mm/node.h"
#include "shim.h"

#define RSDT_AT 0
#define SRAT_AT 0x100
#define MIB_PFN (MIB / PAGE_SIZE)

static u8 rsdp[20];
static u32 srat_len;

/* ---- Writing a table ------------------------------------------------------------------------- */

static void set(u8 *p, u64 value, size_t bytes)
{
	memcpy(p, &value, bytes);
}

static u8 *entry(u8 type, u8 len)
{
	u8 *e = memory + SRAT_AT + srat_len;

	memset(e, 0, len);
	e[0] = type;
	e[1] = len;
	srat_len += len;
	return e;
}

static u8 *add_memory(u32 domain, u64 start_mib, u64 mib, u32 flags)
{
	u8 *e = entry(1, 40);

	set(e + 2, domain, 4);
	set(e + 8, start_mib * MIB, 8);
	set(e + 16, mib * MIB, 8);
	set(e + 28, flags, 4);
	return e;
}

static void add_cpu(u8 apic_id, u32 domain, u32 flags)
{
	u8 *e = entry(0, 16);

	e[2] = (u8)domain;
	e[3] = apic_id;
	set(e + 4, flags, 4);
	set(e + 9, domain >> 8, 3);
}

static void add_x2apic_cpu(u32 apic_id, u32 domain, u32 flags)
{
	u8 *e = entry(2, 24);

	set(e + 4, domain, 4);
	set(e + 8, apic_id, 4);
	set(e + 12, flags, 4);
}

static int empty(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memcpy(rsdp, "RSD PTR ", 8);
	set(rsdp + 16, BASE + RSDT_AT, 4);
	fix_checksum(rsdp, sizeof(rsdp), 8);
	memcpy(memory + RSDT_AT, "RSDT", 4);
	set(memory + RSDT_AT + 4, HEADER + 4, 4);
	set(memory + RSDT_AT + HEADER, BASE + SRAT_AT, 4);
	fix_checksum(memory + RSDT_AT, HEADER + 4, 9);
	memcpy(memory + SRAT_AT, "SRAT", 4);
	memory[SRAT_AT + 8] = 3; /* revision */
	srat_len = 48;
	max_pfn = HOST_FRAMES; /* 16 MiB */
	return 0;
}

/* As QEMU has it: CPUs first, node 0 in two pieces round the hole, empty slots at the end. */
static int good(void **state)
{
	empty(state);
	add_cpu(0, 0, 1);
	add_cpu(1, 7, 1);
	add_x2apic_cpu(2, 7, 1);
	add_memory(0, 0, 1, 1);
	add_memory(0, 2, 4, 1);
	add_memory(7, 6, 10, 1);
	add_memory(7, 0, 0, 0);
	add_memory(9, 1 << 20, 1024, 3); /* memory that may come one day */
	return 0;
}

/* ---- Reading it ------------------------------------------------------------------------------ */

static const char *parse_sealed(void)
{
	const char *wrong;

	acpi_read(rsdp, sizeof(rsdp));
	wrong = nodes_from_srat(&info.srat);
	assert_in_range(nr_nodes, 1, NR_NODES);
	for (u64 pfn = 0; pfn < HOST_FRAMES; pfn += 64)
		assert_true(pfn_to_node(pfn) < nr_nodes);
	for (u32 apic_id = 0; apic_id < 4; apic_id++)
		assert_true(srat_cpu_node(&info.srat, apic_id) < nr_nodes);
	if (wrong)
		assert_int_equal(nr_nodes, 1);
	return wrong;
}

static const char *parse(void)
{
	set(memory + SRAT_AT + 4, srat_len, 4);
	fix_checksum(memory + SRAT_AT, MIN(srat_len, (u32)(MEMORY - SRAT_AT)), 9);
	return parse_sealed();
}

static void check_is_wrong(const char *word)
{
	const char *wrong = parse();

	assert_non_null(wrong);
	assert_non_null(strstr(wrong, word));
}

/* ---- Tests: the SRAT ------------------------------------------------------------------------- */

static void a_good_table(void **state)
{
	(void)state;
	assert_null(parse());
	assert_int_equal(nr_nodes, 2);
	assert_int_equal(pfn_to_node(0), 0);
	assert_int_equal(pfn_to_node(MIB_PFN + 1), 0); /* the hole: nobody's, so node 0's */
	assert_int_equal(pfn_to_node(6 * MIB_PFN - 1), 0);
	assert_int_equal(pfn_to_node(6 * MIB_PFN), 1);
	assert_int_equal(pfn_to_node(16 * MIB_PFN - 1), 1);
	assert_int_equal(pfn_to_node(16 * MIB_PFN), 0);
	assert_int_equal(srat_cpu_node(&info.srat, 0), 0);
	assert_int_equal(srat_cpu_node(&info.srat, 1), 1);
	assert_int_equal(srat_cpu_node(&info.srat, 2), 1);
	assert_int_equal(srat_cpu_node(&info.srat, 77), 0); /* not named */
}

static void without_a_table_there_is_one_node(void **state)
{
	(void)state;
	memset(&info, 0, sizeof(info));
	assert_null(nodes_from_srat(&info.srat));
	assert_int_equal(nr_nodes, 1);
	srat_len = 48; /* a table that says nothing */
	assert_null(parse());
	assert_int_equal(nr_nodes, 1);
}

static void one_domain_is_one_node(void **state)
{
	(void)state;
	add_memory(3, 0, 8, 1);
	add_memory(3, 8, 8, 1);
	add_cpu(0, 3, 1);
	assert_null(parse());
	assert_int_equal(nr_nodes, 1);
	assert_int_equal(pfn_to_node(12 * MIB_PFN), 0);
}

static void large_domains_and_old_tables(void **state)
{
	empty(state);
	add_memory(0x10000, 0, 8, 1);
	add_memory(0xfffffffe, 8, 8, 1);
	add_cpu(0, 0xfffffffe, 1);
	add_x2apic_cpu(300, 0xfffffffe, 1);
	add_cpu(1, 0xfe, 1); /* another */
	assert_null(parse());
	assert_int_equal(nr_nodes, 2);
	assert_int_equal(srat_cpu_node(&info.srat, 0), 1);
	assert_int_equal(srat_cpu_node(&info.srat, 300), 1);
	assert_int_equal(srat_cpu_node(&info.srat, 1), 0);
	memory[SRAT_AT + 8] = 1; /* only the low 8 bits count: 0 and 0xfe */
	assert_null(parse());
	assert_int_equal(nr_nodes, 2);
	assert_int_equal(srat_cpu_node(&info.srat, 1), 1);
}

static void disabled_entries_do_not_count(void **state)
{
	(void)state;
	add_memory(0, 0, 8, 1);
	add_memory(1, 4, 12, 0); /* overlaps, but is off */
	add_memory(1, 8, 8, 1);
	add_cpu(0, 1, 0);
	add_x2apic_cpu(1, 1, 0);
	assert_null(parse());
	assert_int_equal(nr_nodes, 2);
	assert_int_equal(srat_cpu_node(&info.srat, 0), 0);
	assert_int_equal(srat_cpu_node(&info.srat, 1), 0);
}

static void overlaps(void **state)
{
	static const struct {
		u64 start, mib;
		u32 domain;
	} bad[] = {{0, 16, 1}, {6, 8, 1}, {7, 1, 1}, {0, 1, 1}, {7, 2, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		empty(state);
		add_memory(0, 0, 8, 1);
		add_memory(bad[i].domain, bad[i].start, bad[i].mib, 1);
		check_is_wrong("twice");
	}
}

static void too_many(void **state)
{
	for (u32 i = 0; i < NR_NODES; i++)
		add_memory(i * 100, i, 1, 1);
	assert_null(parse());
	assert_int_equal(nr_nodes, NR_NODES);
	assert_int_equal(pfn_to_node((NR_NODES - 1) * MIB_PFN), NR_NODES - 1);
	add_memory(1, NR_NODES, 1, 1);
	check_is_wrong("more nodes");
	empty(state);
	for (u32 i = 0; i < ACPI_MAX_MEM + 1; i++)
		add_memory(i % 2, i, 1, 1);
	check_is_wrong("damaged");
	empty(state); /* CPUs too many are only those of which nothing is known */
	add_memory(0, 0, 8, 1);
	add_memory(1, 8, 8, 1);
	for (u32 i = 0; i < NR_CPUS + 3; i++)
		add_cpu((u8)i, 1, 1);
	assert_null(parse());
	assert_int_equal(srat_cpu_node(&info.srat, NR_CPUS - 1), 1);
	assert_int_equal(srat_cpu_node(&info.srat, NR_CPUS), 0);
}

static void memory_past_the_end_of_64_bits(void **state)
{
	u8 *e = add_memory(0, 0, 8, 1);

	(void)state;
	set(e + 8, ~0UL - MIB, 8);
	set(e + 16, 2 * MIB, 8);
	check_is_wrong("damaged");
}

static void entry_lengths(void **state)
{
	static const u8 lengths[] = {0, 1, 2, 15, 39, 41, 200, 255};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		empty(state);
		add_memory(0, 0, 8, 1);
		add_memory(1, 8, 8, 1)[1] = lengths[i];
		check_is_wrong("damaged");
	}
	for (u8 type = 0; type < 3; type++) {
		empty(state);
		entry(type, 12);
		check_is_wrong("damaged");
	}
	good(state);
	entry(3, 16); /* of a type that came later */
	entry(200, 2);
	assert_null(parse());
	assert_int_equal(nr_nodes, 2);
}

/* With a right checksum each time; between two entries the table is merely a shorter one. */
static void cut_at_every_length(void **state)
{
	for (u32 len = 0; len < 48 + 3 * 40; len++) {
		empty(state);
		add_memory(0, 0, 4, 1);
		add_memory(1, 4, 4, 1);
		add_memory(2, 8, 8, 1);
		srat_len = len;
		if (len < 48 || (len - 48) % 40)
			check_is_wrong("damaged");
		else
			assert_null(parse());
	}
}

static void a_wrong_checksum_or_length_is_told(void **state)
{
	assert_null(parse());
	memory[SRAT_AT + 60]++;
	assert_string_equal(parse_sealed(), "is damaged");
	good(state);
	srat_len = ~0u;
	check_is_wrong("damaged");
}

static void garbage(void **state)
{
	u64 seed = 4711;
	unsigned fine = 0;

	for (unsigned round = 0; round < 20000; round++) {
		good(state);
		for (u64 n = host_random(&seed) % 6; n > 0; n--) {
			u64 r = host_random(&seed);

			memory[SRAT_AT + 8 + (r >> 8) % (srat_len - 8)] =
				(u8)(round % 2 ? r : r & 7);
		}
		fine += !parse() && nr_nodes > 1;
	}
	assert_true(fine > 1000); /* the others were refused or are one node */
}

/* ---- Tests: allocators side by side ---------------------------------------------------------- */

static struct buddy buddy[NR_NODES];

static struct buddy *buddy_of(u64 pfn)
{
	return &buddy[pfn_to_node(pfn)];
}

/* Every frame is in exactly one free block, of the node it is of. */
static void check_all_free(void)
{
	u64 total = 0;

	for (unsigned node = 0; node < nr_nodes; node++) {
		u64 frames = 0;
		struct page *page;

		for (unsigned order = 0; order <= MAX_ORDER; order++)
			list_for_each(page, &buddy[node].free[order], lru)
				for (u64 i = 0; i < BIT(order); i++, frames++)
					assert_int_equal(pfn_to_node(page_to_pfn(page) + i), node);
		assert_int_equal(frames, buddy[node].nr_free);
		total += frames;
	}
	assert_int_equal(total, HOST_FRAMES);
}

static void give_all(void)
{
	host_reset();
	for (unsigned node = 0; node < NR_NODES; node++)
		buddy_init(&buddy[node], node);
	for (u64 i = 0; i < HOST_FRAMES; i++)
		buddy_free(buddy_of((i * 389) % HOST_FRAMES), (i * 389) % HOST_FRAMES, 0);
	check_all_free();
}

static void take_and_give(u64 seed)
{
	struct {
		struct page *page;
		unsigned order;
	} held[256] = {0};

	for (unsigned step = 0; step < 20000; step++) {
		u64 r = host_random(&seed);
		unsigned slot = r % ARRAY_SIZE(held), node = (unsigned)(r >> 16) % nr_nodes;
		u64 pfn = held[slot].page ? page_to_pfn(held[slot].page) : 0;

		if (held[slot].page) {
			buddy_free(buddy_of(pfn), pfn, held[slot].order);
			held[slot].page = NULL;
			continue;
		}
		held[slot].order = (unsigned)(r >> 32) % 6;
		held[slot].page = buddy_alloc(&buddy[node], held[slot].order);
		pfn = held[slot].page ? page_to_pfn(held[slot].page) : 0;
		for (u64 i = 0; held[slot].page && i < BIT(held[slot].order); i++)
			assert_int_equal(pfn_to_node(pfn + i), node);
	}
	for (unsigned slot = 0; slot < ARRAY_SIZE(held); slot++)
		if (held[slot].page)
			buddy_free(buddy_of(page_to_pfn(held[slot].page)),
				   page_to_pfn(held[slot].page), held[slot].order);
}

static void no_block_crosses(void **state)
{
	(void)state;
	for (unsigned nodes = 1; nodes <= NR_NODES; nodes++) {
		nodes_split(nodes);
		give_all();
		take_and_give(nodes);
		check_all_free();
	}
	assert_int_equal(pfn_to_node(0), 0);
	assert_int_equal(pfn_to_node(HOST_FRAMES - 1), NR_NODES - 1);
	nodes_split(3); /* 1365 and 2730: odd and even, in the middle of everything */
	assert_int_equal(pfn_to_node(1364), 0);
	assert_int_equal(pfn_to_node(1365), 1);
	give_all();
	assert_int_equal(buddy[0].nr_blocks[0], 1);
}

static void a_frame_of_another_node_is_caught(void **state)
{
	u64 pfn;

	(void)state;
	nodes_split(2);
	give_all();
	pfn = page_to_pfn(buddy_alloc(&buddy[1], MAX_ORDER));
	expect_assert_failure(buddy_free(&buddy[0], pfn, MAX_ORDER));
	buddy_free(&buddy[1], pfn, MAX_ORDER);
	check_all_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_good_table, good),
		cmocka_unit_test_setup(without_a_table_there_is_one_node, good),
		cmocka_unit_test_setup(one_domain_is_one_node, empty),
		cmocka_unit_test_setup(large_domains_and_old_tables, empty),
		cmocka_unit_test_setup(disabled_entries_do_not_count, empty),
		cmocka_unit_test_setup(overlaps, empty),
		cmocka_unit_test_setup(too_many, empty),
		cmocka_unit_test_setup(memory_past_the_end_of_64_bits, empty),
		cmocka_unit_test_setup(entry_lengths, empty),
		cmocka_unit_test_setup(cut_at_every_length, empty),
		cmocka_unit_test_setup(a_wrong_checksum_or_length_is_told, good),
		cmocka_unit_test_setup(garbage, empty),
		cmocka_unit_test_setup(no_block_crosses, empty),
		cmocka_unit_test_setup(a_frame_of_another_node_is_caught, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
