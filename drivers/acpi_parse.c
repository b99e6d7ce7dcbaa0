#include "drivers/acpi_parse.h"

#include "kernel/errno.h"
#include "kernel/lib.h"

struct sdt_header {
	char signature[4];
	u32 length;
	u8 revision, checksum;
	char oem[28 - 10];
	char creator[8];
} __packed;

STATIC_ASSERT(sizeof(struct sdt_header) == 36, "ACPI 5.2.6: the header has 36 bytes");

/* Byte offsets of fields, ACPI 5.2.5, 5.2.9 and 5.2.12. */
enum {
	RSDP_V1_LEN = 20, RSDP_REVISION = 15, RSDP_RSDT = 16, RSDP_XSDT = 24, RSDP_V2_LEN = 36,
	FADT_DSDT = 40, FADT_PM1A_CNT = 64, FADT_PM1B_CNT = 68, FADT_PM_TMR = 76,
	FADT_PM_TMR_LEN = 91, FADT_FLAGS = 112, FADT_RESET_SPACE = 116, FADT_RESET_ADDRESS = 120, FADT_RESET_VALUE = 128,
	MADT_LAPIC = 36, MADT_ENTRIES = 44,
};

enum madt_type {
	MADT_CPU = 0,
	MADT_IOAPIC = 1,
	MADT_OVERRIDE = 2,
	MADT_LAPIC_ADDRESS = 5,
	MADT_X2APIC_CPU = 9,
};

#define MADT_ENABLED BIT(0)
#define FADT_TMR_VAL_EXT BIT(8)
#define FADT_RESET_SUP   BIT(10)
#define SPACE_IO         1
#define TABLE_MAX        (4 * MIB) /* longer is nonsense */
#define ROOT_ENTRIES_MAX 256

static u16 read16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 read32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u64 read64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool checksum_ok(const void *table, size_t len)
{
	const u8 *p = table;
	u8 sum = 0;

	while (len-- > 0)
		sum += *p++;
	return sum == 0;
}

/* Maps the whole table at phys; NULL if its length or checksum is wrong. */
static const u8 *map_table(u64 phys, acpi_map_fn map, size_t *len)
{
	const struct sdt_header *h = map(phys, sizeof(*h));
	const u8 *table;

	if (!h)
		return NULL;
	*len = read32(&h->length);
	if (*len < sizeof(*h) || *len > TABLE_MAX)
		return NULL;
	table = map(phys, *len);
	return table && checksum_ok(table, *len) ? table : NULL;
}

static bool has_signature(const u8 *table, const char *signature)
{
	return memcmp(table, signature, 4) == 0;
}

/* ---- MADT ----------------------------------------------------------------------------------- */

static void add_cpu(struct acpi_info *out, u32 apic_id, u32 flags)
{
	if (!(flags & MADT_ENABLED)) {
		out->nr_disabled++;
		return;
	}
	for (u32 i = 0; i < out->nr_cpus; i++)
		if (out->apic_ids[i] == apic_id)
			return; /* firmware may list a CPU in both forms */
	if (out->nr_cpus == NR_CPUS)
		out->nr_ignored++;
	else
		out->apic_ids[out->nr_cpus++] = apic_id;
}

static void add_ioapic(struct acpi_info *out, const u8 *e)
{
	if (out->nr_ioapics < ACPI_MAX_IOAPICS)
		out->ioapic[out->nr_ioapics++] =
			(struct acpi_ioapic){ e[2], read32(e + 4), read32(e + 8) };
}

static void add_override(struct acpi_info *out, const u8 *e)
{
	if (out->nr_overrides < ACPI_MAX_OVERRIDES)
		out->override[out->nr_overrides++] =
			(struct acpi_override){ e[3], read32(e + 4), read16(e + 8) };
}

static void parse_madt_entry(struct acpi_info *out, const u8 *e, u8 len)
{
	switch (e[0]) {
	case MADT_CPU:
		if (len >= 8)
			add_cpu(out, e[3], read32(e + 4));
		break;
	case MADT_X2APIC_CPU:
		if (len >= 16)
			add_cpu(out, read32(e + 4), read32(e + 8));
		break;
	case MADT_IOAPIC:
		if (len >= 12)
			add_ioapic(out, e);
		break;
	case MADT_OVERRIDE:
		if (len >= 10)
			add_override(out, e);
		break;
	case MADT_LAPIC_ADDRESS:
		if (len >= 12)
			out->lapic_phys = read64(e + 4);
		break;
	}
}

static bool parse_madt(struct acpi_info *out, const u8 *table, size_t len)
{
	if (len < MADT_ENTRIES)
		return false;
	out->lapic_phys = read32(table + MADT_LAPIC);
	for (size_t at = MADT_ENTRIES; len - at >= 2;) {
		u8 entry_len = table[at + 1];

		if (entry_len < 2 || entry_len > len - at)
			break; /* what precedes it is good */
		parse_madt_entry(out, table + at, entry_len);
		at += entry_len;
	}
	return out->nr_cpus > 0;
}

/* ---- FADT and the _S5 package ---------------------------------------------------------------- */

/* An AML integer of at most 255: ByteConst, Zero, One. Advances *p; false for anything else. */
static bool aml_small_integer(const u8 **p, const u8 *end, u8 *value)
{
	if (*p < end && **p <= 1) {
		*value = *(*p)++;
		return true;
	}
	if (end - *p >= 2 && **p == 0x0a) {
		*value = (*p)[1];
		*p += 2;
		return true;
	}
	return false;
}

/*
 * Behind the name `_S5_`: PackageOp PkgLength NumElements SLP_TYPa SLP_TYPb ... (ACPI 7.4.2, 20.2).
 */
static bool parse_s5_package(struct acpi_info *out, const u8 *p, const u8 *end)
{
	if (end - p < 3 || *p++ != 0x12)
		return false;
	p += 1 + (*p >> 6); /* the top bits tell how many length bytes follow */
	p++;		    /* NumElements */
	return p < end && aml_small_integer(&p, end, &out->slp_typa) &&
	       aml_small_integer(&p, end, &out->slp_typb);
}

/* A search instead of an AML interpreter: the package is a constant in every known firmware. */
static void find_s5(struct acpi_info *out, const u8 *dsdt, size_t len)
{
	const u8 *end = dsdt + len;

	for (const u8 *p = dsdt + sizeof(struct sdt_header); end - p > 4; p++) {
		if (memcmp(p, "_S5_", 4) == 0 && parse_s5_package(out, p + 4, end)) {
			out->have_s5 = true;
			return;
		}
	}
}

static void parse_reset_register(struct acpi_info *out, const u8 *table, size_t len)
{
	if (len <= FADT_RESET_VALUE || !(read32(table + FADT_FLAGS) & FADT_RESET_SUP))
		return;
	if (table[FADT_RESET_SPACE] != SPACE_IO || read64(table + FADT_RESET_ADDRESS) > UINT16_MAX)
		return;
	out->reset_port = (u16)read64(table + FADT_RESET_ADDRESS);
	out->reset_value = table[FADT_RESET_VALUE];
}

static void parse_fadt(struct acpi_info *out, const u8 *table, size_t len, acpi_map_fn map)
{
	const u8 *dsdt;
	size_t dsdt_len;

	if (len < FADT_FLAGS + sizeof(u32))
		return;
	out->have_fadt = true;
	out->pm1a_cnt = (u16)read32(table + FADT_PM1A_CNT);
	out->pm1b_cnt = (u16)read32(table + FADT_PM1B_CNT);
	if (table[FADT_PM_TMR_LEN] == 4)
		out->pm_timer = (u16)read32(table + FADT_PM_TMR);
	out->pm_timer_32bit = read32(table + FADT_FLAGS) & FADT_TMR_VAL_EXT;
	parse_reset_register(out, table, len);
	dsdt = map_table(read32(table + FADT_DSDT), map, &dsdt_len);
	if (dsdt && has_signature(dsdt, "DSDT"))
		find_s5(out, dsdt, dsdt_len);
}

/* ---- The root ------------------------------------------------------------------------------- */

struct root {
	const u8 *table;
	size_t len, entry_size;
};

static bool map_root(const u8 *rsdp, size_t rsdp_len, acpi_map_fn map, struct root *root)
{
	if (rsdp_len >= RSDP_V2_LEN && rsdp[RSDP_REVISION] >= 2 && read64(rsdp + RSDP_XSDT) &&
	    checksum_ok(rsdp, RSDP_V2_LEN)) {
		root->table = map_table(read64(rsdp + RSDP_XSDT), map, &root->len);
		root->entry_size = 8;
		if (root->table && has_signature(root->table, "XSDT"))
			return true;
	}
	root->table = map_table(read32(rsdp + RSDP_RSDT), map, &root->len);
	root->entry_size = 4;
	return root->table && has_signature(root->table, "RSDT");
}

static u64 root_entry(const struct root *root, size_t index)
{
	const u8 *p = root->table + sizeof(struct sdt_header) + index * root->entry_size;

	return root->entry_size == 8 ? read64(p) : read32(p);
}

int acpi_parse(const void *rsdp, size_t rsdp_len, acpi_map_fn map, struct acpi_info *out)
{
	struct root root;
	bool have_madt = false;
	size_t nr;

	memset(out, 0, sizeof(*out));
	if (rsdp_len < RSDP_V1_LEN || memcmp(rsdp, "RSD PTR ", 8) != 0 ||
	    !checksum_ok(rsdp, RSDP_V1_LEN) || !map_root(rsdp, rsdp_len, map, &root))
		return -EINVAL;
	nr = (root.len - sizeof(struct sdt_header)) / root.entry_size;
	for (size_t i = 0; i < MIN(nr, ROOT_ENTRIES_MAX); i++) {
		size_t len;
		const u8 *table = map_table(root_entry(&root, i), map, &len);

		if (!table)
			continue;
		if (has_signature(table, "APIC") && !have_madt)
			have_madt = parse_madt(out, table, len);
		else if (has_signature(table, "FACP"))
			parse_fadt(out, table, len, map);
	}
	return have_madt ? 0 : -ENOENT;
}

void acpi_put_boot_cpu_first(struct acpi_info *info, u32 boot_apic_id)
{
	u32 i = 0;

	while (i < info->nr_cpus && info->apic_ids[i] != boot_apic_id)
		i++;
	if (i == info->nr_cpus) { /* not listed: it runs, so it exists */
		if (info->nr_cpus == NR_CPUS) {
			info->nr_ignored++;
			i--;
		} else {
			info->nr_cpus++;
		}
	}
	for (; i > 0; i--)
		info->apic_ids[i] = info->apic_ids[i - 1];
	info->apic_ids[0] = boot_apic_id;
}
