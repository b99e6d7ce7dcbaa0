/* pvh.c - reads the PVH start information (see pvh.h). */
#include "boot/pvh.h"
#include "kernel/errno.h"
#include "kernel/lib.h"

struct start_info {
	u32 magic, version, flags, nr_modules;
	u64 modules, cmdline, rsdp, memmap;
	u32 nr_memmap, reserved;
};

struct memmap_entry {
	u64 base, len;
	u32 type, reserved;
};

static bool copy_in(void *to, const void *memory, u64 max, u64 at, size_t len)
{
	if (at > max || len > max - at)
		return false;
	memcpy(to, (const u8 *)memory + at, len);
	return true;
}

static bool add_memory(const struct memmap_entry *e, struct boot_info *out)
{
	if (e->base + e->len < e->base)
		return false;
	if (out->nr_mem == BOOT_MAX_MEM)
		out->nr_dropped++;
	else
		out->mem[out->nr_mem++] = (struct boot_mem){e->base, e->len, e->type};
	return true;
}

int pvh_parse(const void *memory, u64 max, u64 info, struct boot_info *out)
{
	struct memmap_entry entry;
	struct start_info s;
	u32 i;

	memset(out, 0, sizeof(*out));
	strlcpy(out->loader, "PVH", sizeof(out->loader));
	if (!copy_in(&s, memory, max, info, sizeof(s)) || s.magic != PVH_MAGIC)
		return -EINVAL;
	if (s.version == 0)
		return -ENODATA; /* the memory map came with version 1 */
	for (i = 0; i < s.nr_memmap; i++)
		if (!copy_in(&entry, memory, max, s.memmap + i * sizeof(entry), sizeof(entry)) ||
		    !add_memory(&entry, out))
			return -EINVAL;
	if (s.rsdp && copy_in(out->rsdp, memory, max, s.rsdp, sizeof(out->rsdp)))
		out->rsdp_len = sizeof(out->rsdp);
	return out->nr_mem ? 0 : -ENODATA;
}
