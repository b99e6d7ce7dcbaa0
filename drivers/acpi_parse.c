#include "drivers/acpi_parse.h"

#include "kernel/errno.h"

/* Byte offsets of fields: ACPI 5.2.5, 5.2.6, 5.2.9, 5.2.12 and 5.2.16. */
enum {
	RSDP_REVISION = 15, RSDP_RSDT = 16, RSDP_V1_LEN = 20, RSDP_XSDT = 24, RSDP_V2_LEN = 36,
	SDT_LENGTH = 4, SDT_REVISION = 8, SDT_HEADER = 36,
	FADT_DSDT = 40, FADT_PM1A_CNT = 64, FADT_PM1B_CNT = 68, FADT_PM_TMR = 76, FADT_FLAGS = 112,
	FADT_RESET_SPACE = 116, FADT_RESET_ADDRESS = 120, FADT_RESET_VALUE = 128,
	MADT_LAPIC = 36, MADT_ENTRIES = 44, SRAT_ENTRIES = 48,
};

enum madt_type {
	MADT_CPU = 0,
	MADT_IOAPIC = 1,
	MADT_OVERRIDE = 2,
	MADT_LAPIC_ADDRESS = 5,
	MADT_X2APIC_CPU = 9,
};

static const u8 madt_entry_len[] = {
	[MADT_CPU] = 8,            [MADT_IOAPIC] = 12,     [MADT_OVERRIDE] = 10,
	[MADT_LAPIC_ADDRESS] = 12, [MADT_X2APIC_CPU] = 16,
};

enum srat_type { SRAT_CPU = 0, SRAT_MEMORY = 1, SRAT_X2APIC_CPU = 2 };

static const u8 srat_entry_len[] = {[SRAT_CPU] = 16, [SRAT_MEMORY] = 40, [SRAT_X2APIC_CPU] = 24};

#define MADT_ENABLED   BIT(0)
#define SRAT_ENABLED   BIT(0)
#define FADT_RESET_SUP BIT(10)
#define SPACE_IO       1
#define TABLE_MAX      (4 * MIB) /* longer is nonsense */
#define ROOT_MAX       (SDT_HEADER + 256 * 8)
#define AML_ONE        0x01
#define AML_BYTE       0x0a
#define AML_PACKAGE    0x12

static bool checksum_ok(const u8 *p, size_t len)
{
	u8 sum = 0;

	while (len-- > 0)
		sum += *p++;
	return sum == 0;
}

static bool has_signature(struct bytes table, const char *signature)
{
	return table.len >= SDT_HEADER && memcmp(table.data, signature, 4) == 0;
}

/* The whole table at phys; empty if its length or checksum is wrong. */
static struct bytes map_table(u64 phys, acpi_map_fn map)
{
	struct bytes table = {map(phys, SDT_HEADER), SDT_HEADER};

	if (!table.data)
		return (struct bytes){0};
	table.len = bytes_le(table, SDT_LENGTH, 4);
	if (table.len < SDT_HEADER || table.len > TABLE_MAX)
		return (struct bytes){0};
	table.data = map(phys, table.len);
	if (!table.data || !checksum_ok(table.data, table.len))
		return (struct bytes){0};
	return table;
}

/* ---- MADT ----------------------------------------------------------------------------------- */

static void add_cpu(struct acpi_info *out, u32 apic_id, u64 flags)
{
	if (!(flags & MADT_ENABLED))
		return;
	for (u32 i = 0; i < out->nr_cpus; i++)
		if (out->apic_ids[i] == apic_id)
			return; /* firmware may list a CPU in both forms */
	if (out->nr_cpus == NR_CPUS)
		out->nr_ignored++;
	else
		out->apic_ids[out->nr_cpus++] = apic_id;
}

static void add_ioapic(struct acpi_info *out, struct bytes e)
{
	if (out->nr_ioapics < ACPI_MAX_IOAPICS)
		out->ioapic[out->nr_ioapics++] =
			(struct acpi_ioapic){bytes_le(e, 4, 4), (u32)bytes_le(e, 8, 4)};
}

static void add_override(struct acpi_info *out, struct bytes e)
{
	if (out->nr_overrides < ACPI_MAX_OVERRIDES)
		out->override[out->nr_overrides++] = (struct acpi_override){
			e.data[3], (u32)bytes_le(e, 4, 4), (u16)bytes_le(e, 8, 2) };
}

static void parse_madt_entry(struct acpi_info *out, struct bytes e)
{
	u8 type = e.data[0];

	if (type >= ARRAY_SIZE(madt_entry_len) || e.len < madt_entry_len[type])
		return;
	if (type == MADT_CPU)
		add_cpu(out, e.data[3], bytes_le(e, 4, 4));
	else if (type == MADT_X2APIC_CPU)
		add_cpu(out, (u32)bytes_le(e, 4, 4), bytes_le(e, 8, 4));
	else if (type == MADT_IOAPIC)
		add_ioapic(out, e);
	else if (type == MADT_OVERRIDE)
		add_override(out, e);
	else if (type == MADT_LAPIC_ADDRESS)
		out->lapic_phys = bytes_le(e, 4, 8);
}

/* An entry with an impossible length ends the list; what precedes it is good. */
static void parse_madt(struct acpi_info *out, struct bytes table)
{
	size_t len;

	out->lapic_phys = bytes_le(table, MADT_LAPIC, 4);
	for (size_t at = MADT_ENTRIES; at + 2 <= table.len; at += len) {
		len = table.data[at + 1];
		if (len < 2 || len > table.len - at)
			return;
		parse_madt_entry(out, (struct bytes){table.data + at, len});
	}
}

/* ---- SRAT ----------------------------------------------------------------------------------- */

static void add_memory_domain(struct acpi_srat *srat, struct bytes e, u32 domain_mask)
{
	u64 start = bytes_le(e, 8, 8), len = bytes_le(e, 16, 8);

	if (!(bytes_le(e, 28, 4) & SRAT_ENABLED) || !len)
		return;
	if (srat->nr_mem == ACPI_MAX_MEM || start + len < start)
		srat->damaged = true;
	else
		srat->mem[srat->nr_mem++] = (struct acpi_mem_affinity){
			start, start + len, (u32)bytes_le(e, 2, 4) & domain_mask};
}

static void add_cpu_domain(struct acpi_srat *srat, u32 apic_id, u32 domain, u64 flags)
{
	if ((flags & SRAT_ENABLED) && srat->nr_cpus < NR_CPUS)
		srat->cpu[srat->nr_cpus++] = (struct acpi_cpu_affinity){apic_id, domain};
}

/* A domain has 8 bits up to revision 1, 32 since; a CPU's upper 24 stand apart. */
static void parse_srat_entry(struct acpi_srat *srat, struct bytes e, u32 domain_mask)
{
	u8 type = e.data[0];

	if (type >= ARRAY_SIZE(srat_entry_len))
		return;
	if (e.len < srat_entry_len[type])
		srat->damaged = true;
	else if (type == SRAT_MEMORY)
		add_memory_domain(srat, e, domain_mask);
	else if (type == SRAT_CPU)
		add_cpu_domain(srat, e.data[3],
			       ((u32)bytes_le(e, 9, 3) << 8 | e.data[2]) & domain_mask,
			       bytes_le(e, 4, 4));
	else
		add_cpu_domain(srat, (u32)bytes_le(e, 8, 4), (u32)bytes_le(e, 4, 4),
			       bytes_le(e, 12, 4));
}

/* Half a table would give memory to the wrong node, so one bad entry spoils all of it. */
static void parse_srat(struct acpi_srat *srat, struct bytes table)
{
	u32 domain_mask = table.data[SDT_REVISION] < 2 ? UINT8_MAX : UINT32_MAX;
	size_t at, len;

	for (at = SRAT_ENTRIES; at + 2 <= table.len; at += len) {
		len = table.data[at + 1];
		if (len < 2 || len > table.len - at)
			break;
		parse_srat_entry(srat, (struct bytes){table.data + at, len}, domain_mask);
	}
	srat->damaged |= at != table.len;
}

/* ---- FADT and the _S5 package ---------------------------------------------------------------- */

/* An AML integer of at most 255: Zero, One, ByteConst. Advances *at; false for anything else. */
static bool aml_small_integer(struct bytes aml, size_t *at, u8 *value)
{
	u8 op = (u8)bytes_le(aml, *at, 1);

	*value = op == AML_BYTE ? (u8)bytes_le(aml, *at + 1, 1) : op;
	*at += op == AML_BYTE ? 2 : 1;
	return (op == AML_BYTE || op <= AML_ONE) && *at <= aml.len && *value <= 7;
}

/*
 * Behind the name `_S5_`: PackageOp PkgLength NumElements SLP_TYPa SLP_TYPb ... (ACPI 7.4.2, 20.2).
 * The top bits of PkgLength tell how many more bytes it has. A search instead of an AML
 * interpreter: the package is a constant in every known firmware.
 */
static void find_s5(struct acpi_info *out, struct bytes dsdt)
{
	for (size_t i = SDT_HEADER; i + 4 < dsdt.len && !out->have_s5; i++) {
		size_t at = i + 7 + (bytes_le(dsdt, i + 5, 1) >> 6);

		out->have_s5 = memcmp(dsdt.data + i, "_S5_", 4) == 0 &&
			       dsdt.data[i + 4] == AML_PACKAGE &&
			       aml_small_integer(dsdt, &at, &out->slp_typa) &&
			       aml_small_integer(dsdt, &at, &out->slp_typb);
	}
}

static void parse_fadt(struct acpi_info *out, struct bytes table, acpi_map_fn map)
{
	struct bytes dsdt = map_table(bytes_le(table, FADT_DSDT, 4), map);
	u64 reset_address = bytes_le(table, FADT_RESET_ADDRESS, 8);

	out->pm1a_cnt = (u16)bytes_le(table, FADT_PM1A_CNT, 4);
	out->pm1b_cnt = (u16)bytes_le(table, FADT_PM1B_CNT, 4);
	out->pm_timer = (u16)bytes_le(table, FADT_PM_TMR, 4);
	if ((bytes_le(table, FADT_FLAGS, 4) & FADT_RESET_SUP) && reset_address <= UINT16_MAX &&
	    bytes_le(table, FADT_RESET_SPACE, 1) == SPACE_IO) {
		out->reset_port = (u16)reset_address;
		out->reset_value = (u8)bytes_le(table, FADT_RESET_VALUE, 1);
	}
	if (has_signature(dsdt, "DSDT"))
		find_s5(out, dsdt);
}

/* ---- The root ------------------------------------------------------------------------------- */

/* The XSDT, whose entries have 8 bytes, or else the RSDT, whose entries have 4. */
static struct bytes map_root(struct bytes rsdp, acpi_map_fn map, size_t *entry_size)
{
	struct bytes root = {0};

	*entry_size = 8;
	if (rsdp.len >= RSDP_V2_LEN && rsdp.data[RSDP_REVISION] >= 2 &&
	    checksum_ok(rsdp.data, RSDP_V2_LEN))
		root = map_table(bytes_le(rsdp, RSDP_XSDT, 8), map);
	if (has_signature(root, "XSDT"))
		return root;
	*entry_size = 4;
	root = map_table(bytes_le(rsdp, RSDP_RSDT, 4), map);
	return has_signature(root, "RSDT") ? root : (struct bytes){0};
}

int acpi_parse(struct bytes rsdp, acpi_map_fn map, struct acpi_info *out)
{
	struct bytes root;
	size_t entry_size;

	memset(out, 0, sizeof(*out));
	if (rsdp.len < RSDP_V1_LEN || memcmp(rsdp.data, "RSD PTR ", 8) != 0 ||
	    !checksum_ok(rsdp.data, RSDP_V1_LEN))
		return -EINVAL;
	root = map_root(rsdp, map, &entry_size);
	if (!root.len)
		return -EINVAL;
	for (size_t at = SDT_HEADER; at + entry_size <= MIN(root.len, ROOT_MAX); at += entry_size) {
		u64 phys = bytes_le(root, at, entry_size);
		struct bytes table = map_table(phys, map);
		const void *signature = map(phys, 4);

		if (has_signature(table, "APIC") && !out->nr_cpus)
			parse_madt(out, table);
		else if (has_signature(table, "FACP"))
			parse_fadt(out, table, map);
		else if (has_signature(table, "SRAT"))
			parse_srat(&out->srat, table);
		else if (!table.len && signature && memcmp(signature, "SRAT", 4) == 0)
			out->srat.damaged = true; /* length or checksum */
	}
	return out->nr_cpus ? 0 : -ENOENT;
}

void acpi_put_boot_cpu_first(struct acpi_info *info, u32 boot_apic_id)
{
	u32 i = 0;

	while (i < info->nr_cpus && info->apic_ids[i] != boot_apic_id)
		i++;
	if (i == NR_CPUS) { /* not listed: it runs, so it exists; the last one gives way */
		info->nr_ignored++;
		i--;
	} else if (i == info->nr_cpus) {
		info->nr_cpus++;
	}
	for (; i > 0; i--)
		info->apic_ids[i] = info->apic_ids[i - 1];
	info->apic_ids[0] = boot_apic_id;
}
